package auth_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
)

func TestPatternMatch(t *testing.T) {
	tests := []struct {
		pattern  string
		yes, not []string
	}{
		{"*", []string{"acme/api", "git.example.org/a/b/c"}, nil},
		{"**", []string{"acme/api", "git.example.org/a/b/c"}, nil},
		{"acme/api", []string{"acme/api", "ACME/Api"}, []string{"acme/api2", "acme/apis/x", "other/api"}},
		{"ACME/*", []string{"acme/api", "acme/web"}, []string{"acme-evil/api", "acme/a/b", "x/acme/api"}},
		{"acme/api-*", []string{"acme/api-", "acme/api-go"}, []string{"acme/api", "acme/xapi-go"}},
		{"*/api", []string{"acme/api", "other/api"}, []string{"acme/web", "a/b/api"}},
		{"host.org/**", []string{"host.org/a", "host.org/a/b/c"}, []string{"evil.org/host.org/a"}},
		{"**/api", []string{"acme/api", "host.org/a/b/api"}, []string{"acme/api/x"}},
		{"host.org/**/docs/**/x", []string{"host.org/docs/x", "host.org/a/docs/b/docs/c/x"}, []string{"host.org/docs", "host.org/a/x"}},
		{"a/*b*c", []string{"a/bc", "a/xbyc", "a/bbcc"}, []string{"a/cb", "a/b"}},
		{"acme/a[b]", nil, nil},
	}
	for _, tt := range tests {
		p, err := auth.ParsePattern(tt.pattern)
		if tt.yes == nil && tt.not == nil {
			if !errors.Is(err, api.ErrUsage) {
				t.Errorf("ParsePattern(%q) = %v, want a usage error", tt.pattern, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("ParsePattern(%q): %v", tt.pattern, err)
			continue
		}
		for _, name := range tt.yes {
			if !p.Match(repo(t, name)) {
				t.Errorf("%q does not match %q", tt.pattern, name)
			}
		}
		for _, name := range tt.not {
			if p.Match(repo(t, name)) {
				t.Errorf("%q matches %q", tt.pattern, name)
			}
		}
	}
}

func TestPatternRefused(t *testing.T) {
	for _, s := range []string{
		"", "acme", "acme/", "/api", "acme//api", "acme/../x", "./x", "acme/a**", "a**/b", "***", "acme/a b",
		"acme/?", `acme\api`, "acme/[a]", "acme/a\x00", strings.Repeat("a", 600) + "/b",
	} {
		if _, err := auth.ParsePattern(s); !errors.Is(err, api.ErrUsage) {
			t.Errorf("ParsePattern(%q) = %v, want a usage error", s, err)
		}
	}
	if (auth.Pattern{}).Match(repo(t, "acme/api")) {
		t.Error("the zero pattern matches something")
	}
	all, err := auth.ParsePattern("*")
	if err != nil || all.Match(api.Repo{}) {
		t.Errorf("the pattern of all matches no repo at all (%v)", err)
	}
}

// A pattern made from a repo's name by replacing parts with stars matches it,
// and no pattern reaches into a name that merely begins like it.
func TestPatternFromName(t *testing.T) {
	seg := rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,8}[a-z0-9]`)
	rapid.Check(t, func(t *rapid.T) {
		segments := rapid.SliceOfN(seg, 2, 6).Draw(t, "segments")
		name, err := api.ParseRepo(strings.Join(segments, "/"))
		if err != nil {
			t.Skip("not a repo")
		}
		pattern := make([]string, 0, len(segments))
		for _, s := range segments {
			switch rapid.IntRange(0, 4).Draw(t, "how") {
			case 0:
				pattern = append(pattern, "*")
			case 1:
				pattern = append(pattern, s[:1]+"*")
			case 2:
				pattern = append(pattern, "**")
			case 3:
				pattern = append(pattern, s, "**")
			default:
				pattern = append(pattern, s)
			}
		}
		p, err := auth.ParsePattern(strings.Join(pattern, "/"))
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		if !p.Match(name) {
			t.Fatalf("%q does not match %q", p, name)
		}
	})
}

func FuzzParsePattern(f *testing.F) {
	for _, s := range []string{"*", "acme/*", "a/**/b", "**/**", "a/*b*c*d*e"} {
		f.Add(s, "acme/api")
	}
	f.Fuzz(func(t *testing.T, s, name string) {
		p, err := auth.ParsePattern(s)
		if err != nil {
			return
		}
		again, err := auth.ParsePattern(p.String())
		if err != nil || again.String() != p.String() {
			t.Fatalf("%q reads back as %q, %v", p, again, err)
		}
		if r, err := api.ParseRepo(name); err == nil {
			p.Match(r)
		}
	})
}

func repo(t *testing.T, s string) api.Repo {
	t.Helper()
	r, err := api.ParseRepo(s)
	if err != nil {
		t.Fatalf("ParseRepo(%q): %v", s, err)
	}
	return r
}
