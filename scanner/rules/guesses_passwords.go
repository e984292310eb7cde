package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/teammem/teammemd/scanner/samples"
)

// passwordWords are what languages call a password, in lower case.
var passwordWords = []string{
	"password", "passwd", "pwd", "passphrase", "passcode", "passwort", "kennwort", "mot de passe", "contraseña", "contrasena", "clave", "senha", "palavra-passe",
	"wachtwoord", "lösenord", "adgangskode", "passord", "salasana", "hasło", "haslo", "heslo", "jelszó", "parolă", "parola", "parolası", "şifre", "şifresi", "пароль", "κωδικός", "סיסמה", "סיסמא", "كلمة المرور",
	"كلمة السر", "पासवर्ड", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호", "รหัสผ่าน", "mật khẩu", "kata sandi",
	"lozinka", "лозинка", "парола", "geslo", "رمز عبور", "parool", "slaptažodis", "parole", "contrasenya", "lykilorð", "fjalëkalimi", "salasõna",
	"pass phrase", "jelszav", "hasła", "hasłem", "haslem", "hesla", "heslem", "пароля", "паролем", "lösenordet", "adgangskoden", "passordet", "salasanan",
	"psk", "pre-shared key", "preshared key", "wpa key", "wpa2 key", "wpa3 key", "wifi key", "wi-fi key", "wlan key", "wlan-schlüssel", "wifi-schlüssel", "clé wifi", "clé wi-fi", "clé du wifi", "clave wifi", "clave del wifi", "chave wifi", "chiave wifi", "wifi-sleutel",
}

// passwordLabel matches one of passwordWords, with what may be added to it. The
// Greek word is spelled out: one of its letters has three forms of its case.
var passwordLabel = `(?:(?i:` + anyOf(passwordWords, "κωδικός") + `)|[Κκ]ωδικός)(?i:[ _-]?(?:prod|production|staging|live|admin|root|db|\d)){0,2}(?: \([^()\n]{1,24}\))?`

// anyOf returns the alternatives of a pattern for words, but for one. They are
// sorted, so that those which begin alike are tried together.
func anyOf(words []string, except string) string {
	words = slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == except })
	slices.Sort(words)
	slices.Reverse(words)
	return strings.Join(words, "|")
}

// passwordValue ends at a space, a quote or markup, and where a sentence of
// Chinese, Japanese or Korean goes on.
const passwordValue = "([^\\s\"'\\x60|<>\\p{Han}\\p{Hiragana}\\p{Katakana}\\p{Hangul}\u3000-\u303F\uFF00-\uFF0F\uFF1A-\uFF20«»“”‘’]{8,128})"

var passwordGuesses = []Rule{
	{
		ID: "tm-labelled-password", Tier: Block3, Title: "Strong password behind a label",
		Reason:   "A password opens the account that it is for.",
		Keywords: passwordWords,
		Pattern:  passwordLabel + closing + gap + joint + opening + passwordValue,
		Filters:  []Filter{StrongWord},
		Hits: each(with("password: ", ""), with("Password is `", "`."), with("| Passwort | ", " |"), with("**Contraseña:** ", ""), with("пароль: ", ""), with("密码：", ""), with("パスワードは", " です"),
			with("DB_PASSWORD=", ""), with(`"password": "`, `",`), with("mot de passe est ", ""), with("비밀번호: ", "")),
		Misses: each(plain("password: hunter2"), plain("password is required for this"), plain("password = os.environ['DB_PASSWORD_1']"), plain("Password: your-Passw0rd!"), plain("password: ${DB_Passw0rd!x}"),
			plain("password := fmt.Sprintf(\"%s1\", x)"), plain("password: user.encryptedPassword2")),
	},
	{
		ID: "tm-short-label-password", Tier: Block3, Title: "Strong password behind a short label",
		Reason:   "A password opens the account that it is for.",
		Keywords: []string{"pass", "pw", "mdp"},
		Pattern:  `(?i:pass|pw|mdp)` + closing + `(?:: ?| ?= ?| is | \| |:\*\* )` + opening + passwordValue,
		Filters:  []Filter{StrongWord},
		Hits:     each(with("user: bill pass: ", ""), with("root pw is ", "")),
		Misses:   each(plain("pass: the-next-argument"), plain("pass=$PASS1!")),
	},
	{
		ID: "tm-credential-pair", Tier: Block3, Title: "User and strong password",
		Reason:   "A user with a password opens the account.",
		Keywords: []string{"creds", "credentials", "login", "log in", "sign in", "logged in", "zugang", "identifiants", "credenciales"},
		Pattern:  "(?i:creds|credentials|login|log in|sign in|logged in|zugang(?:sdaten)?|identifiants|credenciales)(?: (?:is|are|with|as|for [^\\n:|.]{1,40}|[A-Z]\\w{1,20}))?:?[ \"'\\x60*]{1,5}[\\w.@-]{2,60}[\"'\\x60*]{0,3}(?: ?[/:|] ?| [–—-] | and )[\"'\\x60*]{0,3}" + passwordValue,
		Filters:  []Filter{StrongWord},
		Hits:     each(with("log in with admin / ", ""), with("creds: admin:", ""), with("Login: bill@acme.io / `", "`")),
		Misses:   each(plain("login with OAuth/OpenID-Connect-2"), plain("log in as admin / admin"), plain("credentials: admin:"+"Passw0rd!")),
	},
}

