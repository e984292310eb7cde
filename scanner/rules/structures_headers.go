package rules

var headerStructures = []Rule{
	{
		ID: "tm-authorization-header", Tier: Block2, Title: "Authorization header",
		Reason:   "The token of an Authorization header opens the interface that it is sent to.",
		Keywords: []string{"authorization"},
		Pattern:  `(?i)authorization["'\x60]?\s{0,2}[:=,]\s{0,2}["'\x60]?(?:[a-z][a-z0-9._-]{1,31}\s{1,2}(?:token=["']?)?)?["']?([\w.~+/=-]{16,1000})`,
		Filters:  []Filter{RandomOrUUID, OfScheme},
		Hits:     each(holding("Authorization: Bearer ", ""), holding(`-H "authorization: token `, `"`), holding(`{"Authorization": "`, `"}`), holding("Authorization: Acme-API-Key ", "")),
		Misses:   each(plain("Authorization: Bearer <token>"), plain("Authorization: Bearer $TOKEN"), plain("Authorization: Bearer mF_9"+".B5f-4.1JqM"), plain("authorization: authentication-and-rbac"), between("Authorization: Basic ", pair, ""), holding("Authorization: Negotiate ", "")),
	},
	{
		ID: "tm-bearer-token", Tier: Block2, Title: "Bearer token",
		Reason:   "A bearer token opens the interface to everybody who has it.",
		Keywords: []string{"bearer "},
		Pattern:  `(?i)\bbearer ["'\x60]?([\w.~+/=-]{20,1000})`,
		Filters:  []Filter{Random},
		Hits:     each(holding("curl with `Bearer ", "`")),
		Misses:   each(plain("a bearer authentication-of-users"), plain("Bearer YOUR_ACCESS_TOKEN_GOES_HERE")),
	},
	{
		ID: "tm-basic-header", Tier: Block2, Title: "Basic authorization",
		Reason:   "Basic authorization is a user and a password, encoded and not encrypted.",
		Keywords: []string{"basic "},
		Pattern:  `(?i)\bbasic ["'\x60]?([A-Za-z0-9+/]{12,600}={0,2})`,
		Filters:  []Filter{BasicPair},
		Hits:     each(between("Authorization: Basic ", pair, "\n")),
		Misses:   each(plain("Authorization: Basic QWxhZGRpbjpv"+"cGVuIHNlc2FtZQ=="), plain("the basic authentication")),
	},
	{
		ID: "tm-key-header", Tier: Block2, Title: "Header with a key",
		Reason:   "The key of a header opens the interface that it is sent to.",
		Keywords: []string{"-key", "apikey", "-token", "-secret"},
		// What comes before is the filter's: an expression that begins with its
		// keyword ends at once in nearly every place.
		Pattern: `(?i)(?:-key|-token|-secret|apikey)["'\x60]?\s{0,2}[:=,]\s{0,2}["'\x60]?([\w.~+/=-]{16,1000})`,
		Filters: []Filter{HeaderName, Random},
		Hits:    each(holding("curl -H 'X-Api-Key: ", "' https://a.io"), holding("PRIVATE-TOKEN: ", ""), holding("X-Vault-Token:", ""), holding(`"api-key": "`, `"`)),
		Misses:  each(plain("X-Api-Key: YOUR_API_KEY_GOES_HERE"), plain("x-request-id: 12"), plain("X-Auth-Token: {token}")),
	},
	{
		ID: "tm-session-cookie", Tier: Block2, Title: "Session cookie",
		Reason:   "A session cookie signs in as the person whose session it is.",
		Keywords: []string{"cookie"},
		Pattern:  `(?i)cookie["']?\s{0,2}[:=,]?\s{0,2}["']?[^\n]{0,200}?\b[\w.-]{0,20}(?:sess|sid|auth|token|jwt|login|remember)[\w.-]{0,24}=([\w%.+/=~:-]{20,1000})`,
		Filters:  []Filter{Random, NotCSRF},
		Hits:     each(holding("Cookie: theme=dark; sessionid=", "; x=1"), holding("Set-Cookie: auth_token=", "; HttpOnly")),
		Misses:   each(plain("Cookie: sessionid=<session>"), plain("Cookie: session=abc123"), plain("Set-Cookie: theme=dark"), holding("Set-Cookie: csrf-token=", "; Path=/")),
	},
}

var databaseStructures = []Rule{
	{
		ID: "tm-sql-password", Tier: Block2, Title: "Password in SQL",
		Reason:   "The password of a statement opens the database as that user.",
		Keywords: []string{"identified", "password '", "password='", "password = '", "password n'", "password = n'", "password=n'"},
		Pattern: `(?i)(?:\bIDENTIFIED\s{1,3}(?:WITH\s{1,3}\w{2,40}\s{1,3})?(?:BY|AS)\s{1,3}(?:PASSWORD\s{1,3})?(?:["']([^"'\n]{6,120})["']|([^\s"'\x60;<>]{6,60});)|` +
			`\bPASSWORD(?: | = |=)N?'([^'\n]{6,120})')`,
		Filters: []Filter{NotPlaceholder, NotWeak, Statement},
		Hits: each(with("CREATE USER 'a'@'%' IDENTIFIED BY '", "';"), with("create role app login encrypted password '", "'"), with("ALTER LOGIN sa WITH PASSWORD = N'", "'"),
			with("CREATE USER b IDENTIFIED WITH sha256_password BY '", "'")),
		Misses: each(plain("IDENTIFIED BY '"+"password'"), plain("CREATE USER a PASSWORD '"+"{{password}}'"), plain("ALTER USER a IDENTIFIED BY 'new_"+"password';")),
	},
	{
		ID: "tm-sql-set-password", Tier: Block2, Title: "Password in SET PASSWORD",
		Reason:   "The password of a statement opens the database as that user.",
		Keywords: []string{"set password"},
		Pattern:  `(?i)\bSET PASSWORD(?: FOR [^=\n]{1,80})?\s{0,2}=\s{0,2}(?:PASSWORD\()?'([^'\n]{6,120})'`,
		Filters:  []Filter{NotPlaceholder, NotWeak},
		Hits:     each(with("SET PASSWORD FOR 'root'@'%' = PASSWORD('", "')")),
		Misses:   each(plain("SET PASSWORD FOR root = '" + "newpassword'")),
	},
}
