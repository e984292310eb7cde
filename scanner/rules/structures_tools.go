package rules

import "github.com/teammem/teammemd/scanner/samples"

// toolStructures are secrets in the places that single tools have for them.
var toolStructures = []Rule{
	{
		ID: "tm-transfer-password", Tier: Block2, Title: "Password of a file transfer",
		Reason:   "A user with a password opens the server that files are sent to.",
		Keywords: []string{"lftp ", "open -u ", "open --user "},
		Pattern:  `(?:lftp [^\n|;]{0,120}?-u\s?|open (?:-u|--user) )["']?[^\s,"']{1,60},["']?([^\s"'\x60<>;|]{6,120})`,
		Filters:  []Filter{NotPlaceholder, NotWeak, Remote},
		Hits:     each(with("lftp -u bill,", " sftp://a.io"), with(`lftp -e "open -u bill,`, `; mirror"`)),
		Misses:   each(plain("lftp -u user,"+"password ftp.acme.io"), plain("lftp -u $USER,$PASS a.io")),
	},
	{
		ID: "tm-tool-password", Tier: Block2, Title: "Password on a tool's command line",
		Reason:   "A password on the command line of a tool opens what the tool works on.",
		Keywords: []string{"openssl enc", "mosquitto_", "net user ", "networkcredential(", "defaultpassword", "altool ", "notarytool ", "sqlplus ", "snmp", "mqttx ", "zip -p", "7z ", "ipmitool ", "bcp ", "cqlsh ", "cypher-shell ", "twine upload ", "rclone obscure ", "psexec", "wmiexec", "x11vnc "},
		Pattern: `(?i)(?:openssl enc[^\n|;]{0,160}?\s(?:-k |-pass(?:word)? pass:)|mosquitto_(?:sub|pub|rr)[^\n|;]{0,160}?\s(?-i:-P |--pw )|net user \S{1,40} |NetworkCredential\(\s{0,2}["'][^"'\n]{1,60}["'],\s{0,2}|` +
			`DefaultPassword["']?\s(?:/t \w{1,12} )?/d |(?:altool|notarytool) [^\n|;]{0,200}?\s(?:-p|--password) |sqlplus (?:-\w{1,3} ){0,2}["']?\w{1,30}/(?:"?)|snmp(?:walk|get|set|bulkwalk)[^\n|;]{0,120}?\s(?-i:-[AX]) |snmp-server user [^\n]{1,80}? auth (?:md5|sha\d{0,3}) |` +
			`mqttx [^\n|;]{0,160}?\s(?-i:-P|--password) |zip (?-i:-P) ?|7z [a-z] [^\n|;]{0,80}?-p|ipmitool [^\n|;]{0,120}?\s(?-i:-P) |bcp [^\n|;]{0,160}?\s(?-i:-P) ?|cqlsh [^\n|;]{0,120}?-p |` +
			`cypher-shell [^\n|;]{0,120}?-p |twine upload [^\n|;]{0,120}?(?:-p|--password) |rclone obscure |(?:psexec|wmiexec)(?:\.py)? (?:[\w.-]{1,40}/)?[\w.-]{1,40}:|x11vnc [^\n|;]{0,80}?-passwd |mosquitto_passwd -b \S{1,80} \S{1,40} )` + argument,
		Filters: []Filter{NotPlaceholder, NotWeak, NotOption, NotKeychain},
		Hits: each(with("openssl enc -d -aes-256-cbc -in a.enc -k '", "'"), with("mosquitto_sub -h mq.acme.io -u a -P ", " -t x"), with("net user bill ", " /add"),
			with(`new NetworkCredential("bill", "`, `")`), with("reg add x /v DefaultPassword /d ", ""), with("sqlplus system/", "@ora.acme.io/X"), with("snmpwalk -v3 -u m -A ", " sw1"),
			func(s *samples.Source) string {
				return "xcrun altool --upload-app -u a@b.io -p " + s.Text("bcdfg", 4) + "-" + s.Text("hjklm", 4) + "-" + s.Text("npqrs", 4) + "-" + s.Text("tvwxz", 4)
			}),
		Misses: each(plain("net user bill "+"password /add"), plain("sqlplus scott/"+"tiger@ora"), plain("altool -u a -p @keychain:AC_PASSWORD"), plain("mosquitto_sub -P $MQTT_PASS")),
	},
	{
		ID: "tm-redis-password", Tier: Block2, Title: "Password of Redis",
		Reason:   "The password of Redis opens its database.",
		Keywords: []string{"requirepass ", "masterauth ", "auth ", "acl setuser "},
		Pattern:  `(?:requirepass |masterauth |AUTH (?:\w{1,30} )?|ACL SETUSER [^\n>]{1,80}>)["']?([^\s"'\x60<>;|]{8,160})`,
		Filters:  []Filter{NotPlaceholder, NotWeak, NotOption, Strong},
		Hits:     each(with("requirepass ", "\n"), with("127.0.0.1:6379> AUTH ", "\n"), with("ACL SETUSER app on >", " ~* +@all")),
		Misses:   each(plain("requirepass "+"foobared"), plain("AUTH "+"password"), plain("requirepass <password>")),
	},
	{
		ID: "tm-tool-token", Tier: Block2, Title: "Token on a tool's command line",
		Reason:   "A token on the command line of a tool opens the service that it works with.",
		Keywords: []string{"wandb login ", "codecov", "cast ", "forge ", "oathtool ", "mc alias set ", "mc config host add ", "gh secret set ", "login --token ", "cohere.client", "bw_session", "x-honeycomb-team", "pveapitoken="},
		Pattern: `(?:wandb login (?:--relogin )?|codecov[^\n|;]{0,80}?\s-t |(?:cast|forge) [^\n|;]{0,160}?--private-key[ =](?:0x)?|oathtool (?:--?\w{1,12} ){0,4}|mc (?:alias set|config host add) \S{1,40} \S{1,120} \S{1,60} |` +
			`gh secret set \w{1,60} (?:[^\n|;]{0,80}?\s)?(?:-b|--body)[ =]?|cohere\.Client(?:V2)?\((?:api_key=)?|BW_SESSION=|(?i:x-honeycomb-team)["']?\s{0,2}[:=,]\s{0,2}|PVEAPIToken=[\w.-]{1,40}@\w{1,12}![\w.-]{1,60}=)["']?([\w+/=.-]{16,512})`,
		Filters: []Filter{MachineDrawn},
		Hits: each(holding("wandb login ", ""), holding("gh secret set DEPLOY --body \"", "\""), holding("mc alias set prod https://s3.acme.io bill ", ""), holding(`BW_SESSION="`, `"`),
			func(s *samples.Source) string { return "cast send --private-key " + s.Text(samples.Hex, 64) }),
		Misses: each(plain("wandb login <your-api-key>"), plain("gh secret set NAME --body some-text-of-mine"), plain("codecov -f coverage.txt -t some-name-of-mine")),
	},
	{
		ID: "tm-sasl-password", Tier: Block2, Title: "Line of a password file",
		Reason:   "A line of a password file opens the server that it names.",
		Keywords: []string{"]:587", "]:465", "]:25", "chpasswd:"},
		Pattern:  `(?:\]:(?:587|465|25)\s{1,8}[^\s:]{1,80}:|chpasswd:\s{1,8}(?:(?:expire|list|users): ?[\w|]{0,6}\s{1,12}){1,3}(?:- )?\w{1,30}:)([^\s"'\x60<>]{6,160})`,
		Filters:  []Filter{NotPlaceholder, NotWeak},
		Hits:     each(with("[smtp.acme.io]:587 bill@acme.io:", "\n"), with("chpasswd:\n  list: |\n    ubuntu:", "\n")),
		Misses:   each(plain("[smtp.acme.io]:587 user:"+"password"), plain("chpasswd:\n  list: |\n    ubuntu:"+"ubuntu\n")),
	},
	{
		ID: "tm-build-credentials", Tier: Block2, Title: "Password of a package repository",
		Reason:   "A password in build settings opens the package repository.",
		Keywords: []string{"credentials("},
		Pattern:  `\bCredentials\(\s{0,4}"[^"\n]{1,120}",\s{0,4}"[^"\n]{1,120}",\s{0,4}"[^"\n]{1,80}",\s{0,4}"([^"\n]{6,120})"`,
		Filters:  []Filter{NotPlaceholder, NotWeak},
		Hits:     each(with(`credentials += Credentials("Nexus", "r.acme.io", "ci", "`, `")`)),
		Misses:   each(plain(`Credentials("Nexus", "r.acme.io", "ci", "` + `password")`)),
	},
	{
		ID: "tm-device-password", Tier: Block3, Title: "Password of a network device",
		Reason:   "The password of a device changes the network.",
		Keywords: []string{"enable secret ", "enable password ", "secret = "},
		Pattern:  `(?:enable (?:secret|password) (?:(?:level \d{1,2} )?[0] )?|secret = )["']?([^\s"'\x60<>}]{8,80})`,
		Filters:  []Filter{StrongWord, ManyKinds},
		Hits:     each(with("enable secret 0 ", ""), with("client a {\n  secret = ", "\n}")),
		Misses:   each(plain("enable secret "+"password"), plain("enable password protection-of-files")),
	},
	{
		ID: "tm-chain-account-key", Tier: Block2, Title: "Private key of an account on a chain",
		Reason:   "The private key of an account on a chain can spend what it holds.",
		Keywords: []string{"accounts", "secret key", "secretkey", "secret_key", "secret-key", "keypair", "wif"},
		Pattern: `(?:accounts["']?\s{0,2}[:=]\s{0,2}\[\s{0,4}["'](?:0x)?([0-9a-fA-F]{64})["']|(?i:secret[ _-]?key|keypair)[^\n\[]{0,24}\[((?:\d{1,3}, ?){63}\d{1,3})\]|` +
			`(?i:wif)\b[^\n]{0,40}?[ :=|"'\x60]([5KLc9][1-9A-HJ-NP-Za-km-z]{50,51})\b)`,
		Filters: []Filter{NotPlaceholder},
		Hits: each(func(s *samples.Source) string { return `accounts: ["0x` + s.Text(samples.Hex, 64) + `"]` },
			func(s *samples.Source) string { return "WIF: K" + s.Text("ABCDEFGHJKLMNPQRSTUVWXYZ23456789", 51) }),
		Misses: each(plain(`accounts: ["0x`+`<key>"]`), plain("keypair [1, 2, 3]")),
	},
	{
		ID: "tm-nostr-key", Tier: Block1, Title: "Nostr private key",
		Reason:   "A Nostr private key signs as its owner for good.",
		Keywords: []string{"nsec1"},
		Pattern:  `nsec1[02-9ac-hj-np-z]{58}`, Alphabet: `0-9a-z`, Entropy: 3,
		Hits:   each(func(s *samples.Source) string { return "ns" + "ec1" + s.Text("qpzry9x8gf2tvdw0s3jn54khce6mua7l", 58) }),
		Misses: each(plain("nsec1 begins a private key")),
	},
	{
		ID: "tm-pair-in-code", Tier: Block2, Title: "Twilio account and token",
		Reason:   "A Twilio token can send messages and spend money.",
		Keywords: []string{`client("ac`, "client('ac", "(account_sid"},
		Pattern:  `(?i:client\(["']AC)[0-9a-f]{32}["'],\s{0,4}["']([0-9a-f]{32})["']`,
		Filters:  []Filter{NotPlaceholder},
		Hits: each(func(s *samples.Source) string {
			return `Client("A` + "C" + s.Text(samples.Hex, 32) + `", "` + s.Text(samples.Hex, 32) + `")`
		}),
		Misses: each(plain(`Client("AC` + `xxxx", "your_auth_token")`)),
	},
	{
		ID: "tm-encoded-pass", Tier: Block2, Title: "Password of FileZilla",
		Reason:   "A password in a list of sites opens the server, encoded and not encrypted.",
		Keywords: []string{"<pass encoding="},
		Pattern:  `<Pass encoding="base64">([A-Za-z0-9+/]{8,200}={0,2})</Pass>`,
		Filters:  []Filter{EncodedPassword},
		Hits:     each(func(s *samples.Source) string { return `<Pass encoding="base64">` + encoded(password(s)) + `</Pass>` }),
		Misses:   each(plain(`<Pass encoding="base64">` + encoded("pass"+"word") + `</Pass>`)),
	},
}