var flagGuesses = []Rule{
	{
		ID: "tm-flag-password", Tier: Block3, Title: "Strong password of a command's option",
		Reason:   "A password of a command opens what the command connects to.",
		Keywords: []string{"--pass", "--token", "--secret", "--api-key", "--auth", "--client-secret", "--access-key"},
		Pattern:  `--(?:password|passwd|passphrase|pass|token|secret|api-key|auth-token|auth|client-secret|access-key)[= ]["']?([^\s"'\x60|<>]{8,128})`,
		Filters:  []Filter{StrongWord, NotOption},
		Hits:     each(with("helm repo add x https://a.io --username ci --password ", ""), holding("./config.sh --token ", " --x")),
		Misses:   each(plain("--password $PASS_OF_1"), plain("--token --verbose-1"), plain("--auth-token=<token>")),
	},
	{
		ID: "tm-bare-password", Tier: Block3, Title: "Strong password after its name",
		Reason:   "A password opens the account that it is for.",
		Keywords: append([]string{"pw", "pass"}, passwordWords...),
		Pattern:  `(?:` + passwordLabel + `|(?i:pw|pass))(?: ["'\x60*“„‘«]{0,3}|[「『])` + passwordValue,
		Filters:  []Filter{DescribedStrong},
		Hits:     each(with("vpn: user ada, pw ", ""), with("test with a@b.io, password ", ", on a phone"), with("Benutzer `a`, Passwort `", "`")),
		Misses:   each(plain("the password is here"), plain("password authentication-with-oauth2"), plain("password `user_password_1`")),
	},
	{
		ID: "tm-password-column", Tier: Block3, Title: "Strong password in a table",
		Reason:   "A password opens the account that it is for.",
		Keywords: append([]string{"pass", "pw"}, passwordWords...),
		Pattern:  `(?:` + passwordLabel + `|(?i:pass|pw))[ \t*\x60]{0,8}(?:` + columns(`[^\s"'\x60|<>]{8,128}`, 4) + `)`,
		Filters:  []Filter{StrongWord},
		Hits: each(with("| User | Password |\n|---|---|\n| admin | ", " |\n"), with("|user|password|\n|-|-|\n|root|", "|"),
			with("| Account | Password | Note |\n|:--|:--|:--|\n| ada | none | asked |\n| bill | `", "` | in May |\n")),
		Misses: each(plain("| User | Password |\n|---|---|\n| admin | hunter2 |\n"),
			with("| User | Password | Build |\n|---|---|---|\n| admin | none | ", " |\n")),
	},
	{
		ID: "tm-app-password", Tier: Block3, Title: "Password for one application",
		Reason:   "A password for one application opens the account without a second factor.",
		Keywords: []string{"password"},
		Pattern:  `(?i:password)` + closing + gap + joint + opening + `([a-z]{4}(?:(?: [a-z]{4}){3}|(?:-[a-z]{4}){3}))\b`,
		Filters:  []Filter{Unpronounced},
		Hits: each(func(s *samples.Source) string {
			return "Gmail app password: " + s.Text("bcdfghjk", 4) + " " + s.Text("lmnpqrst", 4) + " " + s.Text("vwxzbcdf", 4) + " " + s.Text(samples.Lower, 4)
		}),
		Misses: each(plain("password: some text that will mean"), plain("password: your-pass-word-here")),
	},
	{
		ID: "tm-secure-string", Tier: Block3, Title: "Strong password in PowerShell",
		Reason:   "A password opens the account that it is for.",
		Keywords: []string{"convertto-securestring"},
		Pattern:  `(?i:ConvertTo-SecureString)(?: -String)? ["']([^"'\n]{8,120})["']`,
		Filters:  []Filter{Strong},
		Hits:     each(with("$p = ConvertTo-SecureString \"", "\" -AsPlainText -Force")),
		Misses:   each(plain("ConvertTo-SecureString \"P@ssw0rd\" -AsPlainText"), plain("ConvertTo-SecureString $text -AsPlainText")),
	},
	{
		ID: "tm-passphrase", Tier: Block3, Title: "Passphrase",
		Reason:   "A passphrase opens the key, backup or account that it is for.",
		Keywords: []string{"pass"},
		Pattern:  `(?i:pass(?:phrase|word))` + closing + gap + joint + opening + `([A-Za-z]{3,12}\d{0,4}(?:[-_.][A-Za-z]{3,12}\d{0,4}){3,7})`,
		Filters:  []Filter{Phrase},
		Hits: each(func(s *samples.Source) string {
			return "Backup passphrase: tulip-Granite" + s.Text(samples.Digits, 2) + "-pelican-harbor"
		}, func(s *samples.Source) string {
			return "MATCH_PASSWORD=walnut-ember" + s.Text(samples.Digits, 2) + "-falcon-orchid"
		}),
		Misses: each(plain("passphrase: your-long-and-secure-passphrase"), plain("password: the words of a sentence")),
	},
}

