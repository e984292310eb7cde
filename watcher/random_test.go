package watcher_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestAnyTreeIsWatched does random things to a tree as fast as it can, and then
// expects that every directory that is left is watched.
func TestAnyTreeIsWatched(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			r := newRig(t, quick())
			for i := range 60 {
				randomStep(r, rng, i)
			}
			r.hint("the storm")
			for _, dir := range directories(r) {
				r.calm()
				if err := os.Mkdir(filepath.Join(dir, "new"), 0o755); err != nil {
					t.Fatal(err)
				}
				r.hint("a directory made in " + dir)
			}
		})
	}
}

// randomStep changes the tree; a step that is impossible is no step.
func randomStep(r *rig, rng *rand.Rand, i int) {
	r.t.Helper()
	dirs := directories(r)
	some := dirs[rng.IntN(len(dirs))]
	other := dirs[rng.IntN(len(dirs))]
	name := fmt.Sprintf("n%d", rng.IntN(4)) // names come back
	switch rng.IntN(10) {
	case 0, 1, 2, 3:
		r.must(os.MkdirAll(filepath.Join(some, name, "deep"), 0o755))
	case 4:
		r.must(os.WriteFile(filepath.Join(some, fmt.Sprintf("f%d.md", i)), nil, 0o644))
	case 5, 6:
		_ = os.Rename(some, filepath.Join(other, name)) // into itself, over another: refused
	case 7:
		if some != r.dir {
			r.must(os.RemoveAll(some))
		}
	case 8:
		away := filepath.Join(filepath.Dir(r.dir), "away")
		r.must(os.Rename(r.dir, away))
		r.must(os.Rename(away, r.dir))
	case 9:
		if rng.IntN(4) == 0 {
			r.must(os.RemoveAll(r.dir))
			r.mkdir("")
		}
	}
}

func directories(r *rig) []string {
	r.t.Helper()
	var dirs []string
	r.must(filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	}))
	return dirs
}
