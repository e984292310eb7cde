package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/teammem/teammemd/scanner/samples"
	"github.com/teammem/teammemd/scanner/view"
)

// planted returns a token of no vendor, cut into two halves.
func planted(seed uint64) (head, tail string) {
	s := samples.NewSource(seed, "view")
	return "zz" + "q_" + s.Text(samples.Alnum, 14), s.Text(samples.Alnum, 18)
}

// place is the line and column, from 1 on, of a position.
func place(text string, at int) string {
	return fmt.Sprintf("%d:%d", 1+strings.Count(text[:at], "\n"), at-strings.LastIndexByte(text[:at], '\n'))
}

// spans returns the spans of raw that made token in the touched parts of texts.
func spans(texts []view.Text, token string) (found []string) {
	for _, text := range texts {
		at := strings.Index(text.String(), token)
		if at < 0 || !text.Touched(at, at+len(token)) {
			continue
		}
		from, to := text.Origin(at, at+len(token))
		found = append(found, fmt.Sprint(from, "-", to))
	}
	return found
}

// distortions are texts in which a token is written in another way. @ is what
// stands before it, $ what stands after it, and % where it is broken.
var distortions = []struct{ name, text string }{
	{"zero width space", "H\u200bT"},
	{"zero width joiner", "H\u200dT"},
	{"word joiner", "H\u2060T"},
	{"byte order mark", "H\ufeffT"},
	{"soft hyphen", "H\u00adT"},
	{"variation selector", "H\ufe0fT"},
	{"direction", "H\u202aT"},
	{"color", "H\x1b[31mT"},
	{"two colors", "H\x1b[0m\x1b[1;32mT"},
	{"control", "H\x01T"},
	{"wbr", "H<wbr>T"},
	{"wbr closed", "H<wbr/>T"},
	{"wbr spaced", "H<WBR />T"},
	{"shy", "H&shy;T"},
	{"named space", "H&ZeroWidthSpace;T"},
	{"decimal space", "H&#8203;T"},
	{"twice escaped space", "H&amp;#8203;T"},
	{"tag", "H<b>T"},
	{"tags", "H</code><em>T"},
	{"tag with attributes", "H<span class=\"a b\">T"},
	{"comment", "H<!-- a comment -->T"},
	{"bold", "H**T"},
	{"italics", "H*T"},
	{"code", "H`T"},
	{"bold code", "H`**T"},
	{"struck", "H~~T"},
	{"bold underscores", "__H__T"},
	{"italic underscores", "_H_T"},
	{"half in italics", "H_T_"},
	{"whole in italics", "_HT_"},
	{"whole in bold", "__HT__"},
	{"italic sentence", "_the key is HT_"},
	{"strings plus", "\"H\" + \"T\""},
	{"strings dot", "'H' . 'T'"},
	{"strings beside", "\"H\" \"T\""},
	{"strings over lines", "\"H\"\n   \"T\""},
	{"strings plus over lines", "\"H\" +\n  \"T\""},
	{"strings over lines plus", "\"H\"\r\n  + 'T'"},
	{"strings continued", "\"H\" \\\n  \"T\""},
	{"strings of a kind", "f\"H\" + rb\"T\""},
	{"strings of the shell", "H\"\"T"},
	{"template strings", "`H` + `T`"},
	{"shell", "H\\\nT"},
	{"shell indented", "H\\\n    T"},
	{"shell of Windows", "H\\\r\nT"},
	{"wrap", "H\nT"},
	{"wrap of Windows", "H\r\nT"},
	{"wrap with spaces", "H  \n  T"},
	{"wrap in quote", "> H\n> T"},
	{"wrap in comment", "# H\n# T"},
	{"wrap in code comment", "// H\n// T"},
	{"wrap in doc comment", " * H\n * T"},
	{"wrap in list", "- H\n- T"},
	{"wrap in SQL", "-- H\n-- T"},
	{"wrap in table", "| H |\n| T |"},
	{"wrap in second column", "| a | H |\n|   | T |"},
	{"wrap with hyphen", "H-\nT"},
	{"wrap quoted-printable", "H=\r\nT"},
	{"wrap of HTML", "H<br>T"},
	{"wrap in italics", "_H\nT_"},
	{"wrap of drawn table", "│ a │ H │\n│   │ T │"},
	{"wrap in cells", "\n| a | H | b |\n| c | T | d |"},
	{"wrap in cells of code", "\n| a | `H` | b |\n|   | `T` |  |"},
	{"wrap in cells beside others", "\n| H | ab1cd-efgh | b |\n| T | ab1cd-efgi | d |"},
	{"wrap in code spans", "| `H` |\n| `T` |"},
	{"wrap in bold", "**H**\n**T**"},
	{"wrap continued in comment", "# H\\\n# T"},
	{"list of strings", "[\"H\", 'T']"},
	{"list of strings over lines", "(\n  \"H\",\n  \"T\",\n)"},
	{"space and bold", "H\u200b**T"},
	{"bold and hyphen", "**H**\u200b**T**"},
}