// webStructures are secrets in addresses and requests that single services read.
var webStructures = []Rule{
	{
		ID: "tm-azure-function-code", Tier: Block2, Title: "Key of an Azure function",
		Reason:   "The key in the address of an Azure function runs it.",
		Keywords: []string{"azurewebsites.net/"},
		Pattern:  `azurewebsites\.net/[^\s?"'\x60<>]{1,200}\?(?:[^\s"'\x60<>]{0,80}&)?code=([\w%/+=-]{40,120})`,
		Filters:  []Filter{Random},
		Hits:     each(holding("https://a.azurewebsites.net/api/run?code=", "==")),
		Misses:   each(plain("https://a.azurewebsites.net/api/run?code=<function-key>")),
	},
	{
		ID: "tm-request-cookie", Tier: Block3, Title: "Session cookie of a request",
		Reason:   "A session cookie signs in as the person whose session it is.",
		Keywords: []string{"-b '", `-b "`, "--cookie "},
		Pattern:  `(?:-b |--cookie )["'](?:[^"'\n]{0,120}; ?)?[\w.-]{0,20}(?:sess|sid|auth|token|jwt)[\w.-]{0,24}=([\w%.+/=~:-]{20,1000})`,
		Filters:  []Filter{Random, Remote, NotForgery},
		Hits:     each(holding("curl -b 'sessionid=", "; a=b' https://a.io"), holding(`curl --cookie "auth_token=`, `" https://a.io`)),
		Misses:   each(plain("curl -b 'sessionid=<session>' https://a.io"), plain("git checkout -b 'session-branch-of-mine'")),
	},
	{
		ID: "tm-asana-named-token", Tier: Block2, Title: "Asana access token behind its name",
		Reason:   "An Asana token that reads and changes tasks in its owner's name.",
		Keywords: []string{"asana"},
		Pattern:  `(?i:asana)[^\n/]{0,40}?\b([012]/\d{10,17}(?:/\d{10,17})?:[0-9a-f]{32})\b`,
		Filters:  []Filter{NotPlaceholder},
		Hits: each(func(s *samples.Source) string {
			return "ASANA_PAT=2/8" + s.Text(samples.Digits, 15) + "/7" + s.Text(samples.Digits, 15) + ":" + s.Text(samples.Hex, 32)
		}),
		Misses: each(plain("asana tasks of 1/2/2024: none")),
	},
	{
		ID: "tm-address-key", Tier: Block2, Title: "Key in a service's address",
		Reason:   "Whoever has the address uses the service as its owner.",
		Keywords: []string{"infura.io/", "alchemy.com/", "sumologic.com/receiver/", "loggly.com/inputs/"},
		Pattern:  `(?:infura\.io/(?:ws/)?v3/([0-9a-f]{32})|alchemy\.com/v2/([\w-]{32})|sumologic\.com/receiver/v1/http/([\w-]{60,120}={0,2})|loggly\.com/inputs/(` + uuidPattern + `))`,
		Filters:  []Filter{NotPlaceholder},
		Hits: each(func(s *samples.Source) string { return "https://mainnet.infura.io/v3/" + s.Text(samples.Hex, 32) },
			func(s *samples.Source) string {
				return "https://eth-mainnet.g.alchemy.com/v2/" + s.Text(samples.Alnum, 32)
			},
			between("https://logs-01.loggly.com/inputs/", drawnID, "/tag/http/")),
		Misses: each(plain("https://mainnet.infura.io/v3/<project-id>"), plain("https://eth-mainnet.g.alchemy.com/v2/your-api-key")),
	},
	{
		ID: "tm-weather-key", Tier: Block2, Title: "Key in a URL's query",
		Reason:   "A key in a query uses the service at its owner's cost.",
		Keywords: []string{"appid="},
		Pattern:  `[?&]appid=([0-9a-f]{32})\b`,
		Filters:  []Filter{NotPlaceholder},
		Hits:     each(func(s *samples.Source) string { return "https://a.io/now?q=x&appid=" + s.Text(samples.Hex, 32) }),
		Misses:   each(plain("?appid={API key}")),
	},
}

