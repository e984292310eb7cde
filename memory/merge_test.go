package memory_test

import (
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/memory"
)

func TestMergeWithAnUnchangedSide(t *testing.T) {
	t.Parallel()
	key, err := api.ParseKey("a.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, sides := range [][2]string{{"old", "new"}, {"new", "old"}, {"new", "new"}} {
		if got, clean := memory.Merge(key, "old", sides[0], sides[1]); got != "new" || !clean {
			t.Errorf("merging %q gives %q, %t", sides, got, clean)
		}
	}
}