// TestQuotesEndWords wants nothing joined to what a quote ends.
func TestQuotesEndWords(t *testing.T) {
	t.Parallel()
	head, tail := planted(1)
	for written, joined := range map[string]bool{
		"a = H\nT\n": true, "a = \"H\"\nT = 1\n": false, "a: 'H',\nT: 'b'\n": false, "'H'\n'T'\n": true, "\"H\nT\"\n": true,
	} {
		raw := strings.NewReplacer("H", head, "T", tail).Replace(written)
		if got := len(spans(view.Variants(view.Of(raw)), head+tail)) > 0; got != joined {
			t.Errorf("%q is joined: %t, want %t", written, got, joined)
		}
	}
}

func TestVariantsFindWhatIsDistorted(t *testing.T) {
	t.Parallel()
	head, tail := planted(1)
	for _, test := range distortions {
		written := strings.NewReplacer("H", head, "T", tail).Replace(test.text)
		raw := "A first line.\n\nThe second: " + written + "\nAnd a last.\n"
		from := strings.Index(raw, head)
		to := strings.Index(raw, tail) + len(tail)
		got := spans(view.Variants(view.Of(raw)), head+tail)
		if len(got) == 0 {
			t.Errorf("%s: not found in %q", test.name, view.Variants(view.Of(raw)))
			continue
		}
		if want := fmt.Sprint(from, "-", to); got[0] != want {
			t.Errorf("%s: at %s, want %s (%s)", test.name, got[0], want, place(raw, from))
		}
	}
}

// spellings are other ways to write one character of a token.
var spellings = []struct{ name, from, to string }{
	{"backslash", "_", "\\_"},
	{"two backslashes", "-", "\\\\-"},
	{"named entity", "_", "&lowbar;"},
	{"decimal entity", "_", "&#95;"},
	{"hex entity", "-", "&#x2d;"},
	{"twice escaped entity", "_", "&amp;amp;#95;"},
	{"full width", "_", "\uff3f"},
	{"full width dot", ".", "\uff0e"},
	{"full width letter", "z", "\uff5a"},
	{"all full width", "zzq_", "\uff5a\uff5a\uff51\uff3f"},
	{"hyphen", "-", "\u2010"},
	{"non-breaking hyphen", "-", "\u2011"},
	{"en dash", "-", "\u2013"},
	{"minus", "-", "\u2212"},
	{"hyphen and bold", "-", "\u2011**"},
	{"hyphen and invisible", "-", "\u2011\u200b"},
	{"dot leader", ".", "\u2024"},
	{"mathematical letter", "z", "\U0001d6a3"},
	{"mathematical digits", "7", "\U0001d7fd"},
	{"defanged", ".", "[.]"},
}

func TestVariantsFindOtherSpellings(t *testing.T) {
	t.Parallel()
	head, tail := planted(3)
	token := head + "-7" + tail + ".7" + tail
	for _, test := range spellings {
		written := strings.ReplaceAll(token, test.from, test.to)
		raw := "A first line.\n\nThe second: " + written + ", and so on.\n"
		from := strings.Index(raw, written)
		got := spans(view.Variants(view.Of(raw)), token)
		if want := fmt.Sprint(from, "-", from+len(written)); len(got) == 0 || got[0] != want {
			t.Errorf("%s: at %v, want %s in %q", test.name, got, want, view.Variants(view.Of(raw)))
		}
	}
}

