package rules

import "github.com/teammem/teammemd/scanner/samples"

// setting is a member of a block that stands before its value.
const setting = `(?:["']?(?i:type|description|sensitive|nullable|required|title|label|name|help|hint|noecho|secure|secret|format|kind|ephemeral|prompt|private|visibility)["']?[ \t]{0,6}[:=][^\n,]{0,160}(?:,|\r?\n)\s{0,24}){0,5}?`

// nestedGuesses are secrets whose label is the name of a block around them, and
// those that code hands over without a label.
var nestedGuesses = []Rule{
	{
		ID: "tm-nested-value", Tier: Block3, Title: "Strong value in the block of its label",
		Reason:   "A password or key in settings opens what it is for.",
		Keywords: []string{"token", "secret", "password", "passwd", "passphrase", "_pat\"", "api_key", "apikey", "api-key", "access_key", "accesskey", "private_key", "auth_key", "encryption_key", "signing_key", "master_key"},
		Pattern: `(?i:token|secret|password|passwd|passphrase|_pat"|api_key|apikey|api-key|access_key|accesskey|private_key|auth_key|encryption_key|signing_key|master_key)(?:_[a-z0-9]{1,12})?["']?[ \t]{0,3}[:=]?[ \t]{0,3}(?:\{\s{0,30}|\r?\n[ \t]{1,16})` +
			setting + `["']?(?i:default|default_?value|value|val|data|content)["']?[ \t]{0,6}[:=][ \t]{0,3}["']?([^\s"'\x60<>]{8,512})`,
		Filters: []Filter{StrongWord, NotDigest},
		Hits: each(with("variable \"db_password\" {\n  type = string\n  default = \"", "\"\n}"), with("variable \"a_token\" {\n  description = \"Token of a\"\n  sensitive   = true\n  default     = \"", "\"\n}"),
			with(`"adminPassword": {"value": "`, `"}`), with("  DbPassword:\n    Type: String\n    NoEcho: true\n    Default: ", "\n"), with(`"apiKey": { "type": "string", "defaultValue": "`, `" }`)),
		Misses: each(plain("variable \"db_password\" {\n  type = string\n  default = \"\"\n}"), plain("variable \"a_token\" {\n  type = string\n  default = var.some_other_token1\n}"), plain("token:\n  value: ${TOKEN_OF_1}\n"),
			with("variable \"a_name\" {\n  default = \"", "\"\n}")),
	},
	{
		ID: "tm-code-argument", Tier: Block3, Title: "Random value that code hands to a client",
		Reason:   "A client of a service is made with the key that opens the service.",
		Keywords: []string{"client(", "search(", "sdk(", "api(", "realtime(", "rest(", "login(", "connect(", "init(", "auth(", "configure(", "credentials(", "bot(", "createclient("},
		Pattern:  `(?i:client|search|sdk|api|realtime|rest|login|connect|init|auth|configure|credentials|bot)\(\s{0,8}(?:["'][\w.@:/-]{2,80}["'],\s{0,8}){0,2}["'\x60](?:[\w.-]{2,40}:)?([A-Za-z0-9_+/=.~-]{20,300})["'\x60]\s{0,8}[,)]`,
		Filters:  []Filter{Random, NotDigest, NotSearchOnly},
		Hits: each(holding(`acmesearch("A1B2C3", "`, `")`), holding("new Acme.Realtime('ab.cd:", "')"), holding("bot.login('", "')"), func(s *samples.Source) string {
			return `new AcmeClient("APP1", "` + s.Text(samples.Hex, 32) + `")`
		}),
		Misses: each(plain(`connect("some-name-of-a-host-1.acme.io")`), plain(`client("https://acme.io/a1b2c3")`), holding(`search("APP", "`, `") // search-only`)),
	},
	{
		ID: "tm-key-pair-value", Tier: Block3, Title: "Key of a name and a random value",
		Reason:   "A key of two parts opens what it is for.",
		Keywords: []string{"key", "token", "secret"},
		Pattern:  `(?i:key|token|secret)` + closing + joint + opening + `[\w.-]{3,40}:([A-Za-z0-9_+/=~-]{20,200})`,
		Filters:  []Filter{TokenLabel, Random, NotDigest, NotHexDigest},
		Hits:     each(holding("API_KEY=ab12.cd34:", ""), holding("api token: ops:", "\n")),
		Misses:   each(plain("API_KEY=user:some-name-of-mine-1234"), holding("image key: sha256:", "")),
	},
	{
		ID: "tm-key-uuid", Tier: Block3, Title: "UUID that is called an API key",
		Reason:   "Some services hand out a UUID as their key.",
		Keywords: []string{"key", "token", "secret"},
		Pattern:  `(?i:key|token|secret)` + closing + joint + opening + `(` + uuidPattern + `)\b`,
		Filters:  []Filter{OpensLabel, NotPlaceholder},
		Hits:     each(between("API_KEY=", drawnID, ""), between("auth_token: ", drawnID, ""), between("the client secret is ", drawnID, "")),
		Misses:   each(between("token: ", drawnID, ""), between("idempotency key: ", drawnID, ""), plain("api key: 00000000-0000-0000-0000-000000000000")),
	},
}
