package remote_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
)

func TestRetire(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newWorld(t).client(t)
	if _, err := c.Push(ctx, api.Batch{Entries: []api.Outgoing{outgoing(t, "a.md", "one", ""), outgoing(t, "b.md", "b", "")}}); err != nil {
		t.Fatal(err)
	}
	seen, err := c.Hashes(ctx, api.Checksum{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Push(ctx, api.Batch{Entries: []api.Outgoing{outgoing(t, "a.md", "two", api.SumString("one").String())}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Retire(ctx, key(t, "a.md"), seen); !errors.Is(err, api.ErrPrecondition) {
		t.Errorf("retiring what has changed: %v, want %v", err, api.ErrPrecondition)
	}
	for range 2 { // again is a success
		pushed, err := c.Retire(ctx, key(t, "b.md"), seen)
		if err != nil || pushed.Version != 3 {
			t.Errorf("version %d, %v, want 3", pushed.Version, err)
		}
	}
	now, err := c.Hashes(ctx, api.Checksum{})
	if err != nil {
		t.Fatal(err)
	}
	if now.Tombs[key(t, "b.md")] != 3 || now.Sums[key(t, "a.md")] != api.SumString("two") || len(now.Sums) != 1 {
		t.Errorf("the server has %v and the tombstones %v", now.Sums, now.Tombs)
	}
}

// TestRetireGuardsABaseServer sees the whole repo's checksum as the condition
// where conditions per key are not known.
func TestRetireGuardsABaseServer(t *testing.T) {
	t.Parallel()
	var body, ifMatch string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body, ifMatch = string(text), r.Header.Get("If-Match")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"checksum":"`+api.SumString("y").String()+`","version":2}`)
	}))
	defer web.Close()
	sum := api.SumString("x")
	if _, err := dial(t, web.URL, "s").Retire(t.Context(), key(t, "a.md"), &api.View{Base: true, Checksum: sum}); err != nil {
		t.Fatal(err)
	}
	if want := `{"entries":{},"soft_delete_keys":["a.md"]}`; body != want || strings.Trim(ifMatch, `"`) != sum.String() {
		t.Errorf("sent %s with If-Match %s, want %s with %s", body, ifMatch, want, sum)
	}
}
