package remote_test

import (
	"errors"
	"testing"

	"github.com/teammem/teammemd/api"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	c := newWorld(t).client(t)
	if _, err := c.Search(t.Context(), "zebra", 0, 0); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("in a repo without data: %v, want %v", err, api.ErrNotFound)
	}
	_, err := c.Push(t.Context(), api.Batch{Entries: []api.Outgoing{
		outgoing(t, "a.md", "the zebra & the gnu+1 %41\n", ""), outgoing(t, "b.md", "a zebra\n", ""), outgoing(t, "c.md", "a gnu\n", ""),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		query         string
		limit, offset int
		want          []string
		total         int
	}{
		{"zebra", 0, 0, []string{"b.md", "a.md"}, 2},
		{"zebra", 1, 0, []string{"b.md"}, 2},
		{"zebra", 1, 1, []string{"a.md"}, 2},
		{`"gnu+1 %41"`, 0, 0, []string{"a.md"}, 1},
		{"key:c.md&limit=1", 0, 0, nil, 0},
		{"nothing", 0, 0, nil, 0},
	} {
		answer, err := c.Search(t.Context(), tt.query, tt.limit, tt.offset)
		if err != nil || answer.Total != tt.total || len(answer.Results) != len(tt.want) || answer.Searched != 3 {
			t.Errorf("%s: %+v, %v", tt.query, answer, err)
			continue
		}
		for i, r := range answer.Results {
			if r.Key != tt.want[i] {
				t.Errorf("%s: result %d is %s, want %s", tt.query, i, r.Key, tt.want[i])
			}
		}
	}
	if _, err := c.Search(t.Context(), "-x", 0, 0); !errors.Is(err, api.ErrBadRequest) {
		t.Errorf("a query that is none: %v", err)
	}
}
