package rules

import (
	stdbase64 "encoding/base64"
	"strings"
)

// HeaderSecret keeps the value of a header that is neither a stand-in nor made
// of words. Of user and password in base64, the password decides.
var HeaderSecret = Filter{Name: "header-secret-1", Keep: func(m Match) bool {
	value := m.Secret()
	if raw, err := stdbase64.RawStdEncoding.DecodeString(strings.TrimRight(value, "=")); err == nil && strings.Contains(string(raw), ":") && printable(string(raw)) {
		return basicPair(value)
	}
	return !placeholder(value) && !weak(value)
}}

// UserPair keeps user:password when the password is one, and a token that stands
// in the user's place.
var UserPair = Filter{Name: "user-pair-1", Keep: func(m Match) bool {
	user, pass, _ := strings.Cut(strings.Trim(m.Secret(), "\"'`."), ":")
	pass = strings.Trim(pass, "\"'`.")
	if pass == "" {
		return isRandom(user)
	}
	return pass != user && !placeholder(pass) && !weak(pass)
}}

// KeyInArmour keeps armour with a key in it: at least 40 characters of base64
// in pieces that are no words. An ellipsis, a template or a sentence is none, and
// what follows the first footer is another text, although gitleaks' pattern may
// run on to a second one.
var KeyInArmour = Filter{Name: "key-in-armour-1", Keep: func(m Match) bool {
	inside, _, _ := strings.Cut(m.Secret(), "-----END")
	inside = armourLine.ReplaceAllString(inside, " ")
	inside = strings.NewReplacer(`\r`, " ", `\n`, " ").Replace(inside)
	return keyBody(strings.Join(keyPiece.FindAllString(inside, -1), ""))
}}

var (
	armourLine = expressionOf(`-{5}BEGIN[A-Z0-9 ]{0,60}-{0,5}|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset)\s?:[^\n\\]{0,120}`)
	keyPiece   = expressionOf(`[A-Za-z0-9+/=_-]{16,}`)
)

// LastPart keeps an address whose last part is no stand-in.
var LastPart = Filter{Name: "last-part-1", Keep: func(m Match) bool {
	value := strings.TrimRight(m.Secret(), "/")
	return !placeholder(value[strings.LastIndexByte(value, '/')+1:])
}}

// NotSource keeps a link that does not lead to a file or a commit of a
// repository: their addresses have a hash in them.
var NotSource = Filter{Name: "not-source-1", Keep: func(m Match) bool { return !sourcePath.MatchString(m.Whole()) }}

var sourcePath = expressionOf(`/(?:blob|tree|commits?|raw|blame|compare|releases|src)/`)

// NotNATS keeps a signed token that is good by itself. Those of NATS name a key,
// and open nothing without its seed; most of them are public.
var NotNATS = Filter{Name: "not-nats-1", Keep: func(m Match) bool {
	header, _, _ := strings.Cut(m.Secret(), ".")
	raw, err := stdbase64.RawURLEncoding.DecodeString(header)
	return err != nil || !strings.Contains(string(raw), `"ed25519`)
}}

// NotPublicKey keeps what is no public key of NATS or Stellar: their seeds begin
// with another letter.
var NotPublicKey = Filter{Name: "not-public-key-1", Keep: func(m Match) bool { return !publicKey.MatchString(m.Secret()) }}

var publicKey = expressionOf(`^[ACGNOUX][A-Z2-7]{55}$`)

// NotNameOf keeps a value whose label is that of a secret, not of a secret's
// name, place or kind.
var NotNameOf = Filter{Name: "not-name-of-1", Keep: func(m Match) bool {
	return !nameOf.MatchString(m.Text[m.Start:m.SecretStart])
}}

var nameOf = expressionOf(`(?i)(?:name|alg|algorithm|path|file|ref|type|url|ttl)["']?\s{0,2}[=:]\s{0,2}["']?$`)

// HeaderName keeps a match that is the end of a header's name, and what follows.
var HeaderName = Filter{Name: "header-name-1", Keep: func(m Match) bool {
	return headerName.MatchString(m.Text[max(0, m.Start-64):m.SecretStart])
}}

var headerName = expressionOf(`(?i)\b(?:x-(?:[a-z]{2,16}-){0,3}(?:key|token|secret|apikey)|api-?key|private-token|job-token|deploy-token|ocp-apim-subscription-key|dd-application-key|` +
	`application-key|access-token|auth-token|authentication-token|circle-token)["'\x60]?\s{0,2}[:=,]\s{0,2}["'\x60]?$`)

// OfScheme keeps what stands behind a scheme whose value is the secret itself:
// that of others is encoded, or an answer that is good once.
var OfScheme = Filter{Name: "of-scheme-1", Keep: func(m Match) bool {
	return !otherScheme.MatchString(m.Text[m.Start:m.SecretStart])
}}

var otherScheme = expressionOf(`(?i)(?:basic|negotiate|ntlm|aws4[\w-]{0,24}|aws|hmac[\w-]{0,16}|hawk|credential|signature)[\s"']{1,3}$`)
