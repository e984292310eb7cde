package rules

import "strings"

// What a sentence may say between a label and its value.
const (
	// rest is the rest of the line, and a second line of the same paragraph.
	rest = `[^\n]{0,80}?(?:\r?\n[ \t>]{0,6}[^\n]{1,60}?)?`
	// verb is what leads to the value.
	verb = `(?:\s(?:is|was|are|has been|had been|will be|becomes|became|reads|remains|ist|lautet|est|es|é|è|és|är|er|on|jest|brzmi|to|je|este|là|adalah|είναι|е|staat op|staat nu op)(?:[ \t]{1,2}|[ \t]?\r?\n[ \t>]{0,6})(?:(?:now|still|currently|set to|nun|jetzt|derzeit|ahora|maintenant)[ \t])?|[:：][ \t]{1,3}|[ \t](?:[=—–→]|->)[ \t]|[はが是为為은는][ \t]?|คือ[ \t]?)`
	// marks opens a value.
	marks = "[\"'\\x60*_(“„‘«「]{0,4}"
)

// tokenWords are what other languages than English call a key, a token or a
// secret, in lower case.
var tokenWords = []string{
	"schlüssel", "geheimnis", "clé api", "clé d'api", "clé d’api", "clé secrète", "clé de chiffrement", "clé d'accès", "clé d’accès", "clé maître", "jeton",
	"clave api", "clave de api", "clave de la api", "clave secreta", "clave de secreta", "clave de cifrado", "clave de acceso", "clave maestra", "secreto", "llave",
	"chave api", "chave da api", "chave de api", "chave secreta", "chave de acesso", "chave de criptografia", "chave mestra", "segredo",
	"chiave api", "chiave segreta", "chiave di accesso", "chiave di cifratura", "chiave dell'api", "chiave dell’api", "segreto",
	"sleutel", "geheim", "klucz", "sekret", "klíč", "kľúč", "tajemství", "nyckel", "nøkkel", "nøgle", "avain", "anahtar", "kulcs", "cheie", "cheia", "ključ", "raktas", "atslēga", "võti", "κλειδί",
	"ключ", "токен", "секрет", "密钥", "密鑰", "金鑰", "令牌", "トークン", "キー", "シークレット", "토큰", "키", "시크릿", "מפתח", "مفتاح", "کلید", "कुंजी", "คีย์", "khóa api", "kunci api",
}

// tokenWord matches one of tokenWords, with its ending.
var tokenWord = `(?:(?i:` + anyOf(tokenWords, "κλειδί") + `)|[Κκ]λειδί)\pL{0,4}(?:[ -](?i:api))?`

// describedKeys are the keys that are secrets.
var describedKeys = keysOf(strings.Fields(`api app access private encryption cipher aes signing master auth service license licence storage subscription admin deploy
	session client shared hmac jwt webhook integration unseal seal root recovery security server maps bot oauth merchant consumer activation salt our their my`))

// keysOf returns the names of the keys of kinds, in lower case.
func keysOf(kinds []string) []string {
	names := []string{"apikey"}
	for _, kind := range kinds {
		names = append(names, kind+" key", kind+"-key", kind+"_key")
	}
	return names
}

// describedGuesses are values of which a sentence says more between their label
// and them than their label.
var describedGuesses = []Rule{
	{
		ID: "tm-described-token", Tier: Block3, Title: "Random value that a sentence describes",
		Reason:   "A random value that a sentence calls a key or a token opens what it is for.",
		Keywords: append([]string{"token", "secret", "bearer"}, describedKeys...),
		Pattern:  `(?i:token|secret|bearer|` + anyOf(describedKeys, "") + `)s?["'\x60*_)]{0,3}[ \t(,\r\n]` + rest + verb + marks + `([A-Za-z0-9_+/=-]{16}[A-Za-z0-9_+/=.~-]{0,496})`,
		Filters:  []Filter{DescribedLabel, OneSentence, DescribedRandom, NotDigest, NotHexDigest, NotPublicKey},
		Hits: each(holding("The API key for the geocoder is ", "."), holding("API token of the bot: `", "`"), holding("our API token at the freight partner is ", ", sent with each request"),
			holding("the client secret of the client `a-b` is `", "`."), holding("Unseal key 2 of 5: ", "\n"), holding("the shared secret\nwith the bank (HMAC) is ", ""), between("the API key of the shop is ", drawnID, "")),
		Misses: each(holding("the public key of the host is ", ""), plain("the token for this is some-name-of-a-token-1"), holding("the key of the row is ", ""), holding("Rotate the token. The commit is ", ""),
			holding("the name of the token's file is: ", ""), plain("the encryption key of the columns is stored in Vault")),
	},
	{
		ID: "tm-foreign-token", Tier: Block3, Title: "Random value behind a label in another language",
		Reason:   "A random value that is called a key or a token opens what it is for.",
		Keywords: tokenWords,
		Pattern:  tokenWord + closing + `(?:[ \t]{0,3}[:=：][ \t]{0,3}|` + verb + `|[ \t])` + opening + `([A-Za-z0-9_+/=.~-]{12,512})`,
		Filters:  []Filter{Random12, NotDigest, NotHexDigest, NotForeignPublic, NotPublicKey},
		Hits:     each(holding("API-Schlüssel: ", ""), holding("clé API : ", ""), holding("API 密钥：", ""), holding("ключ API: ", ""), holding("mit dem Schlüssel `", "`")),
		Misses:   each(plain("Schlüssel: Bezeichnung-des-Feldes-1"), plain("密钥：见 1Password"), holding("Öffentlicher Schlüssel: ", "")),
	},
	{
		ID: "tm-described-foreign-token", Tier: Block3, Title: "Random value that a sentence in another language describes",
		Reason:   "A random value that a sentence calls a key or a token opens what it is for.",
		Keywords: tokenWords,
		Pattern:  tokenWord + `["'\x60*_)]{0,3}[^\n]` + rest + verb + marks + `([A-Za-z0-9_+/=-]{16}[A-Za-z0-9_+/=.~-]{0,496})`,
		Filters:  []Filter{OneSentence, DescribedRandom, NotDigest, NotHexDigest, NotForeignPublic, NotPublicKey},
		Hits:     each(holding("Der API-Schlüssel der Spedition ist ", "."), holding("Ключ API партнёра: ", ""), holding("La clé API du service est `", "`")),
		Misses:   each(holding("Der öffentliche Schlüssel des Servers ist ", ""), plain("Der Schlüssel der Tabelle ist eine-Nummer-aus-12-Ziffern")),
	},
	{
		ID: "tm-described-password", Tier: Block3, Title: "Strong password that a sentence describes",
		Reason:   "A password opens the account that it is for.",
		Keywords: append([]string{"pw"}, passwordWords...),
		Pattern:  `(?:` + passwordLabel + `|(?i:pw))["'\x60*_)]{0,3}(?:[^\n]` + rest + `)?` + verb + marks + passwordValue,
		Filters:  []Filter{DescribedStrong, OneSentence, NotSetting, NotDigest},
		Hits: each(with("the password of `svc-import` (read only) is ", "."), with("the master password\nis **", "**, typed by hand"), with("Das Passwort für den Benutzer „ada“ lautet „", "“."),
			with("пароль пользователя `ops`: ", "")),
		Misses: each(plain("The password policy of the team is strict."), plain("the password of the user is stored in 1Password"), with("Change the password. The build is ", ""), with("the password's user name is ", "")),
	},
}
