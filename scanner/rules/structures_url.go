package rules

import "github.com/teammem/teammemd/scanner/samples"

// password returns a password that every judgement calls strong.
func password(s *samples.Source) string { return "Kt" + s.Text(samples.Alnum, 9) + "!4w" }

// tokenSample returns a token of 40 characters without the shape of any vendor.
func tokenSample(s *samples.Source) string { return "q7" + s.Text(samples.Alnum, 38) }

// each returns what makes one sample of each kind, two where there is one.
func each(texts ...func(*samples.Source) string) func(*samples.Source) []string {
	return func(s *samples.Source) []string {
		var made []string
		for _, text := range texts {
			made = append(made, text(s))
		}
		if len(made) == 1 {
			made = append(made, texts[0](s))
		}
		return made
	}
}

// with returns the sample in which a password stands between two texts.
func with(before, after string) func(*samples.Source) string {
	return func(s *samples.Source) string { return before + password(s) + after }
}

// holding returns the sample in which a token stands between two texts.
func holding(before, after string) func(*samples.Source) string {
	return func(s *samples.Source) string { return before + tokenSample(s) + after }
}

// plain returns a sample that is the same for every seed.
func plain(text string) func(*samples.Source) string {
	return func(*samples.Source) string { return text }
}

var urlStructures = []Rule{
	{
		ID: "tm-url-credentials", Tier: Block2, Title: "Password in a URL",
		Reason:   "A URL with its user and password opens the service that it points to.",
		Keywords: []string{"://"},
		// To the last @ before the path; without one, to the next @ of all: a
		// password may hold an unescaped slash, question mark or hash.
		Pattern: `://[^\s:@/?#"'\x60<>()]{0,80}:([^\s/?#"\x60<>]{1,160}|[^\s"\x60<>]{1,160}?)@[A-Za-z0-9\[_-][A-Za-z0-9_.:\]-]{0,120}`,
		Filters: []Filter{NotPlaceholder, NotWeak, OpensHost},
		Hits: each(
			with("postgres://app:", "@db.prod.acme.io:5432/app"), with("mongodb+srv://root:", "@cluster0.ab1cd.mongodb.net/?retryWrites=true"),
			with("redis://:", "@10.2.3.4:6379/0"), with("amqp://bill:a@", "@mq.acme.io/vhost"), with("mysql://root:a/", "@db.acme.io/x"),
			with("see <https://ci:", "@git.acme.io/x.git>."), with("jdbc:mysql://u7:", "@db.acme.io/x"),
		),
		Misses: each(
			with("postgres://app:", "@localhost:5432/app"), with("postgres://app:", "@db.example.com/app"), plain("postgres://user:"+"password@db.acme.io/x"),
			plain("redis://:"+"${REDIS_PASS}@db.acme.io"), plain("ssh://git@github.com:22/a"), plain("http://acme.io:8080/@scope/name@1"),
			plain("https://acme.io/@user:name@x.io"), plain("docker://image:v1.2.3@sha256:0123"), plain("postgres://me:"+"mysecretpassword@db/x"),
		),
	},
	{
		ID: "tm-url-token", Tier: Block2, Title: "Token in a URL",
		Reason:   "A URL with a token in front of its host opens what the token opens.",
		Keywords: []string{"://"},
		Pattern:  `://([^\s:@/?#"'\x60<>()]{16,255})(?::x-oauth-basic)?@[A-Za-z0-9\[_-][A-Za-z0-9_.:\]-]{0,120}`,
		Filters:  []Filter{Random, OpensScheme},
		Hits:     each(holding("https://", "@git.acme.io/x.git"), holding("https://", ":x-oauth-basic@git.acme.io/x.git")),
		Misses:   each(plain("https://some-long-user-name@git.acme.io/x"), plain("https://acme.io/x@y"), holding("https://acme.io/", "@x.io")),
	},
	{
		ID: "tm-url-parameter", Tier: Block2, Title: "Secret in a URL's query",
		Reason:   "A secret in a query opens the interface that the URL calls.",
		Keywords: []string{"token=", "secret=", "key=", "password=", "passwd=", "pwd="},
		Pattern: `(?i)[?&;](?:(?:access|auth|refresh|id|private|session|api|oauth|user|bearer|csrf|bot|reset|invite|magic|login|x|security)?[_-]?token|` +
			`(?:client|app|api|consumer|shared)?[_-]?secret|(?:api|app|access|auth|subscription|account|private|secret|service|maps|x)?[_-]?key|password|passwd|pwd)=([\w.~%+/=:!$-]{16,512})`,
		Filters: []Filter{Random, NotBadge, NotEmulator},
		Hits:    each(holding("https://api.acme.io/v1?access_token=", "&x=1"), holding("GET /v1?a=b&api_key=", ""), holding("(https://acme.io/reset?token=", ").")),
		Misses:  each(plain("https://acme.io/?token=YOUR_ACCESS_TOKEN_HERE"), plain("?key=some-setting-of-mine-12"), holding("?page=", ""), holding("https://ci.acme.io/a.svg?token=", "")),
	},
	{
		ID: "tm-presigned-url", Tier: Block2, Title: "Signed URL",
		Reason:   "A signed URL opens a stored file to everybody who has it.",
		Keywords: []string{"x-amz-signature=", "x-goog-signature=", "sig="},
		Pattern:  `(?i)(?:X-Amz-Signature=([0-9a-f]{64})|X-Goog-Signature=([0-9a-f]{64,512})|[?&]sig=([A-Za-z0-9+/%]{43,90}))`,
		Filters:  []Filter{Random},
		Hits: each(
			func(s *samples.Source) string { return "https://a.io/x?X-Amz-Signature=" + s.Text(samples.Hex, 64) },
			func(s *samples.Source) string { return "https://a.io/x?se=1&sig=" + s.Text(samples.Alnum, 43) + "%3D" },
		),
		Misses: each(plain("https://a.io/x?X-Amz-Signature=<signature>"), plain("?sig=0000000000000000000000000000000000000000000000000000")),
	},
	{
		ID: "tm-magic-link", Tier: Block2, Title: "Link that signs in",
		Reason:   "A link for signing in or for a new password opens the account of its receiver.",
		Keywords: []string{"/reset", "/magic", "/invit", "/verify", "/confirm", "/activate", "/login", "/signin", "/sign-in"},
		Pattern:  `(?i)://[^\s"'\x60<>()]{3,120}/(?:reset|magic|invit|verify|confirm|activate|login|signin|sign-in)[\w-]{0,24}(?:/[a-z_-]{1,24}){0,2}(?:/|\?(?:[a-z_]{1,16}=[\w.%+@-]{0,80}&){0,4}(?:t|c|code|otp|ticket|token_hash)=)([\w.~-]{24,512})`,
		Filters:  []Filter{Random, NotSource},
		Hits:     each(holding("https://acme.io/reset-password/", ""), holding("https://acme.io/auth/magic?email=a%40b.io&t=", " soon")),
		Misses: each(plain("https://acme.io/reset-password/how-to-reset-the-password"), plain("https://acme.io/login/index.html"),
			holding("https://git.acme.io/magic-modules/blob/", "/a.go")),
	},
}
