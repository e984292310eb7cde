package api

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Key is an entry's path inside a root: relative, "/" separated, NFC. A Key was
// checked when it was made, so joining it to a directory stays inside that
// directory on every operating system. The zero value names no entry.
type Key struct{ s string }

// ParseKey checks s by the grammar of the protocol. The error wraps
// [ErrKeyInvalid] and says what is wrong without repeating s.
func ParseKey(s string) (Key, error) {
	if why := keyFault(s); why != "" {
		return Key{}, fmt.Errorf("%w: %s", ErrKeyInvalid, why)
	}
	return Key{s}, nil
}

// keyFault returns why s is no key, or "".
func keyFault(s string) string {
	switch {
	case s == "":
		return "the key is empty"
	case len(s) > MaxKeyBytes:
		return fmt.Sprintf("the key is longer than %d bytes", MaxKeyBytes)
	case !utf8.ValidString(s):
		return "the key is not UTF-8"
	case strings.Contains(s, `\`):
		return "the key has a backslash"
	}
	if why := charactersFault(s); why != "" {
		return why
	}
	if why := segmentsFault(s); why != "" {
		return why
	}
	// What a sloppy peer may make of the name must be harmless as well: its
	// percent-decoded form, twice, and its compatibility form.
	if strings.Contains(s, "%") {
		once := percentDecode(s)
		if traverses(once) || traverses(percentDecode(once)) {
			return "the key's percent-decoded form leaves its directory"
		}
	}
	if isASCII(s) {
		return "" // its compatibility form is itself
	}
	if compat := norm.NFKC.String(s); compat != s && introduces(s, compat) {
		return "the key's compatibility form (NFKC) has a dot segment, a slash, a backslash or NUL"
	}
	return ""
}

// charactersFault looks at each character, the common case of plain ASCII
// without the Unicode tables: a hashes view has thousands of keys.
func charactersFault(s string) string {
	const control = "the key has a control or format character"
	if isASCII(s) {
		for i := range len(s) {
			if s[i] < ' ' || s[i] == 0x7F {
				return control
			}
		}
		return ""
	}
	if !norm.NFC.IsNormalString(s) {
		return "the key is not in Unicode normal form C"
	}
	for _, r := range s {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return control
		}
	}
	return ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func segmentsFault(s string) string {
	if strings.Count(s, "/") >= MaxSegments {
		return fmt.Sprintf("the key has more than %d segments", MaxSegments)
	}
	for seg := range strings.SplitSeq(s, "/") {
		switch {
		case seg == "":
			return "the key has an empty segment"
		case seg == "." || seg == "..":
			return "the key has a . or .. segment"
		case len(seg) > MaxSegmentBytes:
			return fmt.Sprintf("a segment of the key is longer than %d bytes", MaxSegmentBytes)
		case strings.HasSuffix(seg, ".") || strings.HasSuffix(seg, " "):
			return "a segment of the key ends in a dot or a space"
		case isDeviceName(seg):
			return "a segment of the key is a device name of Windows"
		}
	}
	return ""
}

// isDeviceName reports whether Windows takes seg for a device, with or without
// an extension: CON, PRN, AUX, NUL, CONIN$, CONOUT$, COM0-9, LPT0-9 and the
// superscript digits that it folds to 1, 2 and 3.
func isDeviceName(seg string) bool {
	base, _, _ := strings.Cut(seg, ".")
	base = strings.TrimRight(base, " ")
	if len(base) < len("CON") || len(base) > len("CONOUT$") {
		return false
	}
	base = strings.ToUpper(base)
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	for _, prefix := range []string{"COM", "LPT"} {
		if rest, ok := strings.CutPrefix(base, prefix); ok && utf8.RuneCountInString(rest) == 1 {
			return strings.Contains("0123456789¹²³", rest)
		}
	}
	return false
}

func percentDecode(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, ok1 := unhex(s[i+1])
			lo, ok2 := unhex(s[i+2])
			if ok1 && ok2 {
				b.WriteByte(hi<<4 | lo)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// traverses reports whether a path, read by either slash, is absolute, has a
// dot segment, or holds a NUL.
func traverses(s string) bool {
	if strings.ContainsRune(s, 0) || strings.HasPrefix(s, "/") || strings.HasPrefix(s, `\`) {
		return true
	}
	for _, seg := range strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == '\\' }) {
		if seg == "." || seg == ".." {
			return true
		}
	}
	return false
}

// introduces reports whether compat has more of a dangerous thing than s.
func introduces(s, compat string) bool {
	for _, c := range []string{"/", `\`, "\x00"} {
		if strings.Count(compat, c) > strings.Count(s, c) {
			return true
		}
	}
	return traverses(compat)
}

// String returns the key as it travels, "" for the zero value.
func (k Key) String() string { return k.s }

// IsZero reports whether k names no entry.
func (k Key) IsZero() bool { return k.s == "" }

// Fold returns the form in which two keys that a case-insensitive file system
// cannot tell apart are equal: NFC of the full case fold.
func (k Key) Fold() string {
	if isLowerASCII(k.s) {
		return k.s
	}
	return norm.NFC.String(cases.Fold().String(k.s))
}

func isLowerASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || ('A' <= s[i] && s[i] <= 'Z') {
			return false
		}
	}
	return true
}

// Compare orders keys by their bytes.
func (k Key) Compare(other Key) int { return strings.Compare(k.s, other.s) }

// MarshalText encodes as [Key.String].
func (k Key) MarshalText() ([]byte, error) { return []byte(k.s), nil }

// UnmarshalText decodes with the checks of [ParseKey].
func (k *Key) UnmarshalText(text []byte) error {
	key, err := ParseKey(string(text))
	if err != nil {
		return err
	}
	*k = key
	return nil
}
