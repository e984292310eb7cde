package view_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/teammem/teammemd/scanner/samples"
	"github.com/teammem/teammemd/scanner/view"
)

func std(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// wide returns s in UTF-16, little end first.
func wide(s string) string {
	var made []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		made = append(made, byte(unit), byte(unit>>8))
	}
	return string(made)
}

// folded returns s in lines of 20.
func folded(s, margin string) string {
	var made strings.Builder
	for ; len(s) > 20; s = s[20:] {
		made.WriteString(s[:20] + "\n" + margin)
	}
	return made.String() + s
}

// found returns the spans of raw that made token in one of its views.
func found(raw, token string) (from, to int, ok bool) {
	for _, text := range views(raw) {
		if at := strings.Index(text.String(), token); at >= 0 && (raw == text.String() || text.Touched(at, at+len(token))) {
			from, to = text.Origin(at, at+len(token))
			return from, to, true
		}
	}
	return 0, 0, false
}

func TestWhatIsEncodedIsFoundWhereItStands(t *testing.T) {
	t.Parallel()
	all := func(format string) func(string) string {
		return func(s string) string {
			var made strings.Builder
			for _, c := range []byte(s) {
				fmt.Fprintf(&made, format, c)
			}
			return made.String()
		}
	}
	tests := []struct {
		name   string
		encode func(string) string
	}{
		{"base64", std},
		{"base64 of a URL", func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) }},
		{"base64 of base64", func(s string) string { return std(std(s)) }},
		{"base64 of hex", func(s string) string { return std(hex.EncodeToString([]byte(s))) }},
		{"base64 of UTF-16", func(s string) string { return std(wide(s)) }},
		{"base64 in lines", func(s string) string { return folded(std(s), "") }},
		{"base64 in indented lines", func(s string) string { return folded(std(s), "    ") }},
		{"base64 in percent", func(s string) string { return url.QueryEscape(std(s)) }},
		{"base64 in JSON", func(s string) string { return strings.ReplaceAll(std(s), "/", "\\/") }},
		{"base64 behind a path", func(s string) string { return "srv/secret/" + base64.RawURLEncoding.EncodeToString([]byte(s)) }},
		{"hex", func(s string) string { return hex.EncodeToString([]byte(s)) }},
		{"hex of C", func(s string) string { return "0x" + strings.ToUpper(hex.EncodeToString([]byte(s))) }},
		{"hex in percent", func(s string) string { return all("%%%02x")(hex.EncodeToString([]byte(s))) }},
		{"percent", all("%%%02X")},
		{"percent twice", all("%%25%02x")},
		{"percent of a URL", func(s string) string { return strings.NewReplacer("_", "%5F", "-", "%2D", ".", "%2E").Replace(s) }},
		{"unicode", all("\\u%04x")},
		{"unicode in braces", all("\\u{%x}")},
		{"unicode of browsers", all("%%u%04x")},
		{"unicode twice quoted", all("\\\\u%04x")},
		{"long unicode", all("\\U%08x")},
		{"bytes", all("\\x%02x")},
		{"octal", all("\\%03o")},
		{"quoted-printable", func(s string) string { return strings.NewReplacer("_", "=5F", "-", "=2D", "=", "=3D").Replace(s) }},
		{"entities of base64", func(s string) string { return strings.ReplaceAll(std(s), "=", "&#61;") }},
	}
	for _, family := range samples.Families() {
		token := family.Sample()
		if strings.Contains(token, "\n") {
			continue
		}
		for _, test := range tests {
			written := test.encode(token)
			raw := "One.\nTwo (" + written + ") three.\n"
			from, to, ok := found(raw, token)
			start := strings.Index(raw, "(") + 1
			if !ok || from < start || to > start+len(written) || from-start > len("srv/secret/") || start+len(written)-to > 2*len("&#61;") {
				t.Errorf("%s, %s: found %t, at %s to %s", family.Rule, test.name, ok, place(raw, from), place(raw, to))
			}
		}
	}
}

// TestOriginOfAPart gives the encoded characters of a part of what they encode.
func TestOriginOfAPart(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, encoded, part, want string }{
		{"begin of base64", std("user:secret-word-here"), "user", std("user:s")[:6]},
		{"middle of base64", std("abcdefghijklmnopqrstuvwx"), "ghi", std("ghi")},
		{"end of base64", std("abcdefghijklmnopqrstuvw"), "uvw", std("stuvw")[2:7]},
		{"hex", hex.EncodeToString([]byte("abcdefghij")), "cd", hex.EncodeToString([]byte("cd"))},
		{"hex of C", "0x" + hex.EncodeToString([]byte("abcdefghij")), "ab", hex.EncodeToString([]byte("ab"))},
		{"UTF-16", std(wide("abcdefghijkl")), "abc", std(wide("abc"))},
		{"percent", "a%62c%64e", "bc", "%62c"},
	}
	for _, test := range tests {
		raw := "say " + test.encoded + " twice"
		text, ok := view.Decode(view.Of(raw))
		at := strings.Index(text.String(), test.part)
		if !ok || at < 0 {
			t.Errorf("%s: not found in %q", test.name, text)
			continue
		}
		from, to := text.Origin(at, at+len(test.part))
		if got := raw[from:to]; got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestWhatIsNoTextIsNotDecoded(t *testing.T) {
	t.Parallel()
	s := samples.NewSource(5, "noise")
	for _, raw := range []string{
		"", "100%", "50%off", "a%zz", "\\d+ \\s \\w \\z \\u12 \\x1", "internal/server/handlers/middleware_test.go", "configuration_variables_reference",
		s.Text(samples.Hex, 40), s.Text(samples.Hex, 64), s.Text(samples.Base64, 64), s.Text(samples.Alnum, 300), "short dGV4dA==", "x = y; a=1",
		"\\ud800 alone", "C:\\Users\\Me", "aaaaaaaaaaaaaaaaaaaaaaaa",
	} {
		if text, ok := view.Decode(view.Of(raw)); ok || text.String() != raw {
			t.Errorf("%q became %q", raw, text)
		}
	}
	// Text inside of what is none counts.
	noise := string([]byte{0, 1, 2, 0xFE, 0xFF, 0x90, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96})
	if _, _, ok := found("x "+std(noise+noise+"sixteen letters."+noise+noise), "sixteen letters."); !ok {
		t.Error("16 characters of text in noise are not decoded")
	}
}

// TestDecodeOfAViewIsOfWhatIsTouched: the rest is decoded from its parent.
func TestDecodeOfAViewIsOfWhatIsTouched(t *testing.T) {
	t.Parallel()
	whole, broken := std("this stands as it is"), std("this one is broken in two")
	raw := whole + " and then " + broken[:9] + "\u200b" + broken[9:]
	normal, _ := view.Normalise(view.Of(raw))
	text, ok := view.Decode(normal)
	if want := whole + " and then this one is broken in two"; !ok || text.String() != want {
		t.Errorf("%q, want %q", text, want)
	}
	if again, ok := view.Decode(text); ok {
		t.Errorf("decoded again: %q", again)
	}
}
