package rules

import "github.com/teammem/teammemd/scanner/samples"

// lone is a value that has its line for itself, behind a mark of a list, a
// quotation or code.
const lone = "(?: ?[|>][+-]?)?[ \\t]{0,3}\\r?\\n(?:[ \\t]{0,8}\\r?\\n)?(?:\\x60{3}\\w{0,8}\\r?\\n)?[ \\t>*-]{0,8}[*\\x60\"']{0,3}"

const loneEnd = "[*\\x60\"']{0,3}[ \\t]{0,3}(?:\\r?\\n|$)"

// placeGuesses are passwords whose label stands elsewhere than before them on
// their line.
var placeGuesses = []Rule{
	{
		ID: "tm-password-below", Tier: Block3, Title: "Strong password below its label",
		Reason:   "A password opens the account that it is for.",
		Keywords: passwordWords,
		Pattern:  passwordLabel + `(?:[ \t][^\s:|]{1,24}){0,6}[:：]?[*_]{0,3}[:：]?` + lone + passwordValue + loneEnd,
		Filters:  []Filter{DescribedStrong, NotAssigned},
		Hits:     each(with("Password for Kibana:\n\n    ", "\n"), with("## Root password\n\n", "\n"), with("**Passwort:**\n```\n", "\n```\n")),
		Misses:   each(plain("## Password\n\nconfigure-the-server-2\n"), plain("Password:\n\n- see\n")),
	},
	{
		ID: "tm-token-below", Tier: Block3, Title: "Random value below its label",
		Reason:   "A random value that is called a key, a token or a secret opens what it is for.",
		Keywords: []string{"key", "token", "secret"},
		Pattern:  `(?i:key|token|secret)(?: (?:for|of)(?: [\w'.-]{1,24}){1,5})?[*_]{0,3}:?[*_]{0,3}` + lone + `([A-Za-z0-9_+/=.~-]{20,512})` + loneEnd,
		Filters:  []Filter{TokenLabel, Random, NotDigest, NotHexDigest},
		Hits:     each(holding("API key:\n", "\n"), holding("### Client secret\n\n`", "`\n"), holding("API key for the geocoder:\n", "\n")),
		Misses:   each(holding("Public key:\n", "\n"), plain("API key:\nsome-text-of-the-next-line\n")),
	},
	{
		ID: "tm-password-answer", Tier: Block3, Title: "Strong password in answer to a question",
		Reason:   "A password opens the account that it is for.",
		Keywords: append([]string{"pw", "pass "}, passwordWords...),
		Pattern: `(?:` + passwordLabel + `|(?i:pw|pass ))(?:[ \t]?[^\n?]{1,80})?\?[ \t]{0,3}\r?\n[ \t>]{0,4}(?:[*\[<(]{0,3}[^\n:>]{1,24}(?::\d\d)?[\]*>)]{0,3}[^\n:>]{0,20}[:>]\*{0,2} )?` +
			`(?i:(?:it'?s|it is|try|use|sure,?|that'?s|still|yes,?) ){0,2}[\x60"']?` + passwordValue,
		Filters: []Filter{DescribedStrong},
		Hits:    each(with("<ada> what's the pw for staging?\n<bill> it's ", "\n"), with("ada: what is the wifi password again?\nbill: ", "\n"), with("[10:14] Ada: pass for the jump host?\n[10:15] Bill: ", "")),
		Misses:  each(plain("ada: what's the password?\nbill: it's in 1Password\n"), plain("ada: pw?\nbill: ask Carol\n")),
	},
	{
		ID: "tm-user-slash-password", Tier: Block3, Title: "User and strong password",
		Reason:   "A user with a password opens the account.",
		Keywords: []string{"admin/", "admin /", "root/", "root /", "administrator/", "administrator /", "deploy /", "ubuntu /", "elastic /", "postgres /", "guest /", "admin` /", "root` /", "administrator` /"},
		Pattern:  `(?i:(?:admin|root|administrator)(?:/| /|\x60 /)|(?:deploy|ubuntu|elastic|postgres|guest) /) ?["'\x60*]{0,3}` + passwordValue,
		Filters:  []Filter{StrongWord, ManyKinds, NotInPath},
		Hits:     each(with("admin / ", ""), with("grafana: admin/", " for now"), with("`root` / `", "`")),
		Misses:   each(plain("https://acme.io/admin/Ab1!cd2X?e"), plain("admin / operator / viewer"), plain("admin/Dockerfile.2024x")),
	},
	{
		ID: "tm-slash-password", Tier: Block3, Title: "User and strong password",
		Reason:   "A user with a password opens the account.",
		Keywords: []string{" / "},
		Pattern:  " / [\"'\x60*]{0,3}" + passwordValue,
		Filters:  []Filter{StrongWord, Vivid, Signed},
		Hits:     each(vividly("vpn.acme.io (ada / ", ")"), vividly("log on with root@pam / ", "")),
		Misses:   each(plain("Linux / macOS14Sonoma / Windows"), plain("a / b"), plain("GET / HTTP/1.1")),
	},
	{
		ID: "tm-reset-password", Tier: Block3, Title: "Strong password that was set",
		Reason:   "A password opens the account that it is for.",
		Keywords: []string{"reset to ", "changed to "},
		Pattern:  "(?i:reset|changed) to [\"'\x60*]{0,3}" + passwordValue,
		Filters:  []Filter{StrongWord, Vivid, Signed},
		Hits:     each(vividly("Grafana admin reset to ", ""), vividly("it was changed to `", "`")),
		Misses:   each(plain("reset to HEAD~1"), plain("changed to v2.1.0-Beta22")),
	},
	{
		ID: "tm-option-password", Tier: Block3, Title: "Strong password of a command's option",
		Reason:   "A password of a command opens what the command connects to.",
		Keywords: []string{" -p '", ` -p "`},
		Pattern:  ` -[pP] ["']([^\s"'<>]{8,80})["']`,
		Filters:  []Filter{StrongWord, Vivid},
		Hits:     each(vividly("az sql server create -u x -p '", "'"), vividly(`cli -P "`, `" run`)),
		Misses:   each(plain("mkdir -p 'Some-Dir12/Sub'"), plain("docker run -p '8080:80'")),
	},
	{
		ID: "tm-fallback-password", Tier: Block3, Title: "Strong password for want of a variable",
		Reason:   "A password opens the account that it is for.",
		Keywords: []string{"pass", "secret", "token", "_key"},
		Pattern:  `(?i:pass(?:word|wd)?|secret|token|_key)["'\])]{0,3} ?(?:\|\||\?\?|or) ["']([^\s"'<>]{8,120})["']`,
		Filters:  []Filter{StrongWord, ManyKinds},
		Hits:     each(with("const p = process.env.DB_PASS || \"", "\";"), with("os.environ.get('DB_PASSWORD') or '", "'")),
		Misses:   each(plain("process.env.TOKEN || \"no-token-given-1\""), plain("password or 'default_password_1'")),
	},
	{
		ID: "tm-tagged-secret", Tier: Block3, Title: "Strong value in a tag",
		Reason:   "A password or key in settings opens what it is for.",
		Keywords: []string{"key>", "key\">", "token>", "token\">", "secret>", "secret\">", "password\">"},
		Pattern:  `(?i:(?:key|token|secret)"?|password")>([^\s"'<>]{12,300})</`,
		Filters:  []Filter{StrongWord, ManyKinds, NotDigest},
		Hits:     each(with("<Setting Name=\"ApiKey\">", "</Setting>"), with("<token>", "</token>"), with(`<SS N="Password">`, "</SS>")),
		Misses:   each(plain("<key>CFBundleIdentifier2</key>"), plain("<token>${TOKEN_OF_1}</token>")),
	},
	{
		ID: "tm-wireless-key", Tier: Block3, Title: "Strong key of a wireless network",
		Reason:   "The key of a wireless network lets every receiver into it.",
		Keywords: []string{"wpa", "wifi key", "wi-fi key", "wlan", "clé wifi", "clave wifi", "wifi-key", "wi-fi-key"},
		Pattern:  `(?i:wpa[23]?(?:[ -]?(?:psk|personal))?(?:[ -](?:key|passphrase|pass))?|wi-?fi[ -]key|wlan[ -]?(?:key|schlüssel|code)|clé wifi|clave wifi)` + closing + `(?:[ \t]{0,3}[:=|][ \t]{0,3}| is | )` + opening + passwordValue,
		Filters:  []Filter{StrongWord, ManyKinds},
		Hits:     each(with("WPA2-PSK: ", ""), with("Wifi key: `", "`"), with("WLAN-Schlüssel: ", "")),
		Misses:   each(plain("WPA3: supported-since-2019"), plain("wifi key: see 1Password")),
	},
	{
		ID: "tm-described-wireless-key", Tier: Block3, Title: "Strong key of a wireless network",
		Reason:   "The key of a wireless network lets every receiver into it.",
		Keywords: []string{"wifi", "wi-fi", "wlan", "ssid"},
		Pattern:  `(?i:wi-?fi|wlan|ssid)\b[^\n]{0,60}?[\s,:(](?i:the key is|key is|key:|key) ?` + marks + passwordValue,
		Filters:  []Filter{DescribedStrong, OneSentence, NotSetting, NotDigest},
		Hits:     each(with("the guest wifi is acme-guest, the key is ", ", it changes"), with("WLAN (ssid acme): key `", "`"), with("Wi-Fi: acme-guest, key ", "")),
		Misses:   each(plain("the wifi is open, the key is in-the-Vault_12x"), plain("wifi key fob Model-X200b")),
	},
	{
		ID: "tm-password-before-label", Tier: Block3, Title: "Strong password before its label",
		Reason:   "A password opens the account that it is for.",
		Keywords: []string{" is the pass", " is the pw", " as the pass", " as pass", " as the root pass", " is the root pass", " is the admin pass", " is our pass", " as its pass", " as her pass", " as his pass", " as their pass", " as your pass"},
		Pattern:  passwordValue + "[\"'\\x60*]{0,3} (?i:is the (?:(?:root |admin )?pass|pw)|as pass|as the (?:root )?pass|is our pass|as (?:its|her|his|their|your) pass)",
		Filters:  []Filter{StrongWord, ManyKinds},
		Hits:     each(with("", " is the password of the Grafana admin"), with("Use `", "` as the password")),
		Misses:   each(plain("this is the password"), plain("SMTP_Password2 is the password of the relay")),
	},
	{
		ID: "tm-password-near", Tier: Block3, Title: "Strong password near its label",
		Reason:   "A password opens the account that it is for.",
		Keywords: append([]string{"pw"}, passwordWords...),
		Pattern:  `(?:` + passwordLabel + `|(?i:pw)\b)[^\n]{0,60}?[\s"'\x60(]((?:[A-Z][a-z]{2,11}\.)?[A-Za-z_-]{0,24}[!#$?&*%^+~@\d][A-Za-z0-9!#$?&*%^+~_@-]{1,40})[.,;]?(?:[\s"'\x60)|<]|$)`,
		Filters:  []Filter{NotSetting, Vivid, NotDigest},
		Hits:     each(vividly("If it asks for a password, type ", " and press enter"), vividly("Root pw on all three nodes: ", ""), vividly("the password is no longer the old one but ", ".")),
		Misses:   each(plain("the password must have a digit (see RFC4226-2.1 and #12)"), plain("password for user1234567 is unknown")),
	},
	{
		ID: "tm-password-line", Tier: Block3, Title: "Strong password in a line of values",
		Reason:   "A password opens the account that it is for.",
		Keywords: passwordWords,
		Pattern:  passwordLabel + `[ \t]{0,3}\r?\n[^\n,;\t|]{1,60}(?:[,;\t][^\n,;\t|]{0,60}){0,4}[,;\t]["']?` + passwordValue + `["']?[ \t]{0,3}(?:\r?\n|$)`,
		Filters:  []Filter{StrongWord, ManyKinds},
		Hits:     each(with("host,user,password\ndb1,root,", "\n"), with("Service\tUser\tPassword\nnexus\tadmin\t", "")),
		Misses:   each(plain("user,password\nbill,hunter2\n")),
	},
	{
		ID: "tm-answer-lines", Tier: Block3, Title: "Strong password in answer to a question",
		Reason:   "A password opens the account that it is for.",
		Keywords: append([]string{"pw"}, passwordWords...),
		Pattern:  `(?:` + passwordLabel + `|(?i:pw))[^\n]{0,60}\r?\n(?:[*_<\[]{0,3}\w{1,20}[^\n]{0,24}\r?\n)?(?:[^\n:>]{1,24}[:>]\*{0,2} )?(?i:(?:it'?s|try|use) )?` + passwordValue + `(?:\s|$)`,
		Filters:  []Filter{StrongWord, Vivid},
		Hits:     each(vividly("**ada** 10:02\nwhats the root pw on db01\n**bill** 10:03\n", "\n"), vividly("ada: send me the password\nbill: ", "")),
		Misses:   each(plain("ada: the password?\nbill: ask Carol\n")),
	},
	{
		ID: "tm-token-answer", Tier: Block3, Title: "Random value in answer to a question",
		Reason:   "A random value that is called a key, a token or a secret opens what it is for.",
		Keywords: []string{"key", "token", "secret"},
		Pattern:  `(?i:key|token|secret)(?: (?:for|of|to|please|pls)[^\n:=]{0,40})?\??[ \t]{0,3}\r?\n[ \t>]{0,4}[*<\[]{0,3}[A-Za-z][\w. ]{0,20}[*>\]]{0,3}[:>]\*{0,2} (?i:(?:it'?s|here you go:?|sure:?|use) )?([A-Za-z0-9_+/=.~-]{20,512})[ \t]{0,3}(?:\r?\n|$)`,
		Filters:  []Filter{TokenLabel, Random, NotDigest, NotHexDigest},
		Hits:     each(holding("ada: can you send me the api key\nbill: ", "\n")),
		Misses:   each(plain("ada: the token\nbill: some-name-of-a-token-1\n"), holding("public key\nvalue: ", "")),
	},
	{
		ID: "tm-code-pair", Tier: Block3, Title: "User and strong password in code",
		Reason:   "A user with a password opens the account.",
		Keywords: []string{"auth=(", "auth = (", "getconnection(", "new pdo(", "setpassword(", ".password(", "values (", "values("},
		Pattern: `(?i)(?:auth(?:=| = )\(\s{0,2}["'][^"'\n]{1,60}["'],\s{0,2}|getConnection\([^\n,]{1,120},\s{0,2}["'][^"'\n]{1,60}["'],\s{0,2}|new PDO\([^\n,]{1,120},\s{0,2}["'][^"'\n]{1,60}["'],\s{0,2}|` +
			`setPassword\(|\.password\(|values ?\((?:[^\n,]{1,60},\s{0,2}){1,5}?)["']([^"'\s]{8,80})["']\s{0,2}\)`,
		Filters: []Filter{StrongWord, ManyKinds, NotPlaceholder},
		Hits: each(with(`requests.get(url, auth=("svc", "`, `"))`), with(`DriverManager.getConnection(url, "app", "`, `")`), with("new PDO($dsn, 'app', '", "')"), with(`config.setPassword("`, `");`),
			with("INSERT INTO users (email, password) VALUES ('a@b.io', '", "')")),
		Misses: each(plain(`auth=("user", "`+`password")`), plain(`setPassword("`+`changeit")`), plain("VALUES ('a', '2024-01-01T00:00:00Z')")),
	},
	{
		ID: "tm-environment-value", Tier: Block3, Title: "Strong value of a variable",
		Reason:   "A password or key in the environment of a workload opens what the workload connects to.",
		Keywords: []string{"name: ", `name": "`, `name":"`, `key":"`, `key": "`, `name = "`, `name  = "`, `key = "`, `key   = "`},
		Pattern:  `(?:name: ["']?|(?:name|key)": ?"|name (?: )?= "|key (?:  )?= ")(?:\w{0,40}(?:PASS|PASSWORD|PASSWD|PWD|TOKEN|SECRET|KEY)|token|password|secret|api_?[kK]ey|accessToken)["']?(?:,\s{0,3}"\w{1,20}": ?(?:true|false|"\w{0,20}")){0,2}\s{0,3},?\s{0,24}["']?value["']?\s{0,2}[:=]\s{0,3}["']?` + passwordValue,
		Filters:  []Filter{StrongWord, NotDigest},
		Hits:     each(with("- name: DB_PASSWORD\n  value: \"", "\"\n"), with(`{"name": "API_SECRET", "value": "`, `"}`), with("  name  = \"DB_PASSWORD\"\n  value = \"", "\"\n")),
		Misses:   each(plain("- name: DB_PASSWORD\n  value: \"$(PASS_2X!)\""), plain("- name: DB_PASSWORD\n  valueFrom:\n")),
	},
	{
		ID: "tm-words-password", Tier: Block3, Title: "Passphrase",
		Reason:   "A passphrase opens the key, backup or account that it is for.",
		Keywords: append([]string{"pass", "pw"}, passwordWords...),
		Pattern:  `(?:` + passwordLabel + `|(?i:pass|pw))` + closing + `(?: |(?: \w{1,12}){0,6} is |[ \t]{0,3}[=:：][ \t]{0,3}|["']?[ \t]{0,3}[:=][ \t]{0,3})["'\x60*]{0,3}([A-Za-z]{3,12}\d{0,4}(?:[-_.+][A-Za-z0-9]{1,12}){2,7})(?:[^\w/:@-]|$)`,
		Filters:  []Filter{PassphraseWords},
		Hits:     each(between("password: ", joined, "\n"), between("The vault password is ", joined, "."), between("MATCH_PASSWORD='", joined, "'\n"), between("password = \"", joined, "\"")),
		Misses:   each(plain("password: staging-db-credentials-2\n"), plain("password: ask-the-team-on-slack\n"), plain("password: correct-horse-battery"+"-staple\n")),
	},
	{
		ID: "tm-spaced-passphrase", Tier: Block3, Title: "Passphrase",
		Reason:   "A passphrase opens the key, backup or account that it is for.",
		Keywords: []string{"passphrase"},
		Pattern:  `(?i:passphrase)(?:(?: [\w'-]{1,12}){0,6} is |[ \t]{0,3}[=:][ \t]{0,3})(?:["'\x60]([a-z0-9]{2,12}(?: [a-z0-9]{1,12}){3,8})["'\x60]|([a-z0-9]{2,12}(?: [a-z0-9]{1,12}){3,8})\.?(?:\r?\n|$))`,
		Filters:  []Filter{PassphraseWords},
		Hits:     each(plain("The passphrase of the key is \"velvet pelican 41 thistle drizzle\""), plain("passphrase: mistral quartz 7 saffron badger\n")),
		Misses:   each(plain("passphrase: leave it empty and hit enter twice\n"), plain("passphrase: none\n")),
	},
	{
		ID: "tm-letters-password", Tier: Block3, Title: "Random letters for a password",
		Reason:   "A password opens the account that it is for.",
		Keywords: []string{"pass"},
		Pattern:  `(?i:pass(?:word|wd)?)["']?[ \t]{0,3}[:=][ \t]{0,3}["'\x60]?([a-z]{16})(?:["'\x60\s,;]|$)`,
		Filters:  []Filter{MostlyUnpronounced},
		Hits: each(func(s *samples.Source) string {
			return "EMAIL_HOST_PASSWORD = '" + s.Text("bcdfghjklmnpqrstvwxz", 16) + "'"
		}),
		Misses: each(plain("password: applicationnames\n"), plain("password: requiredpassword")),
	},
	{
		ID: "tm-site-password", Tier: Block3, Title: "Application password of a site",
		Reason:   "An application password changes the site as its owner.",
		Keywords: []string{"password"},
		Pattern:  `(?i:password)["'\x60*_]{0,3}(?:[ \t]{0,3}[:=][ \t]{0,3}|[ \t]is[ \t])["'\x60*]{0,3}([A-Za-z0-9]{4}(?: [A-Za-z0-9]{4}){5})\b`,
		Filters:  []Filter{NotPlaceholder, MixedGroups},
		Hits: each(func(s *samples.Source) string {
			g := func() string { return "q" + s.Text(samples.Digits, 1) + s.Text("XYZW", 2) }
			return "Application password: " + g() + " " + g() + " " + g() + " " + g() + " " + g() + " " + g()
		}),
		Misses: each(plain("password: that will make some more text here"), plain("password: xxxx xxxx xxxx xxxx xxxx xxxx")),
	},
}

// vividly returns the sample in which a password of a person stands between two
// texts.
func vividly(before, after string) func(*samples.Source) string {
	return func(s *samples.Source) string {
		return before + "Tulip-" + s.Text("bcdfgh", 5) + "!" + s.Text(samples.Digits, 3) + after
	}
}

// joined returns a passphrase as a generator joins one.
func joined(s *samples.Source) string {
	return "velvet-pelican-thistle-" + s.Text(samples.Digits, 2)
}
