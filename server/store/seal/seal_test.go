package seal_test

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/teammem/teammemd/server/store/seal"
)

// keyText is a line of a key file; no real key begins so.
func keyText(name string, filler byte) string {
	return name + " " + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(filler), seal.KeyBytes)))
}

func parse(t *testing.T, lines ...string) *seal.Keys {
	t.Helper()
	keys, err := seal.Parse([]byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func newKey(t *testing.T, keys *seal.Keys, repo, number int64) (*seal.DataKey, seal.Wrapped) {
	t.Helper()
	key, wrapped, err := keys.NewDataKey(repo, number)
	if err != nil {
		t.Fatal(err)
	}
	return key, wrapped
}

func TestContents(t *testing.T) {
	t.Parallel()
	keys := parse(t, keyText("a", 'a'))
	key, wrapped := newKey(t, keys, 7, 1)
	for _, text := range []string{"", "x", strings.Repeat("a longer text ", 5000)} {
		sum := sha256.Sum256([]byte(text))
		sealed := key.Seal(sum, text)
		if len(sealed) != len(text)+seal.Overhead || len(text) > 5 && strings.Contains(string(sealed), text[:5]) {
			t.Errorf("%d bytes became %d, or show", len(text), len(sealed))
		}
		if again := key.Seal(sum, text); string(again) == string(sealed) {
			t.Error("sealed twice it is the same: the nonce is not new")
		}
		again, err := keys.Unwrap(7, 1, wrapped)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := again.Open(sum, sealed); err != nil || got != text {
			t.Errorf("opened: %d bytes of %d, %v", len(got), len(text), err)
		}
	}
}

// TestDamage changes each byte of what is sealed, and each fact that it is bound
// to.
func TestDamage(t *testing.T) {
	t.Parallel()
	keys := parse(t, keyText("a", 'a'), keyText("b", 'b'))
	key, wrapped := newKey(t, keys, 7, 1)
	sum := sha256.Sum256([]byte("text"))
	open := func(sealed []byte) error { _, err := key.Open(sum, sealed); return err }
	for i := range key.Seal(sum, "text") {
		sealed := key.Seal(sum, "text")
		sealed[i] ^= 1
		if err := open(sealed); !errors.Is(err, seal.ErrDamaged) {
			t.Errorf("byte %d changed: %v", i, err)
		}
		if err := open(key.Seal(sum, "text")[:i]); !errors.Is(err, seal.ErrDamaged) {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
	if _, err := key.Open(sha256.Sum256([]byte("other")), key.Seal(sum, "text")); !errors.Is(err, seal.ErrDamaged) {
		t.Errorf("in another row: %v", err)
	}
	for i := range wrapped.Sealed {
		changed := seal.Wrapped{Master: wrapped.Master, Sealed: append([]byte(nil), wrapped.Sealed...)}
		changed.Sealed[i] ^= 1
		if _, err := keys.Unwrap(7, 1, changed); !errors.Is(err, seal.ErrDamaged) {
			t.Errorf("byte %d of a data key changed: %v", i, err)
		}
	}
	for what, unwrap := range map[string]func() (*seal.DataKey, error){
		"of another repo":      func() (*seal.DataKey, error) { return keys.Unwrap(8, 1, wrapped) },
		"under another number": func() (*seal.DataKey, error) { return keys.Unwrap(7, 2, wrapped) },
		"under the other key": func() (*seal.DataKey, error) {
			return keys.Unwrap(7, 1, seal.Wrapped{Master: "b", Sealed: wrapped.Sealed})
		},
		"with nothing in it":      func() (*seal.DataKey, error) { return keys.Unwrap(7, 1, seal.Wrapped{Master: "a"}) },
		"under a name of the old": func() (*seal.DataKey, error) { return parse(t, keyText("a", 'b')).Unwrap(7, 1, wrapped) },
	} {
		if _, err := unwrap(); !errors.Is(err, seal.ErrDamaged) {
			t.Errorf("a data key %s: %v", what, err)
		}
	}
	// What was swapped between two data keys of one material would still differ.
	other, _ := newKey(t, keys, 8, 1)
	if _, err := other.Open(sum, key.Seal(sum, "text")); !errors.Is(err, seal.ErrDamaged) {
		t.Errorf("in another repo: %v", err)
	}
}

func TestMasterKeys(t *testing.T) {
	t.Parallel()
	old := parse(t, "# the first", "", keyText("a", 'a'))
	_, wrapped := newKey(t, old, 7, 1)
	both := parse(t, keyText("b", 'b'), "  "+keyText("a", 'a')+"\r")
	if both.First() != "b" || old.First() != "a" || (*seal.Keys)(nil).First() != "" {
		t.Error("the first line is not the one that wraps")
	}
	again, err := both.Rewrap(7, 1, wrapped)
	if err != nil || again.Master != "b" {
		t.Fatalf("%+v, %v", again.Master, err)
	}
	if _, err := parse(t, keyText("b", 'b')).Unwrap(7, 1, again); err != nil {
		t.Error(err)
	}
	for _, keys := range []*seal.Keys{old, nil} {
		if _, err := keys.Unwrap(7, 1, again); !errors.Is(err, seal.ErrNoKey) || !strings.Contains(err.Error(), `"b"`) {
			t.Errorf("without its master key: %v", err)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	keys, sum := parse(t, keyText("a", 'a')), sha256.Sum256([]byte("text"))
	if text, err := keys.Plain(sum, "text"); err != nil || text != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := keys.Plain(sum, "other"); !errors.Is(err, seal.ErrDamaged) || text != "" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := (*seal.Keys)(nil).Plain(sum, "other"); err != nil {
		t.Errorf("without keys: %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("s", seal.KeyBytes+1)
	for name, text := range map[string]string{
		"nothing":       "",
		"comments":      "# nothing\n\n",
		"no name":       strings.Fields(keyText("a", 'a'))[1],
		"three fields":  keyText("a", 'a') + " x",
		"a bad name":    keyText("a/b", 'a'),
		"no base64":     "a " + secret,
		"a short key":   "a " + base64.StdEncoding.EncodeToString([]byte(secret[:16])),
		"a long key":    "a " + base64.StdEncoding.EncodeToString([]byte(secret)),
		"a name twice":  keyText("a", 'a') + "\n" + keyText("a", 'b'),
		"a broken line": keyText("a", 'a') + "\n" + secret,
	} {
		_, err := seal.Parse([]byte(text))
		if err == nil {
			t.Errorf("%s is taken for keys", name)
		} else if strings.Contains(err.Error(), "sss") || strings.Contains(err.Error(), "YWFh") {
			t.Errorf("%s: the error quotes a key", name)
		}
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "keys")
	name, err := seal.NewFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, err := seal.Load(path)
	if err != nil || first.First() != name {
		t.Fatalf("%q, %v", name, err)
	}
	_, wrapped := newKey(t, first, 1, 1)
	if _, err := seal.NewFile(path); err == nil || !strings.Contains(err.Error(), "never written over") {
		t.Errorf("made over another: %v", err)
	}
	added, err := seal.AddToFile(path)
	if err != nil {
		t.Fatal(err)
	}
	both, err := seal.Load(path)
	if err != nil || both.First() != added || added == name {
		t.Fatalf("first is %q, want %q, %v", both.First(), added, err)
	}
	if _, err := both.Unwrap(1, 1, wrapped); err != nil {
		t.Errorf("the key that was there is gone: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	for what, make := range map[string]func(string) (string, error){"new": seal.NewFile, "add": seal.AddToFile} {
		if _, err := make(filepath.Join(dir, "no", "keys")); err == nil {
			t.Errorf("%s in a directory that is not there", what)
		}
	}
}

// TestFileModes: 0600, and 0640 where it is root's.
func TestFileModes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: modes say nothing on Windows")
	}
	root := os.Getuid() == 0
	for mode, want := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o440: root, 0o640: root, 0o660: false, 0o644: false, 0o604: false, 0o602: false, 0o610: false} {
		path := filepath.Join(t.TempDir(), "keys")
		if _, err := seal.NewFile(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := seal.Load(path)
		if (err == nil) != want {
			t.Errorf("mode %o: %v", mode, err)
		}
		if err != nil && !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %o: the error does not say what to do: %v", mode, err)
		}
	}
	if _, err := seal.Load(t.TempDir()); err == nil {
		t.Error("a directory is a key file")
	}
	if _, err := seal.Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("nothing is a key file")
	}
}

func TestSpent(t *testing.T) {
	t.Parallel()
	// The bound of NIST SP 800-38D, 8.3, for as many texts as a version can have.
	const entries = 20_000
	if seal.MaxVersions*entries >= 1<<32 {
		t.Error("a data key may seal more often than random nonces allow")
	}
	for _, c := range []struct {
		version uint64
		want    bool
	}{{5, false}, {5 + seal.MaxVersions - 1, false}, {5 + seal.MaxVersions, true}} {
		if seal.Spent(5, c.version) != c.want {
			t.Errorf("since 5, at %d: %t", c.version, !c.want)
		}
	}
}

func TestRing(t *testing.T) {
	t.Parallel()
	keys := parse(t, keyText("a", 'a'))
	var r seal.Ring
	key, _ := newKey(t, keys, 1, 1)
	for repo := range int64(10_100) {
		r.SetNewest(repo, seal.Newest{DataKey: key, Since: 1})
	}
	held := 0
	for repo := range int64(10_100) {
		if r.Get(repo, 1) != nil {
			held++
		}
	}
	if held != 10_000 {
		t.Errorf("%d keys are held", held)
	}
	r.SetNewest(1, seal.Newest{DataKey: key, Since: 3})
	if got := r.Newest(1); got.Since != 3 || got.DataKey != key {
		t.Errorf("%+v", got)
	}
	if r.Doubt(1); r.Newest(1).DataKey != nil || r.Get(1, 1) == nil {
		t.Error("doubt takes away more or less than which is newest")
	}
	if r.Forget(); r.Get(1, 1) != nil {
		t.Error("nothing was forgotten")
	}
}

func BenchmarkContent(b *testing.B) {
	keys, err := seal.Parse([]byte(keyText("a", 'a')))
	if err != nil {
		b.Fatal(err)
	}
	key, _, err := keys.NewDataKey(1, 1)
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("memory text, ", 316)[:4096]
	sum := sha256.Sum256([]byte(text))
	b.Run(fmt.Sprint("seal ", len(text)), func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			key.Seal(sum, text)
		}
	})
	sealed := key.Seal(sum, text)
	copied := make([]byte, len(sealed))
	b.Run(fmt.Sprint("open ", len(text)), func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			copy(copied, sealed)
			if _, err := key.Open(sum, copied); err != nil {
				b.Fatal(err)
			}
		}
	})
}
