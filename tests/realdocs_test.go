package tests

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/teammem/teammemd/api"
)

// Real Markdown: at least leastDocuments, at most mostDocuments.
const (
	leastDocuments = 1_000
	mostDocuments  = 1_200
)

// documentation collects real documents for a team directory: the Markdown
// files of the module cache, then those of the Go distribution, then, where
// both are small as on a new machine, the documentation of Go's own packages and
// of the modules' as Go renders it in Markdown.
type documentation struct {
	files  tree
	folded map[string]bool
	counts [3]int
}

func realDocuments(t *testing.T) tree {
	t.Helper()
	d := &documentation{files: make(tree), folded: make(map[string]bool)}
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE", "GOROOT").Output()
	if err != nil {
		t.Fatalf("asking go where its documents are: %v", err)
	}
	places := strings.Split(strings.TrimSpace(string(out)), "\n")
	d.markdown(places[0], 0)
	d.markdown(places[1], 1)
	d.packages("go", filepath.Join(places[1], "src"))
	d.packages("modules", places[0])
	t.Logf("%d documents: %d of the module cache, %d of the Go distribution, %d rendered from package documentation",
		len(d.files), d.counts[0], d.counts[1], d.counts[2])
	if len(d.files) < leastDocuments {
		t.Fatalf("%d real documents, want at least %d", len(d.files), leastDocuments)
	}
	return d.files
}

// add takes one document under a valid key that is near to name.
func (d *documentation) add(from int, name string, text []byte) {
	if len(d.files) == mostDocuments {
		return
	}
	segments := strings.Split(filepath.ToSlash(name), "/")
	for i, seg := range segments {
		if strings.HasPrefix(seg, ".") || strings.HasPrefix(seg, "_") || strings.ContainsAny(seg, "~#") {
			segments[i] = "dot-" + strings.Trim(seg, "._~#") // such names take no part in a sync
		}
	}
	key, err := api.ParseKey(strings.Join(segments, "/"))
	if err != nil || d.folded[key.Fold()] {
		if key, err = api.ParseKey(fmt.Sprintf("renamed/%x.md", sha256.Sum256([]byte(name)))); err != nil {
			panic(err)
		}
	}
	d.files[key.String()], d.folded[key.Fold()] = string(text), true
	d.counts[from]++
}

// markdown adds the Markdown files below dir.
func (d *documentation) markdown(dir string, from int) {
	_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && filepath.Ext(name) == ".md" {
			d.read(dir, name, from)
		}
		return nil // what cannot be read is no document of ours
	})
}

func (d *documentation) read(dir, name string, from int) {
	if text, err := os.ReadFile(name); err == nil {
		rel, _ := filepath.Rel(dir, name)
		d.add(from, rel, text)
	}
}

// packages adds the documentation of the packages below src, as files below
// prefix, until there is enough.
func (d *documentation) packages(prefix, src string) {
	_ = filepath.WalkDir(src, func(dir string, entry fs.DirEntry, err error) error {
		switch {
		case len(d.files) >= leastDocuments+100:
			return fs.SkipAll
		case err == nil && entry.Name() == "testdata":
			return fs.SkipDir
		case err == nil && entry.IsDir():
			rel, _ := filepath.Rel(src, dir)
			if text := renderPackage(dir); len(text) > 0 {
				d.add(2, filepath.Join(prefix, rel, "package.md"), text)
			}
		}
		return nil
	})
}

// renderPackage is a package's documentation in Markdown, nothing where dir has
// no package.
func renderPackage(dir string) []byte {
	set := token.NewFileSet()
	names, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil || strings.HasSuffix(name, "_test.go") || len(files) > 0 && file.Name.Name != files[0].Name.Name {
			continue
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil
	}
	pkg, err := doc.NewFromFiles(set, files, "go/"+filepath.Base(dir))
	if err != nil {
		return nil
	}
	var text bytes.Buffer
	section := func(title, comment string) {
		if comment != "" {
			fmt.Fprintf(&text, "## %s\n\n%s\n", title, pkg.Markdown(comment))
		}
	}
	section("package "+pkg.Name, pkg.Doc)
	for _, f := range pkg.Funcs {
		section("func "+f.Name, f.Doc)
	}
	for _, typ := range pkg.Types {
		section("type "+typ.Name, typ.Doc)
		for _, f := range slices.Concat(typ.Funcs, typ.Methods) {
			section("func "+f.Name, f.Doc)
		}
	}
	return text.Bytes()
}

