package api_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
)

func TestParseKeyAccepts(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"a", "MEMORY.md", "notes/deploy.md", "deep/er/and/deeper.md", "with space.md", "Ünïcödé/漢字.md", "emoji 🙂.md",
		"100%.md", "a%20b.md", "x..y.md", "...x", ".hidden.md", "-dash.md", "console.md", "COM10.md", "nul-ish.md", "a:b.md", "what?.md",
		strings.Repeat("a", api.MaxSegmentBytes), strings.Repeat("d/", api.MaxSegments-1) + "f",
	} {
		got, err := api.ParseKey(key)
		if err != nil || got.String() != key {
			t.Errorf("ParseKey(%.40q) = %q, %v", key, got, err)
		}
	}
}

func TestParseKeyRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", api.MaxSegmentBytes)
	for _, key := range []string{
		"", "/", "/etc/passwd", "a/", "a//b", "//a", ".", "..", "./a", "../a", "a/..", "a/../b", "a/../../b", "a/./b",
		`a\b`, `..\a`, `\a`, `C:\a`, "a\x00b", "a\nb", "a\tb", "a\x7fb", "a\u0085b", "a\u200bb", "a\u202eb", "a\ufeffb", "a\u2028b",
		"%2e%2e/a", "%2e%2e%2fa", "a/%2E%2E/b", "%2fetc", "%5c..", "a/%2e", "%252e%252e%252fa", "a%00b",
		"\uff0e\uff0e/a", "a/\uff0e\uff0e/b", "\u2025/a", "a\uff0fb", "a\uff3cb", "\u2024/a",
		"a.", "a ", "a./b", "a /b", "a. ", "CON", "con.md", "a/PRN.txt", "AUX", "nul", "NUL.tar.gz", "COM1", "com9.md", "LPT1.md", "COM¹", "lpt².md", "CONIN$", "conout$.md", "CON .md",
		"e\u0301.md", "\xff.md", "a\xc3", long + "a", strings.Repeat("d/", api.MaxSegments) + "f", strings.Repeat(long+"/", 6) + "a",
	} {
		got, err := api.ParseKey(key)
		if !errors.Is(err, api.ErrKeyInvalid) || !got.IsZero() {
			t.Errorf("ParseKey(%.40q) = %q, %v, want %v", key, got, err, api.ErrKeyInvalid)
		}
		if err != nil && len(key) > 3 && strings.Contains(err.Error(), key) {
			t.Errorf("ParseKey(%.40q): the error repeats the key", key)
		}
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	twins := [][2]string{{"readme.md", "README.md"}, {"straße.md", "STRASSE.md"}, {"é.md", "É.md"}, {"ſ.md", "s.md"}, {"Σ.md", "ς.md"}}
	for _, pair := range twins {
		a, errA := api.ParseKey(pair[0])
		b, errB := api.ParseKey(pair[1])
		if errA != nil || errB != nil || a.Fold() != b.Fold() {
			t.Errorf("%q and %q fold to %q and %q (%v, %v)", pair[0], pair[1], a.Fold(), b.Fold(), errA, errB)
		}
	}
	a, _ := api.ParseKey("a.md")
	b, _ := api.ParseKey("b.md")
	if a.Fold() == b.Fold() {
		t.Error("a.md and b.md fold to the same")
	}
}

func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"a/b.md", "../a", "%2e%2e%2f", "\uff0e\uff0e/a", "CON", `a\b`, "é.md"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, err := api.ParseKey(s)
		if err != nil {
			if !errors.Is(err, api.ErrKeyInvalid) {
				t.Errorf("ParseKey(%q): %v wraps no sentinel", s, err)
			}
			return
		}
		if key.String() != s || !filepath.IsLocal(s) || strings.Contains(s, `\`) {
			t.Errorf("ParseKey(%q) accepted what leaves its directory", s)
		}
		if again, err := api.ParseKey(key.String()); err != nil || again != key {
			t.Errorf("ParseKey(%q) is not stable: %q, %v", s, again, err)
		}
	})
}
