package statedir_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
)

func benchBases(b *testing.B, n, ring int) map[api.Key]api.Base {
	b.Helper()
	former := strings.Split(strings.Repeat("f,", ring), ",")[:ring]
	bases := make(map[api.Key]api.Base, n)
	for i := range n {
		bases[key(b, fmt.Sprintf("topic-%03d/note-%05d.md", i/50, i))] = base(strconv.Itoa(i), former...)
	}
	return bases
}

func BenchmarkLoad(b *testing.B) {
	for _, ring := range []int{0, 2, 16} {
		b.Run(fmt.Sprintf("keys=10000/ring=%d", ring), func(b *testing.B) {
			d := open(b, b.TempDir())
			commit(b, d, api.Record{Bases: benchBases(b, 10_000, ring)})
			commit(b, d, api.Record{View: &api.Position{Version: 1}})
			for b.Loop() {
				if got := len(load(b, open(b, d.Path())).Bases); got != 10_000 {
					b.Fatalf("%d keys", got)
				}
			}
		})
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 1_000} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			d := open(b, b.TempDir())
			bases := benchBases(b, n, 2)
			for round := 0; b.Loop(); round++ {
				for k := range bases {
					bases[k] = base(strconv.Itoa(round), "a", "b")
				}
				commit(b, d, api.Record{Bases: bases, View: &api.Position{Epoch: "e", Version: uint64(round)}})
			}
		})
	}
}

func BenchmarkSave(b *testing.B) {
	d := open(b, b.TempDir())
	for round := 0; b.Loop(); round++ {
		content := fmt.Sprintf("round %d", round)
		copied := api.SavedCopy{Key: key(b, "a.md"), Content: content, Sum: api.SumString(content), Why: "conflict"}
		if _, err := d.Save(b.Context(), copied); err != nil {
			b.Fatal(err)
		}
	}
}