// TestRealDocuments carries real Markdown from one machine to another, byte for
// byte, then edits on both at once, and finds every text again.
func TestRealDocuments(t *testing.T) {
	t.Parallel()
	const repo = "acme/handbook"
	documents := realDocuments(t)
	if testing.Short() {
		for _, key := range keysOf(documents)[:len(documents)-100] {
			delete(documents, key)
		}
	}
	server := newCompanion(t)
	a, b := newFastMachine(t, "ada"), newFastMachine(t, "ben")
	a.enroll(server.url, server.token("ada", repo, "writer"), repo)
	b.enroll(server.url, server.token("ben", repo, "writer"), repo)
	for key, text := range documents {
		a.write(key, text)
	}

	first := decode[report](t, a.run("sync", "--json").stdout)
	kept := checkHeld(t, a, documents, first)
	if first.Sent != len(kept) || first.Pending != 0 {
		t.Errorf("sent %d and %d pending, want %d and 0", first.Sent, first.Pending, len(kept))
	}
	if got := b.sync(0); got.Received != len(kept) {
		t.Errorf("received %d, want %d", got.Received, len(kept))
	}
	sameTree(t, "what was written and what arrived", kept, treeOf(t, b.team))
	sameTree(t, "the sender's own files", documents, treeOf(t, a.team))
	full, _ := server.get(server.token("reader", repo, "reader"), repo)
	sameTree(t, "what was written and what the server has", kept, full.Content.Entries)

	editBoth(t, server, a, b, kept)
}

// checkHeld sees that everything held is listed with a true reason, and returns
// the documents that travel.
func checkHeld(t *testing.T, m *machine, documents tree, r report) tree {
	t.Helper()
	kept := documents.without()
	byReason := make(map[string]int)
	for _, h := range r.Held {
		text, there := documents[h.Key]
		if !there {
			t.Errorf("%q is held, which was not written", h.Key)
		}
		large, binary := len(text) > api.MaxEntryBytes, !utf8.ValidString(text) || strings.ContainsRune(text, 0)
		switch h.Reason {
		case "too-large":
			if !large {
				t.Errorf("%s is held as too large with %d bytes", h.Key, len(text))
			}
		case "not-text":
			if !binary {
				t.Errorf("%s is held as not text", h.Key)
			}
		case "secret":
			if h.Rule == "" || h.Tier == "" || h.Line < 1 || h.Column < 1 || h.Fix == "" {
				t.Errorf("a finding without rule, tier, place or fix: %+v", h)
			}
			t.Logf("held: %s:%d:%d %s", h.Key, h.Line, h.Column, h.Rule)
		default:
			t.Errorf("%s is held: %s", h.Key, h.Reason)
		}
		byReason[h.Reason]++
		delete(kept, h.Key)
	}
	for key, text := range kept {
		if len(text) > api.MaxEntryBytes || !utf8.ValidString(text) {
			t.Errorf("%s with %d bytes is not held", key, len(text))
		}
	}
	t.Logf("held: %v", byReason)
	scan := decode[struct{ Findings []struct{ File, Tier string } }](t, m.run("scan", "--json", m.team).stdout)
	found := make(map[string]bool)
	for _, f := range scan.Findings {
		if strings.HasPrefix(f.Tier, "block") {
			found[f.File] = true
		}
	}
	if len(found) != byReason["secret"] {
		t.Errorf("scan finds secrets in %d files, sync holds %d", len(found), byReason["secret"])
	}
	return kept
}

// editBoth makes random edits on both machines, syncs them at the same moment,
// and accounts for every text at the end.
func editBoth(t *testing.T, server *companion, a, b *machine, start tree) {
	t.Helper()
	const rounds, edits, seed = 5, 5, 20260101
	random := rand.New(rand.NewPCG(seed, 1))
	keys := make([]string, 0, len(start))
	for key := range start {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	written := make(map[string][]string) // all texts that a key was given
	for round := range rounds {
		draw := random.Perm(len(keys)) // no key twice in a round, but the shared one
		for i := range edits {
			for _, m := range []*machine{a, b} {
				key := keys[draw[0]] // one key of each round is edited on both
				switch {
				case i > 0 && i < edits-1:
					key, draw = keys[draw[1]], slices.Delete(draw, 1, 2)
				case i > 0:
					key = fmt.Sprintf("new/%s-%d.md", filepath.Base(m.home), round)
				}
				text, _ := m.read(key)
				text += fmt.Sprintf("\nEdit %d of round %d on %s.\n", i, round, filepath.Base(m.home))
				m.write(key, text)
				written[key] = append(written[key], text)
			}
		}
		var both sync.WaitGroup
		for _, m := range []*machine{a, b} {
			both.Go(func() { m.run("sync", "--quiet") })
		}
		both.Wait()
	}
	for range 2 {
		a.run("sync", "--quiet")
		b.run("sync", "--quiet")
	}
	account(t, server, "acme/handbook", written, a, b)
	heldHere := treeOf(t, a.team).without(keysOf(treeOf(t, b.team))...)
	sameTree(t, "both machines after all edits", treeOf(t, a.team).without(keysOf(heldHere)...), treeOf(t, b.team))
	for _, h := range a.sync(a.run("sync", "--quiet").code).Held {
		delete(heldHere, h.Key)
	}
	if len(heldHere) > 0 {
		t.Errorf("not held, and only on one machine: %q", keysOf(heldHere))
	}
}