// TestPlaces gives the line and column at which single changes begin and end.
func TestPlaces(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, raw, part, from, to string }{
		{"escaped line break in JSON", "{\n \"a\": \"x\\nkey is\"}", "key", "2:11", "2:14"},
		{"escaped quote in JSON", "\"{\\\"a\\\": 1}\"", "\"a\"", "1:3", "1:8"},
		{"escaped slash in JSON", "\"a\\/b\"", "a/b", "1:2", "1:6"},
		{"tab in JSON", "a\n\"x\\tkey\"", "key", "2:5", "2:8"},
		{"no-break space", "password\u00a0= x", "password = x", "1:1", "1:14"},
		{"full-width colon", "password\uff1ax", "password:x", "1:1", "1:13"},
		{"color", "a\n \x1b[31mred\x1b[0m end", "red end", "2:7", "2:18"},
		{"invisible before and after", "a \u200bword\u200b b", "word", "1:6", "1:10"},
		{"line break of HTML", "a\nb<br/>c", "\nc", "2:2", "2:8"},
		{"tags in a word", "un<b>believ</b>able", "unbelievable", "1:1", "1:20"},
		{"underscore in italics", "a __b_c_d_e_f_g_h_i_j__ k", "b_c_d_e_f_g_h_i_j", "1:5", "1:22"},
	}
	for _, test := range tests {
		for _, text := range view.Variants(view.Of(test.raw)) {
			at := strings.Index(text.String(), test.part)
			if at < 0 {
				t.Errorf("%s: %q is not in %q", test.name, test.part, text)
				continue
			}
			from, to := text.Origin(at, at+len(test.part))
			if place(test.raw, from) != test.from || place(test.raw, to) != test.to {
				t.Errorf("%s: %s to %s, want %s to %s", test.name, place(test.raw, from), place(test.raw, to), test.from, test.to)
			}
		}
	}
}

func TestWhatHasNoViews(t *testing.T) {
	t.Parallel()
	head, tail := planted(4)
	for _, raw := range []string{
		"", "a", "\n", "word word\nword", "C:\\Users\\Me", "a & b &c; &#; &#xZZ; &unknownname;", "a < b <- c <Type> <!DOCTYPE html>",
		"5 * 3 ** 2", "`code` and **bold** and _it_ and ~~gone~~", "__init__ and _private", "snake_case_name_of_a_thing",
		"it's \"one\", \"two\" and 'three'", "[\"repo\", \"user\"]", "{\"a\":\"b\",\"c\":\"d\"}", "f(x)(y)[.]", "日本語、です。：",
		"ends in PostgreSQL\n18 begins", "a-\nb", "x = 5;\ny = 6;", "| a | b |\n|---|---|\n| c | d |", "sk-********", "******",
		"a\u2010 b \u2013 c", "&#0; &#xD800;", "<b>x</b> and <em>word</em>", "internationalization\nconfiguration",
		"_" + tail + "__ ", "_" + tail + " and\n\nthe end_ here",
		head + tail, "`" + head + tail + "`", "- " + head + tail + "\n", "**" + head + tail + "**\n\nNext.",
	} {
		for _, text := range view.Variants(view.Of(raw)) {
			t.Errorf("%q became %q", raw, text)
		}
		if text, ok := view.Normalise(view.Of(raw)); ok || text.String() != raw || text.Touched(0, len(raw)) {
			t.Errorf("%q became %q, %t", raw, text, ok)
		}
	}
}

func TestProseHasNoViews(t *testing.T) {
	t.Parallel()
	for _, text := range view.Variants(view.Of(prose)) {
		start, end, _ := text.NextTouched(0)
		t.Errorf("a view differs at %q", text.String()[start:end])
	}
	if text, ok := view.Decode(view.Of(prose)); ok {
		t.Errorf("decoded: %q", text)
	}
}
