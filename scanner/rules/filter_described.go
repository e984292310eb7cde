package rules

import (
	"slices"
	"strings"
)

// DescribedLabel keeps a match that begins with a label of a secret, whatever
// its sentence says after it.
var DescribedLabel = Filter{Name: "described-label-1", Keep: func(m Match) bool {
	before := m.Text[max(0, m.Start-48):m.Start]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	label := labelWord.FindString(m.Text[m.Start:m.SecretStart])
	return !inResourceName(before) && !nameOfKey.MatchString(before) && !isOther(before+label) && !strings.HasPrefix(m.Secret(), "pk_") &&
		!tail.MatchString(m.Text[m.SecretEnd:min(len(m.Text), m.SecretEnd+1)])
}}

var labelWord = expressionOf(`^(?i)(?:[a-z]{2,12}[ _-])?(?:apikey|key|token|secret|bearer)s?`)

// OneSentence keeps a match whose label and value are of one sentence, which
// says what the label's thing is and not what another is.
var OneSentence = Filter{Name: "one-sentence-1", Keep: func(m Match) bool {
	rest := m.Text[m.Start:m.SecretStart]
	if strings.Contains(rest, "\n") && lineSetting.MatchString(rest) {
		return false
	}
	return !sentenceEnd.MatchString(rest) && !otherNoun.MatchString(rest)
}}

var (
	sentenceEnd = expressionOf(`[.!?;。]["')\x60*]{0,3}\s|\n[ \t>]{0,6}(?:[-*+#|]|\d{1,3}[.)]|\x60{3})|\n[ \t]*\n|://`)
	// lineSetting gives a name of the second line a value.
	lineSetting = expressionOf(`[:=：→][ \t]{0,3}["'\x60*_(“„‘«「]{0,4}$`)
	// otherNoun is what else a sentence about a secret gives the value of.
	otherNoun = expressionOf(`(?i)(?:\b|_)(?:ids?|username|login|e-?mail|hash|digest|checksum|fingerprint|path|url|uri|link|hostname|arn|version|commit|` +
		`date|length|size|ref|reference|public|example|benutzername|identifiant|логин|name|` +
		`(?:[,;(]|\b(?:and|or|its|whose|und|et|y|e|en|och|og|i|и|'s))\s(?:the |der |die |das |le |la |el |o |de )?(?:user|file|address|host|server|endpoint|branch|image|tag|account|bucket|type|benutzer|utilisateur|usuario|usuário|utente|gebruiker|użytkownik))["'\x60*)]{0,3}(?:\s{0,2}[\[(][^\])\n]{0,24}[\])])?(?:\s{1,2}(?:is|was|are|ist|est|es|é|è|to)|\s{0,2}[:=：]|\s[—–→])[^\n]{0,8}$`)
)

// DescribedRandom is RandomOrUUID for a value that begins its word.
var DescribedRandom = Filter{Name: RandomOrUUID.Name, Needs: RandomWord, Keep: RandomOrUUID.Keep}

// DescribedStrong is StrongWord with ManyKinds, for a value that begins its word.
var DescribedStrong = Filter{Name: "described-strong-1", Needs: StrongMixedWord, Keep: func(m Match) bool {
	return ManyKinds.Keep(m) && StrongWord.Keep(m)
}}

// NotForeignPublic keeps what no label of another language calls public.
var NotForeignPublic = Filter{Name: "not-foreign-public-1", Keep: func(m Match) bool {
	label := strings.ToLower(m.Text[max(0, m.Start-48):m.SecretStart])
	label = label[strings.LastIndexByte(label, '\n')+1:]
	return !slices.ContainsFunc(publicStems, func(stem string) bool { return strings.Contains(label, stem) })
}}

// publicStems begin the words that call a key public.
var publicStems = strings.Fields("public publiq públic pubblic publiek publiczn veřejn verejn öffentlich offentlig offentl julki nyilván отрыт открыт публич 公开 公開 公钥 公鑰 공개 javni jawn openbar açık viešasis عام ציבורי")

// OpensLabel keeps a match whose label says what the secret opens: a token or a
// key alone may as well be the name of something.
var OpensLabel = Filter{Name: "opens-label-1", Keep: func(m Match) bool {
	before := m.Text[max(0, m.Start-48):m.Start]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	return opens.MatchString(before[max(0, len(before)-16):]+m.Text[m.Start:m.SecretStart]) && !nameOfKey.MatchString(before)
}}

var opens = expressionOf(`(?i)(?:api[ _-]?(?:key|token|secret)|(?:access|auth|authentication|client|private|secret|bearer|refresh|deploy|bot|service|account|master|admin|license|licence|webhook|signing|shared|subscription)[ _-]?(?:token|secret|key))\W`)

// NotSearchOnly keeps a key that its line does not call one for searches, as web
// pages hold it.
var NotSearchOnly = Filter{Name: "not-search-only-1", Keep: func(m Match) bool { return !searchOnly.MatchString(m.Line()) }}

var searchOnly = expressionOf(`(?i)search[ -]?only|public|frontend|publishable|anon`)