// tokenPlaces are labels of tokens that need words of their own.
var tokenPlaces = []Rule{
	{
		ID: "tm-token-column", Tier: Block3, Title: "Random value in a table",
		Reason:   "A random value that is called a key, a token or a secret opens what it is for.",
		Keywords: []string{"key", "token", "secret"},
		Pattern: `(?i:key|token|secret)s?[ \t*` + "\x60" + `]{0,8}(?:\|[^|\n]{0,40}){0,3}\r?\n[|: \t-]{5,160}\r?\n(?:[^\n]{1,200}\n){0,4}?[^\n]{0,160}?\|[ \t*` + "\x60" + `]{0,8}` +
			`([A-Za-z_+/=.~-]{0,64}\d[A-Za-z0-9_+/=.~-]{2,512})[ \t*` + "\x60" + `]{0,8}\|`,
		Filters: []Filter{TokenColumn, Random12, NotHexDigest},
		Hits:    each(holding("| Service | API key |\n|---|---|\n| Geocoder | ", " |\n"), holding("| host | token |\n|---|---|\n| a | x |\n| b | ", " |\n")),
		Misses:  each(plain("| Service | API key |\n|---|---|\n| Geocoder | see-1password-2 |\n")),
	},
	{
		ID: "tm-vendor-uuid", Tier: Block3, Title: "UUID that is a vendor's key",
		Reason:   "Some services hand out a UUID as their key.",
		Keywords: []string{"npm_token", "npm token", "deepl", "consul", "nomad", "vault", "clientsecret", "client_secret", "client secret", "client-secret", "heroku", "snyk", "newrelic", "linode", "mandrill", "sentry", "mapquest", "lokalise", "logdna", "loggly", "logentries", "fastly", "gitbook", "kraken", "tyk", "kong"},
		Pattern: `(?i)(?:npm[_ ]token|(?:deepl|consul|nomad|vault|heroku|snyk|newrelic|linode|mandrill|sentry|mapquest|lokalise|logdna|loggly|logentries|fastly|gitbook|kraken|tyk|kong)[\w .-]{0,20}?(?:token|key|secret(?:[ _-]?id)?)|client[ _-]?secret)` +
			closing + joint + opening + `([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b`,
		Filters: []Filter{NotPlaceholder},
		Hits:    each(between("CONSUL_HTTP_TOKEN=", drawnID, ""), between(`"clientSecret":"`, drawnID, `"`), between("VAULT_SECRET_ID=", drawnID, "\n")),
		Misses:  each(plain("CONSUL_HTTP_TOKEN=00000000-0000-0000-0000-000000000000"), between("client id: ", drawnID, "")),
	},
	{
		ID: "tm-token-setter", Tier: Block3, Title: "Random value that code sets",
		Reason:   "A random value that is called a key or a token opens what it is for.",
		Keywords: []string{"settoken(", "setapikey(", "setaccesstoken(", "setsecret(", "setauthtoken(", "set_token(", "set_api_key(", "with_token(", "withtoken("},
		Pattern:  `(?i:set(?:token|apikey|accesstoken|secret|authtoken|_token|_api_key)|with_?token)\(\s{0,3}["']([A-Za-z0-9_+/=.~-]{16,512})["']`,
		Filters:  []Filter{Random, NotDigest},
		Hits:     each(holding("api.setToken(\"", "\")"), holding("client.set_api_key('", "')")),
		Misses:   each(plain("setToken(\"some-name-of-a-token-1\")"), plain("setApiKey(process.env.KEY)")),
	},
	{
		ID: "tm-used-key", Tier: Block3, Title: "Random value that is called a key",
		Reason:   "A random value that a sentence calls a key opens what it is for.",
		Keywords: []string{"use key ", "using key ", "use the key ", "with their key ", "with our key ", "ours is "},
		Pattern:  `(?i:use key|using key|use the key|with their key|with our key|ours is) ["'\x60*]{0,3}([A-Za-z0-9_+/=.~-]{20,512})`,
		Filters:  []Filter{Random, NotDigest, NotHexDigest},
		Hits:     each(holding("Use key ", " with the geocoder."), holding("Their API wants a key, ours is ", ".")),
		Misses:   each(plain("use key some-name-of-a-key-1"), plain("ours is the better-way-of-doing-this-1")),
	},
	{
		ID: "tm-drive-recovery", Tier: Block3, Title: "Recovery key of a drive",
		Reason:   "The recovery key of a drive decrypts it.",
		Keywords: []string{"bitlocker", "filevault", "recovery key", "recovery password"},
		Pattern:  `(?i:bitlocker|filevault|recovery key|recovery password)[^\n]{0,60}?\b((?:\d{6}-){7}\d{6}|(?:[A-Z0-9]{4}-){5}[A-Z0-9]{4})\b`,
		Filters:  []Filter{NotPlaceholder},
		Hits: each(func(s *samples.Source) string {
			group := func() string { return s.Text(samples.Digits, 6) }
			return "BitLocker recovery key: " + group() + "-" + group() + "-" + group() + "-" + group() + "-" + group() + "-" + group() + "-" + group() + "-" + group()
		}),
		Misses: each(plain("BitLocker recovery key: see the safe"), plain("recovery key: 000000-000000")),
	},
	{
		ID: "tm-routing-key", Tier: Block3, Title: "Routing key of an alarm",
		Reason:   "A routing key of PagerDuty raises and silences alarms.",
		Keywords: []string{"routing_key", "routingkey", "routing key"},
		Pattern:  `(?i:routing[_ ]?key)["']?\s{0,2}[:=]\s{0,2}["']?([0-9a-zR][0-9a-z]{31})\b`,
		Filters:  []Filter{MachineDrawn},
		Hits:     each(func(s *samples.Source) string { return "routing_key: " + s.Text(samples.Hex, 32) }),
		Misses:   each(plain("routing_key: orders.created.in.europe.and.asia"), plain("routing_key: <integration key>")),
	},
	{
		ID: "tm-access-token-name", Tier: Block3, Title: "Random value that is called a PAT",
		Reason:   "A personal access token acts as its owner.",
		Keywords: []string{"pat for ", "pat of ", "pat is ", "pat: "},
		Pattern:  `(?i:pat)(?: (?:for|of)(?: [\w'.-]{1,24}){1,5})?(?: is |: )["'\x60*]{0,3}([A-Za-z0-9_-]{20,100})`,
		Filters:  []Filter{Random, NotDigest, NotHexDigest},
		Hits:     each(holding("my PAT for the packages is ", " (read only)"), holding("PAT: `", "`")),
		Misses:   each(plain("pat: some-name-of-a-pattern-1"), plain("PAT is the short form of it")),
	},
	{
		ID: "tm-new-value", Tier: Block3, Title: "Password that a tool made",
		Reason:   "A password opens the account that it is for.",
		Keywords: []string{"new value: "},
		Pattern:  `(?i:new value: )["'\x60]?` + passwordValue,
		Filters:  []Filter{StrongWord, ManyKinds, NotDigest},
		Hits:     each(with("Password for the [elastic] user successfully reset.\nNew value: ", "\n")),
		Misses:   each(plain("New value: true"), plain("New value: some_setting_1")),
	},
	{
		ID: "tm-signed-token", Tier: Block3, Title: "Random value with signs behind a label",
		Reason:   "The secret of an application signs its sessions.",
		Keywords: []string{"secret_key", "secret-key", "secretkey", "auth_key", "auth_salt", "logged_in_key", "logged_in_salt", "nonce_key", "nonce_salt", "session_secret", "cookie_secret"},
		Pattern:  `(?i)(?:secret[_-]?key|(?:secure_)?auth_(?:key|salt)|logged_in_(?:key|salt)|nonce_(?:key|salt)|session_secret|cookie_secret)["']?\s{0,3}[:=,]\s{0,6}["']([^"'\n]{30,120})["']`,
		Filters:  []Filter{Strong, NotDigest},
		Hits: each(func(s *samples.Source) string {
			return `SECRET_KEY = "` + password(s) + "^" + password(s) + "~" + password(s) + `"`
		}),
		Misses: each(plain(`SECRET_KEY = "`+`put your unique phrase here, please"`), plain(`define('AUTH_KEY', '`+`put your unique phrase here');`)),
	},
}

// drawnID returns a UUID.
func drawnID(s *samples.Source) string { return uuid{}.draw(s, random) }
