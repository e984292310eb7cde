package gitrepo_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/internal/gitrepo"
)

// TestAllSpellingsAreOneRepo draws a host and a path, writes them in every form
// that git takes, and expects one repo.
func TestAllSpellingsAreOneRepo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.SampledFrom([]string{"github.com", "gitlab.com", "git.example.com", "codeberg.org"}).Draw(t, "host")
		segments := 2
		if host != "github.com" {
			segments = rapid.IntRange(2, 5).Draw(t, "segments")
		}
		word := rapid.StringMatching(`[a-zA-Z0-9][a-zA-Z0-9_.-]{0,10}[a-zA-Z0-9]`).Filter(func(s string) bool {
			return !strings.HasSuffix(strings.ToLower(s), ".git") && !strings.EqualFold(s, "scm")
		})
		path := strings.Join(rapid.SliceOfN(word, segments, segments).Draw(t, "path"), "/")
		want := strings.ToLower(host + "/" + path)
		if host == "github.com" {
			want = strings.ToLower(path)
		}
		secret := rapid.StringMatching(`[a-zA-Z0-9_%.-]{12,30}`).Draw(t, "secret")
		for _, url := range []string{
			"git@" + host + ":" + path, "git@" + host + ":" + path + ".git", "git@" + host + ":/" + path + ".git/", host + ":" + path,
			"ssh://git@" + host + "/" + path + ".git", "ssh://git@" + host + ":2222/" + path, "ssh://" + host + "/" + path + "/",
			"git+ssh://git@" + strings.ToUpper(host) + "/" + path, "git://" + host + "/" + path + ".git", "http://" + host + "/" + path,
			"https://" + host + "/" + path + ".git/", "https://" + host + ":8443/" + path, "https://" + secret + "@" + host + "/" + path,
			"https://ada:" + secret + "@" + host + "/" + path + ".git", "https://" + host + "/" + path + "?token=" + secret,
			"https://" + host + "//" + strings.ReplaceAll(path, "/", "//") + "#" + secret,
		} {
			repo, err := gitrepo.FromURL(url)
			if err != nil || repo.String() != want {
				t.Errorf("%q: got %q, %v; want %q", url, repo, err, want)
			}
		}
	})
}
