package remote_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
)

// TestPolicyIsLearned: with the hashes view, asked for once a revision, also where
// the view itself has not changed.
func TestPolicyIsLearned(t *testing.T) {
	w := newWorld(t)
	c, ctx := w.client(t), t.Context()
	if _, err := c.Push(ctx, api.Batch{Entries: []api.Outgoing{outgoing(t, "a.md", "one", "")}}); err != nil {
		t.Fatal(err)
	}
	look := func(known api.Checksum) *api.View {
		t.Helper()
		view, err := c.Hashes(ctx, known)
		if err != nil {
			t.Fatal(err)
		}
		return view
	}
	view := look(api.Checksum{})
	if c.Policy() != nil {
		t.Errorf("policy %+v", c.Policy())
	}
	entry, err := c.AllowRule(ctx, api.PolicyRequest{Rule: "mark", Keys: "docs/*", Reason: "samples"})
	if err != nil {
		t.Fatal(err)
	}
	if again := look(view.Checksum); !again.NotModified {
		t.Error("a policy changes the view")
	}
	if got := c.Policy(); len(got) != 1 || got[0].ID != entry.ID || got[0].Actor.Person != "Ada Lövelace" {
		t.Errorf("policy %+v", got)
	}
	if err := c.EndAllow(ctx, entry.ID); err != nil {
		t.Fatal(err)
	}
	look(view.Checksum)
	if got := c.Policy(); len(got) != 0 {
		t.Errorf("policy after its end %+v", got)
	}
	all, err := c.ScanPolicy(ctx, true)
	if err != nil || len(all.Entries) != 1 || all.Entries[0].EndedBy.Person != "Ada Lövelace" {
		t.Errorf("all that ever was: %+v, %v", all, err)
	}
}

// TestAllowedGoesAndComes: what a person let pass is sent beside the text and
// comes back with it, in the view and with the content.
func TestAllowedGoesAndComes(t *testing.T) {
	w := newWorld(t)
	c, ctx := w.client(t), t.Context()
	o := outgoing(t, "a.md", "MARK", "")
	if _, err := c.Push(ctx, api.Batch{Entries: []api.Outgoing{o}}); !errors.Is(err, api.ErrSecretFound) {
		t.Errorf("without a word: %v", err)
	}
	o.Allowed = map[string]string{"mark": "example"}
	if _, err := c.Push(ctx, api.Batch{Entries: []api.Outgoing{o}}); err != nil {
		t.Fatal(err)
	}
	view, err := c.Hashes(ctx, api.Checksum{})
	if err != nil || !cmp.Equal(view.Allowed[o.Key], o.Allowed) {
		t.Errorf("view: %v, %v", view.Allowed, err)
	}
	pulled, err := c.Pull(ctx, []api.Key{o.Key})
	if err != nil || len(pulled.Entries) != 1 || !cmp.Equal(pulled.Entries[0].Allowed, o.Allowed) {
		t.Errorf("pulled: %+v, %v", pulled, err)
	}
}
