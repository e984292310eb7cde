package rules

import "github.com/teammem/teammemd/scanner/samples"

const (
	// drawnValue is a value that a machine drew.
	drawnValue = `([A-Za-z0-9_+/=-]{16}[A-Za-z0-9_+/=.~-]{0,240})`
	unmarks    = "[\"'\\x60*_)”“»」]{0,4}"
)

// secretNames are what a sentence calls a secret behind its value, in lower case.
var secretNames = append(keysOf([]string{"api", "access", "app", "application", "secret"}),
	"token", "client secret", "client-secret", "client_secret", "application secret", "app secret", "webhook secret", "shared secret", "signing secret")

// aroundGuesses are values whose label stands behind them, or in another part of
// their sentence.
var aroundGuesses = []Rule{
	{
		ID: "tm-token-before-label", Tier: Block3, Title: "Random value before its label",
		Reason:   "A random value that a sentence calls a key or a token opens what it is for.",
		Keywords: []string{"use ", "paste ", "enter ", "try ", "insert "},
		Pattern:  `(?i:use|paste|enter|try|insert) ` + marks + drawnValue + unmarks + ` (?i:as|when|where|if|for|into) [^\n.:;|]{0,60}?(?i:` + anyOf(secretNames, "") + `)`,
		Filters:  []Filter{DescribedRandom, NotDigest},
		Hits:     each(holding("Use **", "** as the API key of the geocoder"), holding("Paste ", " when the script asks for the access token")),
		Misses: each(plain("Use some-name-of-the-service-1 as the API key"), holding("Commit ", " removed the API key"), holding("Use ", " as the name of the branch"),
			holding("Use commit ", " when the API key is rotated")),
	},
	{
		ID: "tm-clear-text-secret", Tier: Block3, Title: "Random value that stood in clear text",
		Reason:   "A key or a token that was seen in clear text opens what it is for until it is replaced.",
		Keywords: []string{" in clear text", " in cleartext", " in plain text", " in plaintext"},
		Pattern:  `(?i:key|token|secret|password|pat)[^\n.:]{0,24}(?i: in (?:clear|plain) ?text)[,:]?(?: [—–-])? ` + marks + drawnValue,
		Filters:  []Filter{DescribedRandom},
		Hits:     each(holding("In the log we found the API key in clear text, “", "”, so rotate it"), holding("the token of CI in plain text: ", "")),
		Misses:   each(plain("the password in clear text is stored-nowhere-at-all1"), holding("The text in clear text, ", "")),
	},
	{
		ID: "tm-token-to-use", Tier: Block3, Title: "Random value that a sentence says to use",
		Reason:   "A random value that a sentence calls a key or a token opens what it is for.",
		Keywords: []string{"token, use ", "key, use ", "secret, use ", "token, try ", "key, try ", "secret, try "},
		Pattern:  `(?i:(?:token|key|secret), (?:use|try) )` + marks + drawnValue,
		Filters:  []Filter{TokenLabel, DescribedRandom, NotDigest},
		Hits:     each(holding("the API wants a token, use ", " for all calls"), holding("asks for the API key, try `", "`")),
		Misses:   each(plain("for the token, use some-name-of-the-file-1"), holding("for the cache key, use ", "")),
	},
	{
		ID: "tm-cipher-key", Tier: Block3, Title: "Key of a cipher",
		Reason:   "The key of a cipher reads what was encrypted with it.",
		Keywords: []string{"encrypt", "decrypt", "aes-", "aes ", "chacha"},
		Pattern:  `(?i:encrypt|decrypt|aes[ -]|chacha)[^\n]{0,60}?\b(?i:the key is|with the key|with key|key:) ?` + marks + drawnValue,
		Filters:  []Filter{DescribedRandom, OneSentence, NotDigest},
		Hits:     each(holding("Saves are encrypted with AES-256, the key is ", "."), holding("decrypt it with the key `", "`")),
		Misses:   each(plain("it is encrypted, the key is stored-in-the-vault-2"), holding("encrypted. The hash is ", "")),
	},
	{
		ID: "tm-lorawan-key", Tier: Block3, Title: "LoRaWAN key",
		Reason:   "A key of a LoRaWAN device reads and forges what the device sends.",
		Keywords: []string{"appkey", "nwkkey", "appskey", "nwkskey"},
		Pattern:  `(?i:appkey|nwkkey|appskey|nwkskey)[^\n:=]{0,40}[:=] ?` + marks + `([0-9A-Fa-f]{32})\b`,
		Filters:  []Filter{DescribedRandom},
		Hits: each(func(s *samples.Source) string {
			return "LoRaWAN AppKey for the sensors: `" + s.Text(samples.Hex, 32) + "`"
		}),
		Misses: each(plain("AppKey for the sensors: see the sheet"), plain("AppKey: 00000000000000000000000000000000")),
	},
	{
		ID: "tm-gradle-password", Tier: Block3, Title: "Strong password of a keystore",
		Reason:   "The password of a keystore opens the keys that sign releases.",
		Keywords: []string{"storepassword", "keypassword"},
		Pattern:  `(?i:storepassword|keypassword)(?: |\()["']([^\s"'<>]{8,80})["']`,
		Filters:  []Filter{StrongWord},
		Hits:     each(with("storePassword '", "'"), with("keyPassword(\"", "\")")),
		Misses:   each(plain("storePassword 'changeit'"), plain("keyPassword System.getenv('KEY_PASSWORD_1')"), plain("storePassword 'your-password'")),
	},
	{
		ID: "tm-login-option", Tier: Block3, Title: "Strong password of a command that logs in",
		Reason:   "A password of a command opens what the command connects to.",
		Keywords: []string{"+login "},
		Pattern:  `\+login ["']?[\w.@-]{2,60}["']? ["']?([^\s"'<>]{8,80})`,
		Filters:  []Filter{StrongWord},
		Hits:     each(with("steamcmd +login acme_build ", " +quit")),
		Misses:   each(plain("steamcmd +login anonymous +app_update 90 +quit"), plain("steamcmd +login $STEAM_USER $STEAM_PASS_1 +quit")),
	},
	{
		ID: "tm-quoted-app-password", Tier: Block3, Title: "Password for one application",
		Reason:   "A password for one application opens the account without a second factor.",
		Keywords: []string{"app password", "app-password", "application password", "application-password"},
		Pattern:  `(?i:app(?:lication)?[ -]password)s? ["'\x60*(“„]{1,3}([a-z]{4}(?: [a-z]{4}){3})["'\x60*)”“]`,
		Filters:  []Filter{Unpronounced},
		Hits: each(func(s *samples.Source) string {
			return "works with the app password `" + s.Text("bcdfghjk", 4) + " " + s.Text("lmnpqrst", 4) + " " + s.Text("vwxzbcdf", 4) + " " + s.Text(samples.Lower, 4) + "`"
		}),
		Misses: each(plain("the app password `xxxx xxxx xxxx xxxx`"), plain("the app password (with some more text)")),
	},
	{
		ID: "tm-private-uuid", Tier: Block3, Title: "UUID that is called private",
		Reason:   "Some services hand out a pair of a public name and a private UUID as their key.",
		Keywords: []string{"private"},
		Pattern:  `(?i:private)(?:_api_key|[ _]key)?:? ["'\x60]?(` + uuidPattern + `)\b`,
		Filters:  []Filter{NotPlaceholder},
		Hits:     each(between("API key: public `abcdwxyz`, private `", drawnID, "`."), between("config set private_api_key ", drawnID, "")),
		Misses:   each(plain("private 00000000-0000-0000-0000-000000000000"), between("the id of the private network is ", drawnID, "")),
	},
	{
		ID: "tm-described-ngrok-token", Tier: Block3, Title: "ngrok token",
		Reason:   "An ngrok token opens tunnels in the name of its account.",
		Keywords: []string{"ngrok"},
		Pattern:  `(?i:ngrok)[^\n]{0,120}?[^\w-]([123][A-Za-z0-9]{26}_[A-Za-z0-9]{20,22})\b`,
		Filters:  []Filter{DescribedRandom},
		Hits: each(func(s *samples.Source) string {
			return "the ngrok authtoken in clear text, “2" + s.Text(samples.Alnum, 26) + "_" + s.Text(samples.Alnum, 21) + "”"
		}),
		Misses: each(plain("ngrok gives out tokens of some_kind"), plain("ngrok 2aaaaaaaaaaaaaaaaaaaaaaaaaa_aaaaaaaaaaaaaaaaaaaaa")),
	},
}