var warnings = []Rule{
	{
		ID: "tm-weak-password", Tier: Warn, Title: "Password that is easy to guess",
		Reason:   "A password that is easy to guess may still be in use somewhere.",
		Keywords: passwordWords,
		Pattern:  passwordLabel + closing + `[ \t]{0,3}(?:[:=：]|is)[ \t]{1,3}` + opening + "([^\\s\"'\\x60|<>]{4,40})",
		Filters:  []Filter{WeakPassword},
		Hits:     each(plain("password: hunter2"), plain("Passwort: Sommer2024")),
		Misses:   each(plain("password: string"), plain("password is required"), plain("password: <password>")),
	},
	{
		ID: "tm-password-hash", Tier: Warn, Title: "Hash of a password",
		Reason:   "A password can be guessed from its hash.",
		Keywords: []string{"$2a$", "$2b$", "$2y$", "$6$", "$5$", "$1$", "$y$", "$argon2", "$apr1$", "pbkdf2"},
		Pattern: `(?:\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}|\$[156]\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{4,16}\$[./A-Za-z0-9]{22,86}|\$y\$[./A-Za-z0-9]{2,5}\$[./A-Za-z0-9]{4,30}\$[./A-Za-z0-9]{43}|` +
			`\$argon2(?:id|i|d)\$v=\d{1,3}\$[\w=,]{5,60}\$[\w+/=]{8,90}\$[\w+/=]{16,120}|\$apr1\$[./A-Za-z0-9]{4,8}\$[./A-Za-z0-9]{22}|pbkdf2[_:](?:sha\d{1,3})[:$]\d{3,8}[:$][\w+/=]{6,60}[:$][\w+/=]{20,120})`,
		Hits: each(func(s *samples.Source) string { return "$2" + "b$12$" + s.Text(samples.Alnum, 53) }, func(s *samples.Source) string {
			return "root:$6" + "$" + s.Text(samples.Alnum, 8) + "$" + s.Text(samples.Alnum, 86) + ":1::"
		}),
		Misses: each(plain("$2a$ is the prefix of bcrypt"), plain("costs $6$ or so")),
	},
	{
		ID: "tm-labelled-uuid", Tier: Warn, Title: "UUID that is called a key",
		Reason:   "Some services hand out a UUID as their key.",
		Keywords: []string{"key", "token", "secret"},
		Pattern:  `(?i:key|token|secret)s?` + closing + joint + opening + `((?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})`,
		Filters:  []Filter{TokenLabel, NotPlaceholder},
		Hits: each(func(s *samples.Source) string {
			return "api_key: " + s.Text(samples.Hex, 8) + "-" + s.Text(samples.Hex, 4) + "-" + s.Text(samples.Hex, 4) + "-" + s.Text(samples.Hex, 4) + "-" + s.Text(samples.Hex, 12)
		}),
		Misses: each(plain("primary key: 550e8400-e29b-41d4-a716-446655440000"), plain("api key: 00000000-0000-0000-0000-000000000000")),
	},
	{
		ID: "tm-elided-secret", Tier: Warn, Title: "Shortened secret",
		Reason:   "A part of a secret may help to find the rest of it.",
		Keywords: []string{"...", "…", "***"},
		Pattern:  `\b(?:sk|pk|rk|gh[pousr]|glpat|xox[abprs]|AKIA|npm|hf|AIza|dop_v1|shpat)[A-Za-z0-9_-]{1,24}(?:\.\.\.|…|\*\*\*\*{0,40})[A-Za-z0-9]{2,12}\b`,
		Hits: each(func(s *samples.Source) string {
			return "key s" + "k-" + s.Text(samples.Alnum, 4) + "..." + s.Text(samples.Alnum, 4)
		}),
		Misses: each(plain("wait ... for it"), plain("sk-...")),
	},
	{
		ID: "tm-client-id", Tier: Warn, Title: "Id of an OAuth client",
		Reason:   "The id of a client is half of what signs the client in.",
		Keywords: []string{"client_id", "client id", "clientid", "client-id"},
		Pattern:  `(?i:client[ _-]?id)` + closing + joint + opening + `([A-Za-z0-9_.-]{16,120})`,
		Filters:  []Filter{Random},
		Hits:     each(holding("client_id: ", ""), holding("Client ID | ", " |")),
		Misses:   each(plain("client_id: your-client-id-goes-here"), plain("client id: application-name-of-mine")),
	},
	{
		ID: "tm-snmp-community", Tier: Warn, Title: "SNMP community",
		Reason:   "A community name reads or changes the device.",
		Keywords: []string{"community"},
		Pattern:  `(?i)(?:snmp-server community|rocommunity|rwcommunity|snmp community(?: string)?:?)\s["'\x60]{0,2}([^\s"'\x60<>]{8,60})`,
		Filters:  []Filter{NotTrivial},
		Hits:     each(with("snmp-server community ", " RO")),
		Misses:   each(plain("snmp-server community public RO"), plain("the community of users")),
	},
}

// columns matches the rest of a table's header behind a label, and a value of
// that column: as many columns stand behind both, at most behind.
func columns(value string, behind int) string {
	const (
		cell  = `\|[ \t]{0,20}[^|\s][^|\n]{0,60}`
		blank = `[ \t]{0,20}\r?\n`
	)
	ways := make([]string, 0, behind+1)
	for n := range behind + 1 {
		more := fmt.Sprintf(`(?:%s){%d}\|?`, cell, n)
		ways = append(ways, more+blank+`[|: \t-]{3,160}`+`\r?\n(?:[^\n]{1,200}\n){0,4}?[^\n]{0,160}?\|[ \t*\x60]{0,8}(`+value+`)[ \t*\x60]{0,8}`+more+`(?:`+blank+`|[ \t]{0,20}$)`)
	}
	return strings.Join(ways, "|")
}
