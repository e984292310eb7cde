package rules

import "github.com/teammem/teammemd/scanner/samples"

// armour returns a line of PEM.
func armour(what string) string { return "-----" + what + " PRIV" + "ATE KEY-----" }

func body(length int) func(*samples.Source) string {
	return func(s *samples.Source) string { return s.Text(samples.Base64, length) }
}

// between returns the sample in which a made text stands between two others.
func between(before string, made func(*samples.Source) string, after string) func(*samples.Source) string {
	return func(s *samples.Source) string { return before + made(s) + after }
}

var keyStructures = []Rule{
	{
		ID: "tm-private-key", Tier: Block2, Title: "Private key",
		Reason:   "A private key lets its holder sign, decrypt or log in as its owner.",
		Keywords: []string{"private key-----", "private key block-----"},
		// Separators are those of quotes, tables, string literals and escapes; the
		// footer is not asked for.
		Pattern: `PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|[\s"'\x60>|+,\\])*(?:(?:Proc-Type|DEK-Info|Version|Comment|Subject|Hash|Charset)[^\n\\]{0,120}(?:\\[nr]|[\s"'>|+,\\])+){0,4}` +
			`([A-Za-z0-9+/=]{16,}(?:(?:\\[nr]|[\s"'\x60>|+,\\])+[A-Za-z0-9+/=]{20,})*(?:(?:\\[nr]|[\s"'\x60>|+,\\])+[A-Za-z0-9+/]{1,76}={0,2}(?:\\[nr]|[\s"'\x60>|+,\\])*-----END)?)`,
		Filters: []Filter{KeyBody},
		Hits: each(
			between(armour("BEGIN RSA")+"\n", body(64), "\n"), between(armour("BEGIN")+`\n`, body(64), `\n`+armour("END")),
			between("> "+armour("BEGIN OPENSSH")+"\n> ", body(70), "\n> "), between("    "+armour("BEGIN EC")+"\n    ", body(44), ""),
			between(`"private_key": "`+armour("BEGIN")+`\n`, body(64), `\n"`), between(armour("BEGIN RSA")+"\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n", body(64), ""),
		),
		Misses: each(plain(armour("BEGIN")+"\n...\n"+armour("END")), plain(armour("BEGIN RSA")+"\nMIIE"+"pAIBAAKCAQEA...\n"), plain(armour("BEGIN")+"\nyour key of many words here\n")),
	},
	{
		ID: "tm-putty-key", Tier: Block2, Title: "PuTTY private key",
		Reason:   "A PuTTY key logs in to every host that knows its public half.",
		Keywords: []string{"private-lines:"},
		Pattern:  `Private-Lines: \d{1,3}(?:\\[nr]|[\s>|])+([A-Za-z0-9+/=]{40,}(?:(?:\\[nr]|[\s>|])+[A-Za-z0-9+/=]{20,})*)`,
		Filters:  []Filter{KeyBody},
		Hits:     each(between("Private-Lines: 14\n", body(64), "\n")),
		Misses:   each(plain("Private-Lines: 14\n...\n"), plain("Public-Lines: 6\n")),
	},
	{
		ID: "tm-ssh2-key", Tier: Block2, Title: "SSH2 private key",
		Reason:   "A private key in SSH2's armour logs in to every host that knows its public half.",
		Keywords: []string{"encrypted private key ----"},
		Pattern:  `SSH2 ENCRYPTED PRIVATE KEY ----\s+(?:[A-Za-z-]{2,20}: [^\n]{0,100}\n){0,4}\s{0,8}([A-Za-z0-9+/=]{40,}(?:\s+[A-Za-z0-9+/=]{20,})*)`,
		Filters:  []Filter{KeyBody},
		Hits:     each(between("---- BEGIN SSH2 "+"ENCRYPTED PRIVATE KEY ----\nComment: \"x\"\n", body(64), "\n")),
		Misses:   each(plain("---- BEGIN SSH2 " + "ENCRYPTED PRIVATE KEY ----\n...\n")),
	},
	{
		ID: "tm-private-jwk", Tier: Block2, Title: "Private JWK",
		Reason:   "A private JSON web key lets its holder sign tokens that all services accept.",
		Keywords: []string{`"d"`, `"k"`},
		Pattern:  `"[dk]"\s{0,4}:\s{0,4}"([A-Za-z0-9_-]{40,800})"`,
		Filters:  []Filter{PrivateJWK},
		Hits: each(func(s *samples.Source) string {
			return `{"kty":"EC","crv":"P-256","x":"` + s.Text(samples.Word, 43) + `","d":"` + s.Text(samples.Word, 43) + `"}`
		}),
		Misses: each(func(s *samples.Source) string { return `{"kty":"EC","x":"` + s.Text(samples.Word, 43) + `"}` }, func(s *samples.Source) string { return `{"d":"` + s.Text(samples.Word, 43) + `"}` }),
	},
	{
		ID: "tm-keystore-password", Tier: Block2, Title: "Password of a key store",
		Reason:   "The password of a key store or key file opens the keys in it.",
		Keywords: []string{"storepass", "keypass", "store-pass", "-passin", "-passout", "--passphrase", "key-password"},
		Pattern: `(?i)(?:-(?:src|dest)?(?:store|key)pass(?::?\s|=)\s{0,3}|(?:key|trust)-?store-?pass(?:word)?["']?\s{0,2}[=:]\s{0,2}|-pass(?:in|out)\s{1,3}["']?pass:|--passphrase[= ]\s{0,2}|key-password\s{0,2}[=:]\s{0,2})` +
			`["']?([^\s"'\x60<>]{6,120})`,
		Filters: []Filter{NotPlaceholder, NotWeak, NotOption},
		Hits:    each(with("keytool -list -storepass ", " -v"), with("openssl rsa -passin pass:", " -in a.pem"), with("gpg --batch --passphrase '", "' -d x"), with(`keystorePass="`, `"`)),
		Misses:  each(plain("keytool -storepass "+"changeit"), plain("openssl rsa -passin pass:"+"$PASS"), plain("gpg --passphrase --batch-mode=x1")),
	},
}
