package rules

import "strings"

var (
	uuidShape = expressionOf(`^(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	// nameShape is what people name things in code: words of letters with few
	// digits, joined by signs, with an index or a call at the end.
	nameShape = expressionOf(`^[.$@]?[A-Za-z][A-Za-z]*\d{0,4}(?:(?:[._/:-]|::|->)(?:v\d(?:alpha|beta)\d|[A-Za-z]*\d{0,4}))*(?:\(.*|\[.*)?$`)
	pathShape = expressionOf(`^(?:\.{0,2}/|~/|[A-Za-z]:\\|\\\\|[\w.-]+/[\w.-]+\.[a-z]{1,5}$|[\w./-]+\.(?:md|txt|json|ya?ml|pem|key|crt|env|toml|html?|py|js|ts|go|rb|php|sh|png|svg|jpe?g|csv|xml|conf|ini|pfx|p12|jks|asc|gpg|sig|pub|cer|der|zip|tar|gz|tgz|whl|jar|log|tf|rst|mdx|lock|sql|cfg|exe|dll|so|deb|rpm|ipynb|cs|cpp|java|tsx|jsx)$)`)
	linkShape = expressionOf(`^(?:[a-z][a-z0-9+.-]{1,20}://|mailto:|www\.)`)
	release   = expressionOf(`^v?\d+(?:\.\d+){1,4}(?:[-+][\w.-]+)?$|^\d{4}-\d{2}-\d{2}(?:[T-].*)?$`)
	mailbox   = expressionOf(`^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$`)
	numbers   = expressionOf(`^[\d\s.,:+%/_-]*$`)
	wordShape = expressionOf(`^[A-Za-z]?[a-z]+[,.:;!?)]*$|^[A-Z]+[,.:;!?)]*$`)
	digest    = expressionOf(`^(?i:sha(?:1|256|384|512)|md5)[:-]`)
)

// named reports whether value is the name of something rather than a secret: in
// code, in a file system, on the web, of a release, of a person's mailbox.
func named(value string) bool {
	if strings.HasPrefix(value, "--") || pathShape.MatchString(value) || linkShape.MatchString(value) || release.MatchString(value) || mailbox.MatchString(value) || digest.MatchString(value) {
		return true
	}
	if !nameShape.MatchString(value) {
		return false
	}
	// A random token can have the shape of a name; then its letters are no words.
	m := makeupOf(value)
	return m.wordy*2 >= m.lower+m.upper || m.digits == 0 && m.changes*4 < len(value)
}

func isUUID(value string) bool { return uuidShape.MatchString(value) }

func numeral(value string) bool { return numbers.MatchString(value) }

// plainWord reports whether value is one word in letters alone, with a
// sentence's punctuation or without.
func plainWord(value string) bool { return wordShape.MatchString(value) }
