package search_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/teammem/teammemd/server/search"
)

// leaving is a context whose client leaves when it was asked for the nth time.
type leaving struct {
	context.Context //nolint:containedctx // it stands for one

	after, asked int
}

func (l *leaving) Err() error {
	if l.asked++; l.asked > l.after {
		return context.Canceled
	}
	return nil
}

// TestSearchEndsWithItsRequest: wherever a search is when its client leaves, it
// takes no further text apart, and answers nothing.
func TestSearchEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	e := entries{}
	for i := range 300 {
		e[fmt.Sprintf("a/%03d.md", i)] = strings.Repeat("zebra okapi ", 50) + fmt.Sprint(i)
	}
	x := build(t, e)
	for _, text := range []string{"zebra okapi", `"zebra okapi zebra okapi"`, "zeb* -\"okapi zebra zebra\"", "key:a/** zebra", "zebra nothere"} {
		q, page := parse(t, text), search.Page{Limit: 20}
		whole := &leaving{Context: t.Context(), after: 1 << 40}
		want, err := x.Search(whole, q, page)
		if err != nil || whole.asked < 3 {
			t.Fatalf("%s: %d results, it looked %d times whether somebody waits, %v", text, want.Total, whole.asked, err)
		}
		for after := 0; after < whole.asked; after += max(1, whole.asked/50) {
			client := &leaving{Context: t.Context(), after: after}
			found, err := x.Search(client, q, page)
			if !errors.Is(err, context.Canceled) || found.Total != 0 || len(found.Results) != 0 {
				t.Fatalf("%s: after %d looks it answered %d results, %v", text, after, found.Total, err)
			}
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := x.Search(gone, q, page); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: for nobody it answered %v", text, err)
		}
	}
}

// TestSearchStopsInALongText: one entry can be what takes the time.
func TestSearchStopsInALongText(t *testing.T) {
	t.Parallel()
	x := build(t, entries{"long.md": strings.Repeat("a ", 100_000)})
	q := parse(t, `"`+strings.Repeat("a ", 64)+`"`)
	whole := &leaving{Context: t.Context(), after: 1 << 40}
	if _, err := x.Search(whole, q, search.Page{Limit: 1}); err != nil || whole.asked < 64 {
		t.Fatalf("it looked %d times in one text, %v", whole.asked, err)
	}
	client := &leaving{Context: t.Context(), after: 3}
	if _, err := x.Search(client, q, search.Page{Limit: 1}); !errors.Is(err, context.Canceled) || client.asked > whole.asked/8 {
		t.Errorf("it went on for %d looks of %d, %v", client.asked, whole.asked, err)
	}
}
