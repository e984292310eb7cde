package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// rule is one row of the layout: what the production files of a package may
// import of ours. Test files may import what they like.
type rule struct {
	may      []string // directories of packages of ours
	any      bool     // every package of ours that is not testOnly
	testOnly bool     // imported by tests alone
	never    []string // packages of others, with everything below them
}

// layout has a row for every package. A package without a row, or an import
// that is in no row, is a change of the design: make it on purpose, here.
var layout = map[string]rule{
	"api":             {},
	"memory":          {may: []string{"api"}},
	"scanner":         {may: []string{"scanner/samples", "scanner/rules", "scanner/match", "scanner/view", "scanner/cputime"}},
	"scanner/rules":   {may: []string{"scanner/samples", "scanner/pattern"}},
	"scanner/match":   {may: []string{"scanner/rules", "scanner/pattern"}},
	"scanner/pattern": {},
	"scanner/view":    {},
	"scanner/samples": {},
	"scanner/cputime": {},
	"scanner/corpus":  {may: []string{"scanner/samples"}, testOnly: true},
	"watcher":         {may: []string{"internal/planted"}},

	"sync":          {may: []string{"api", "memory", "internal/planted"}, never: []string{"os", "net/http", "syscall", "golang.org/x/sys"}},
	"sync/remote":   {may: []string{"api", "internal/planted"}},
	"sync/memdir":   {may: []string{"api", "internal/atomicfile", "internal/planted"}},
	"sync/statedir": {may: []string{"api", "internal/atomicfile", "internal/planted"}},
	"sync/simtest":  {may: []string{"api", "sync", "internal/planted"}, testOnly: true, never: []string{"os", "net/http"}},

	"server":                              {may: []string{"api", "server/core", "server/clients", "server/auth", "server/auth/access", "server/openapi"}},
	"server/clients":                      {may: []string{"api", "server/store"}},
	"server/core":                         {may: []string{"api", "server/store", "server/search"}},
	"server/search":                       {may: []string{"api"}, never: []string{"os", "net/http", "database/sql"}},
	"server/auth":                         {may: []string{"api", "server/store"}},
	"server/auth/oauth":                   {may: []string{"api", "server/auth", "server/auth/upstream", "server/store"}},
	"server/auth/upstream":                {may: []string{"server/store", "internal/atomicfile"}},
	"server/openapi":                      {may: []string{"api"}},
	"server/metrics":                      {may: []string{"api"}},
	"server/export":                       {may: []string{"api", "server/store"}},
	"server/auth/upstream/upstreamtest":   {testOnly: true},
	"server/auth/access":                  {may: []string{"api", "server/auth", "server/auth/forge", "server/store"}},
	"server/auth/access/accesstest":       {may: []string{"api", "server/auth/access", "server/store"}, testOnly: true},
	"server/auth/forge":                   {may: []string{"api"}},
	"server/auth/forge/forgetest":         {testOnly: true},
	"server/store":                        {may: []string{"api"}},
	"server/store/seal":                   {may: []string{"internal/atomicfile"}},
	"server/store/storetest":              {may: []string{"api", "server/store", "server/store/seal"}, testOnly: true},
	"server/store/sqlitestore/sqlitetest": {may: []string{"server/store", "server/store/sqlitestore"}, testOnly: true},
	"server/store/pgstore":                {may: []string{"api", "server/store", "server/store/seal"}},
	"server/store/pgstore/pgtest":         {testOnly: true},
	"server/store/sqlitestore":            {may: []string{"api", "server/store", "server/store/seal", "internal/atomicfile"}},

	"agents/claude": {may: []string{"api", "memory", "sync/remote", "sync/memdir", "internal/control"}},

	"internal/atomicfile": {},
	"internal/nobody":     {testOnly: true},
	"internal/nstest":     {testOnly: true},
	"internal/planted":    {},
	"internal/gitrepo":    {may: []string{"api"}},
	"internal/config":     {may: []string{"api"}},
	"internal/signin":     {may: []string{"api", "internal/config"}},
	"internal/control":    {may: []string{"api"}},
	"internal/bench":      {may: []string{"api", "internal/control"}},

	"cmd/teammemd": {any: true},
	"etc":          {},
	"etc/launchd":  {},
	"systemd":      {},

	"tests":               {any: true, testOnly: true},
	"tests/chaos":         {testOnly: true},
	"tests/gitea":         {testOnly: true},
	"tests/killat":        {testOnly: true},
	"tests/scanprecision": {may: []string{"scanner", "scanner/samples", "scanner/cputime"}, testOnly: true},
	"tests/skipcheck":     {testOnly: true},
	"tests/teeth":         {may: []string{"internal/planted"}, testOnly: true},
}

