package rules

import (
	"slices"
	"strings"
)

// TokenLabel keeps a match whose label is one of a secret: "public key", "cache
// key", "token count" and "key of the map" are labels of something else.
var TokenLabel = Filter{Name: "token-label-2", Keep: func(m Match) bool {
	before := m.Text[max(0, m.Start-48):m.Start]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	label := before + m.Text[m.Start:m.SecretStart]
	if inResourceName(before) || nameOfKey.MatchString(before) || strings.HasPrefix(m.Secret(), "pk.") || strings.HasPrefix(m.Secret(), "pk_") || isOther(label) || tail.MatchString(m.Text[m.SecretEnd:min(len(m.Text), m.SecretEnd+1)]) {
		return false
	}
	if bareKey.MatchString(m.Text[m.Start:m.SecretStart]) {
		return isKeyKind(before)
	}
	return true
}}

// nameOfKey begins what says of a key how it is called, not what it is.
var nameOfKey = expressionOf(`(?i)\b(?:ids?|name|hash|fingerprint|digest) (?:of|for) (?:the |our |its )?[\w -]{0,24}$`)

// inResourceName reports whether a text ends inside the name of a resource, as
// those of AWS and those of URN are. Such a name says where a secret is.
func inResourceName(before string) bool {
	before = strings.ToLower(before[strings.LastIndexAny(before, " \t\"'`=(")+1:])
	return strings.Contains(before, "arn:") || strings.Contains(before, "urn:") || strings.Contains(before, ":secretsmanager:")
}

// isKeyKind reports whether a text ends in a word that makes a key a secret
// one, such as "api_" before "key".
func isKeyKind(before string) bool {
	if n := len(before); n > 0 && strings.IndexByte(" _.-", before[n-1]) >= 0 {
		before = before[:n-1]
	}
	lower := strings.ToLower(before)
	return slices.ContainsFunc(keyKinds, func(kind string) bool { return strings.HasSuffix(lower, kind) })
}

// isOther reports whether a label is one of something else. Most labels have
// none of the words, which is quickly seen.
func isOther(label string) bool {
	lower := strings.ToLower(label)
	return slices.ContainsFunc(otherWords, func(word string) bool { return strings.Contains(lower, word) }) && otherLabel.MatchString(label)
}

// otherWords has a piece of every word in otherLabel.
var otherWords = strings.Fields(`pub cach primar foreign partition sort row rang hash object s3 index group host map dict json yaml config
	issue ticket project idempot dedup routing site search client gpg pgp signing fingerprint regist ssh anon contin page pagi cursor sync
	resum change csrf xsrf nonce etag checksum build commit revision measur track analyt dsa rsa known_ keyboard keyword hotkey monkey turkey donkey
	id name ref path arn version store.`)

var (
	// otherLabel is a label of what everybody may know.
	otherLabel = expressionOf(`(?i)(?:public|pub|cache|primary|foreign|partition|sort|row|range|hash|object|s3|sort|index|group|host|map|dict|json|yaml|config|issue|ticket|project|idempotency|dedup\w*|routing|publishable|` +
		`site|search[ -]only|client[ -]?side|gpg|pgp|signing[ _-]?key[ _-]?id|fingerprint|registry|ssh|host|public\w*|anon|continuation|next[ _-]?page|page|pagination|cursor|sync|resume|change|csrf|xsrf|nonce|etag|checksum|build|commit|revision|` +
		`measurement|tracking|analytics|dsa|rsa|known_hosts|key[ _-]?id|secret[ _-]?(?:name|id|ref|path|arn|version)|monkey|turkey|donkey|keyboard|keyword|hotkey|store\.)[ _.-]?(?:api[ _.-]?)?(?:key|token|secret)?s?\W{0,12}(?:is\s)?\W{0,4}$`)
	bareKey = expressionOf(`^(?i)keys?\W`)
	tail    = expressionOf(`^[(]`)
)

// NotDigest keeps what no digest is: its label or its line names no hash.
var NotDigest = Filter{Name: "not-digest-1", Keep: func(m Match) bool {
	line := strings.ToLower(m.Text[max(0, m.Start-60):m.SecretStart])
	line = line[strings.LastIndexByte(line, '\n')+1:]
	for _, word := range []string{"sha1", "sha256", "sha-256", "sha512", "md5", "digest", "checksum", "integrity", "fingerprint", "commit", "ssh-", "ecdsa-", "public"} {
		if strings.Contains(line, word) {
			return false
		}
	}
	return true
}}

// NotHexDigest keeps what has not the form of a common hash in hex.
var NotHexDigest = Filter{Name: "not-hex-digest-3", Keep: func(m Match) bool {
	value := m.Secret()
	if strings.Trim(value, "0123456789abcdefABCDEF") != "" || apiLabel.MatchString(m.Text[max(0, m.Start-12):m.SecretStart]) {
		return true
	}
	return len(value) != 32 && len(value) != 40 && len(value) != 64
}}

// keyKinds are the words that isKeyKind knows.
var keyKinds = strings.Fields(`
	api app access secret private encryption encrypt signing sign master account auth service license storage subscription
	admin deploy session client shared hmac jwt webhook integration unseal read write activation crypt cipher aes root seal
	recovery our their my security server maps secure consumer ingest vapid fernet salt bot oauth merchant instrumentation
`)

// apiLabel is a label behind which a text in hex is no hash.
var apiLabel = expressionOf(`(?i)(?:(?:api|access|auth|secret|encryption|master|unseal|bot|deploy|bearer|cipher|aes)[ _-]?(?:key|token)|(?:hmac|signing|client|app|webhook|shared)[ _-](?:secret|key)|` +
	`api[ -]?(?:schlüssel|sleutel|nyckel|avain|anahtarı)|cl[ée] (?:d['’])?api|(?:clave|chave|chiave|klucz|klíč|ключ) (?:de |da |dell['’])?api|api[ -]?(?:ключ|密钥|密鑰|키|キー))(?:\W|$)`)
