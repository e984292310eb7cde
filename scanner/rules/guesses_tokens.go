package rules

// What may stand between a label and its value: the marks of emphasis, code and
// quotes, a sign or a verb, and the like again.
const (
	// gap is what a label says of its purpose: "password of the build host is".
	gap     = `(?:(?:[ \t]?['’]?\pL{1,12})?(?:[ \t][^\s.:=|"\x60,;!?(){}<>@/\\]{1,24}){1,7}?|['’]?\pL{1,12})?`
	closing = "[\"'\\x60*_)\\]}]{0,4}"
	joint   = `(?:["'],[ \t]{0,9}|[ \t]{0,3}(?::=|=>|->|[:=|→])[ \t]{0,3}|[ \t]{1,2}(?:is|was|to|are|as|now|lautet|sind|sono|son|jest|brzmi|és|là|adalah|ir|yra|është|е|คือ|هي|היא|είναι|è|=|e|je|este|es|est|ist|é|är|er|on)[ \t]{1,2}(?:[a-z]{2,12} )?(?:to )?|[ \t][—–-][ \t]|:[ \t]?&?(?:'static )?[Ss]tr(?:ing)?[ \t]?=[ \t]?|</t[dh]>\s{0,4}<t[dh]>|(?:[はが为為是은는，]|คือ|[ \t]{0,2}：)[ \t]{0,2})`
	opening = "[\"'\\x60*_(\\[{|“„‘‚]{0,4}[ \t]{0,2}(?:(?:\\[\\]byte\\(|[br]|new [A-Z]\\w{2,20}\\()[\"'])?(?:base64:)?[\"'\\x60*«「“„‘‚‹»]{0,3} ?"
)

var tokenGuesses = []Rule{
	{
		ID: "tm-labelled-token", Tier: Block3, Title: "Random value behind a label",
		Reason:   "A random value that is called a key, a token or a secret opens what it is for.",
		Keywords: []string{"key", "token", "secret", "credential", "_pat"},
		Pattern:  `(?:_PAT|(?i:key|token|secret|credential)s?)(?i:[ _-]?(?:base|value|string|prod|production|staging|live|dev|test|v\d|\d)){0,2}(?: \([^()\n]{1,24}\))?` + closing + joint + opening + `([A-Za-z0-9_+/=.~-]{16,512})`,
		Filters:  []Filter{TokenLabel, Random, NotDigest, NotBadge},
		Hits: each(holding("API_KEY=", ""), holding("**API key:** `", "`"), holding("| Token | ", " |"), holding(`"client_secret": "`, `",`), holding("The access token is ", "."),
			holding("const jwtSecret = '", "';"), holding("webhook secret: ", "\n"), holding("SECRET_KEY = \"", "\"")),
		Misses: each(plain("API_KEY=your-api-key-goes-here"), plain("token: process.env.ACCESS_TOKEN_OF_MINE"), holding("public key: ", ""), holding("cache key: ", ""),
			plain("api_key: 550e8400-e29b-41d4-a716-446655440000"), plain("secret: some-name-of-a-secret-1"), plain("secretKey = getSecretKeyFromVault2(x1)"),
			holding("![Build](https://ci.acme.io/acme/app.svg?token=", "&branch=main)"), plain("token: 89hdf98hbwf"+"987hdf98wenf89"+"ehf")),
	},
	{
		ID: "tm-named-token", Tier: Block3, Title: "Random value that is called a token",
		Reason:   "A random value that a sentence calls a key or a token opens what it is for.",
		Keywords: []string{"key ", "token ", "secret "},
		Pattern:  "(?i:key|token|secret) [\"'\\x60*(]{0,3}([A-Za-z0-9_+/=.~-]{20,512})",
		Filters:  []Filter{TokenLabel, Random, NotDigest, NotHexDigest, NotPublicKey},
		Hits:     each(holding("use the token ", " for that"), holding("with API key `", "`")),
		Misses:   each(plain("the token authentication-with-jwt-1"), holding("the public key ", "")),
	},
	{
		ID: "tm-strong-secret", Tier: Block3, Title: "Strong value that is called a key or a secret",
		Reason:   "A value with signs that is called a key or a secret opens what it is for.",
		Keywords: []string{"key", "token", "secret"},
		Pattern:  `(?i:key|token|secret)` + closing + `(?:[ \t]{0,12}(?::=|=>|[:=])[ \t]{0,3}|[ \t](?:is|was|ist)[ \t]|[ \t][\x60"'“„])` + opening + passwordValue,
		Filters:  []Filter{SignedWord, TokenLabel, StrongWord, Vivid, NotDigest},
		Hits:     each(vividly("shared secret: ", ""), vividly("SNMP auth key `", "` on all switches"), vividly("client_secret    = \"", "\"")),
		Misses:   each(plain("secret: some-Name-of-1"), plain("secret key must-be_Rotated12"), vividly("primary key: ", "")),
	},
}