// owners lists libraries that stand behind an interface of ours: their paths,
// and the only directories whose production files may import them.
var owners = map[string][]string{
	"github.com/coreos/go-oidc":       {"server/auth/upstream"},
	"github.com/fsnotify/fsnotify":    {"watcher"},
	"github.com/jackc/pgx":            {"server/store/pgstore", "server/store/pgstore/pgtest"},
	"github.com/pressly/goose":        {"server/store/pgstore"},
	"github.com/go-git/go-git":        {"internal/gitrepo", "server/export"},
	"github.com/prometheus":           {"server/metrics"},
	"github.com/spf13/cobra":          {"cmd/teammemd"},
	"github.com/zalando/go-keyring":   {"internal/signin"},
	"github.com/zricethezav/gitleaks": {"scanner/rules", "tests/scanprecision"}, // the last measures it beside ours
	"zombiezen.com/go/sqlite":         {"server/store/sqlitestore"},
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, complaint := range forbidden(sources(t)) {
		t.Error(complaint)
	}
}

// forbidden names every file that leaves the layout and every edge that the
// layout does not have.
func forbidden(files []source) []string {
	var complaints []string
	for _, file := range files {
		row, known := layout[file.dir()]
		if !known {
			complaints = append(complaints, fmt.Sprintf("%s: package %q is not in the layout", file.file, file.dir()))
			continue
		}
		if file.isTest() {
			continue
		}
		for _, imported := range file.imports {
			if why := refuse(file.dir(), row, imported); why != "" {
				complaints = append(complaints, fmt.Sprintf("%s: %s", file.file, why))
			}
		}
	}
	return complaints
}

// refuse says why the package in dir may not import imported, "" where it may.
func refuse(dir string, row rule, imported string) string {
	to, ours := strings.CutPrefix(imported, module+"/")
	switch {
	case imported == module:
		return "the top of the repository is no package to import"
	case ours && layout[to].testOnly && !row.testOnly:
		return fmt.Sprintf("%s -> %s: the latter is for tests alone", dir, to)
	case ours && !row.any && !slices.Contains(row.may, to):
		return fmt.Sprintf("%s -> %s is no edge of the layout", dir, to)
	case ours:
		return ""
	}
	for _, never := range row.never {
		if within(imported, never) {
			return fmt.Sprintf("%s -> %s: never, it reaches this through an interface", dir, imported)
		}
	}
	for library, dirs := range owners {
		if within(imported, library) && !slices.Contains(dirs, dir) {
			return fmt.Sprintf("%s -> %s: only %s may", dir, imported, strings.Join(dirs, ", "))
		}
	}
	return ""
}

// within reports whether the import path is top or below it.
func within(imported, top string) bool {
	return imported == top || strings.HasPrefix(imported, top+"/")
}

func TestLayoutNamesItself(t *testing.T) {
	t.Parallel()
	for dir, row := range layout {
		for _, to := range row.may {
			if _, known := layout[to]; !known {
				t.Errorf("%s may import %q, which is not in the layout", dir, to)
			}
		}
	}
}

