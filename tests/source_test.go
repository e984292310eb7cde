package tests

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// module is the path that every import of ours starts with.
const module = "github.com/teammem/teammemd"

// root is the top of the repository, seen from this package's directory.
const root = ".."

// source is what the layout and style rules look at in one Go file, build tags
// ignored: a file for another system obeys the same rules.
type source struct {
	file    string   // slash-separated, from the top of the repository
	pkg     string   // the name in its package clause
	imports []string // import paths as written
	sleeps  bool     // calls time.Sleep
	lines   int
}

// dir is the directory of the file, "" for the top.
func (s source) dir() string {
	if dir := path.Dir(s.file); dir != "." {
		return dir
	}
	return ""
}

func (s source) isTest() bool { return strings.HasSuffix(s.file, "_test.go") }

// sources parses every Go file of the repository.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); base == "testdata" || name != root && strings.HasPrefix(base, ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		all = append(all, parse(t, filepath.ToSlash(rel), text))
		return nil
	})
	if err != nil {
		t.Fatalf("reading the sources: %v", err)
	}
	if len(all) < 30 {
		t.Fatalf("found %d Go files: not looking at the repository", len(all))
	}
	return all
}

func parse(t *testing.T, file string, text []byte) source {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("parsing %s: %v", file, err)
	}
	s := source{file: file, pkg: tree.Name.Name, lines: bytes.Count(text, []byte("\n"))}
	for _, spec := range tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("parsing %s: import %s: %v", file, spec.Path.Value, err)
		}
		s.imports = append(s.imports, imported)
	}
	ast.Inspect(tree, func(node ast.Node) bool {
		if sel, ok := node.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" {
				s.sleeps = true
			}
		}
		return true
	})
	return s
}

// read returns a file of the repository.
func read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
