package memdir_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/memdir"
	"github.com/teammem/teammemd/sync/statedir"
)

// benchTree makes a tree of n files of about 2 KB, 50 in a directory.
func benchTree(b *testing.B, n int) *memdir.Tree {
	b.Helper()
	root := filepath.Join(b.TempDir(), "team")
	body := strings.Repeat("what one person's agent learns, all agents know\n", 42)
	for i := range n {
		path := filepath.Join(root, fmt.Sprintf("topic-%03d", i/50), fmt.Sprintf("note-%05d.md", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "%d %s", i, body), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	state, err := statedir.Open(filepath.Join(b.TempDir(), "state"))
	if err != nil {
		b.Fatal(err)
	}
	tree, err := memdir.Open(memdir.Options{
		Root: root, Staging: state.Staging(), Save: state.Save,
		Clock: func() time.Time { return time.Now().Add(time.Minute) },
	})
	if err != nil {
		b.Fatal(err)
	}
	return tree
}

func BenchmarkSnapshot(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		for _, how := range []struct {
			name string
			api.Reading
		}{{"full", api.Reading{Full: true}}, {"cached", api.Reading{}}} {
			b.Run(fmt.Sprintf("%s/%d", how.name, n), func(b *testing.B) {
				tree := benchTree(b, n)
				for range 2 {
					if _, err := tree.Snapshot(b.Context(), how.Reading); err != nil {
						b.Fatal(err)
					}
				}
				for b.Loop() {
					snap, err := tree.Snapshot(b.Context(), how.Reading)
					if err != nil || len(snap.Files) != n {
						b.Fatalf("%d files, %v", len(snap.Files), err)
					}
				}
			})
		}
	}
}

func BenchmarkPlace(b *testing.B) {
	for _, n := range []int{1, 1_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			tree := benchTree(b, 1)
			placements := make([]api.Placement, n)
			for round := 0; b.Loop(); round++ {
				for i := range placements {
					content := fmt.Sprintf("round %d, entry %d", round, i)
					old := placements[i].Sum
					placements[i] = api.Placement{
						Key: key(b, fmt.Sprintf("placed-%d/%d.md", i/50, i)), Content: content, Sum: api.SumString(content),
						Expect: old, Known: []api.Checksum{old},
					}
				}
				for _, placed := range tree.Place(b.Context(), placements) {
					if placed.Err != nil {
						b.Fatal(placed.Err)
					}
				}
			}
		})
	}
}

// BenchmarkPersist makes 1,000 files durable that somebody has just written, and
// the same again, clean.
func BenchmarkPersist(b *testing.B) {
	const n = 1_000
	for _, dirty := range []bool{true, false} {
		b.Run(fmt.Sprintf("dirty=%t", dirty), func(b *testing.B) {
			tree := benchTree(b, n)
			var keys []api.Key
			for i := range n {
				keys = append(keys, key(b, fmt.Sprintf("topic-%03d/note-%05d.md", i/50, i)))
			}
			for b.Loop() {
				if dirty {
					b.StopTimer()
					for _, k := range keys {
						if err := os.WriteFile(filepath.Join(tree.Root(), k.String()), []byte("new\n"), 0o644); err != nil {
							b.Fatal(err)
						}
					}
					b.StartTimer()
				}
				for i, err := range tree.Persist(b.Context(), keys) {
					if err != nil {
						b.Fatalf("%s: %v", keys[i], err)
					}
				}
			}
		})
	}
}