// TestForbiddenEdges proves that the check can fail: each file breaks one rule.
func TestForbiddenEdges(t *testing.T) {
	t.Parallel()
	tests := []struct{ file, imported string }{
		{"api/x.go", module + "/internal/atomicfile"},
		{"scanner/x.go", module + "/api"},
		{"watcher/x_windows.go", module + "/api"},
		{"sync/x.go", module + "/scanner"},
		{"sync/x.go", module + "/watcher"},
		{"sync/x.go", module + "/sync/remote"},
		{"sync/x.go", module + "/sync/memdir"},
		{"sync/x.go", module + "/internal/atomicfile"},
		{"sync/x.go", "os"},
		{"sync/x.go", "os/exec"},
		{"sync/x.go", "net/http"},
		{"sync/x.go", "net/http/httptest"},
		{"sync/remote/x.go", module + "/sync"},
		{"sync/remote/x.go", module + "/internal/atomicfile"},
		{"sync/memdir/x.go", module + "/sync"},
		{"sync/statedir/x.go", module + "/sync/memdir"},
		{"server/x.go", module + "/server/store"},
		{"server/x.go", module + "/server/metrics"},
		{"server/core/x.go", "github.com/prometheus/client_golang/prometheus"},
		{"server/metrics/x.go", module + "/server/core"},
		{"server/x.go", module + "/server/store/sqlitestore"},
		{"server/core/x.go", module + "/scanner"},
		{"server/core/x.go", module + "/server/auth"},
		{"server/auth/x.go", module + "/server/core"},
		{"server/search/x.go", module + "/server/store"},
		{"server/search/x.go", "os"},
		{"server/store/x.go", module + "/server/store/sqlitestore"},
		{"server/store/sqlitestore/x.go", module + "/server/core"},
		{"internal/config/x.go", module + "/internal/gitrepo"},
		{"internal/bench/x.go", module + "/internal/config"},
		{"internal/bench/x.go", module + "/sync/remote"},
		{"internal/bench/x.go", "github.com/spf13/cobra"},
		{"agents/claude/x.go", module + "/internal/gitrepo"},
		{"cmd/teammemd/x.go", module + "/server/store/storetest"},
		{"cmd/teammemd/x.go", module + "/sync/simtest"},
		{"cmd/teammemd/x.go", module + "/tests"},
		{"etc/x.go", module + "/api"},
		{"cmd/teammemd/x.go", module},
		{"cmd/teammemd/x.go", "github.com/zricethezav/gitleaks/v8/detect"},
		{"server/x.go", "zombiezen.com/go/sqlite/sqlitex"},
		{"internal/util/x.go", "fmt"},
		{"internal/util/x_test.go", "fmt"},
		{"helpers/x.go", "fmt"},
	}
	for _, test := range tests {
		got := forbidden([]source{{file: test.file, imports: []string{test.imported}}})
		if len(got) != 1 {
			t.Errorf("%s importing %s: %d complaints %q, want 1", test.file, test.imported, len(got), got)
			continue
		}
		if !strings.HasPrefix(got[0], test.file+": ") {
			t.Errorf("complaint %q does not name %s", got[0], test.file)
		}
	}
}

func TestAllowedEdges(t *testing.T) {
	t.Parallel()
	tests := []struct{ file, imported string }{
		{"api/x.go", "fmt"},
		{"sync/x.go", module + "/api"},
		{"sync/x_test.go", module + "/sync/remote"},
		{"sync/x_test.go", "os"},
		{"sync/x.go", "osmosis"},
		{"sync/simtest/x.go", module + "/sync"},
		{"server/store/sqlitestore/x.go", "zombiezen.com/go/sqlite"},
		{"cmd/teammemd/x.go", module + "/sync/memdir"},
		{"cmd/teammemd/x.go", module + "/server/store/sqlitestore"},
		{"scanner/rules/x.go", "github.com/zricethezav/gitleaks/v8/config"},
	}
	for _, test := range tests {
		if got := forbidden([]source{{file: test.file, imports: []string{test.imported}}}); len(got) != 0 {
			t.Errorf("%s importing %s: %q, want no complaint", test.file, test.imported, got)
		}
	}
}
