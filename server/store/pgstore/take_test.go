package pgstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// lived returns a store on SQLite in which everything happened that is kept.
func lived(t *testing.T) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: t.TempDir(), Serve: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, now := t.Context(), time.Now().UTC().Truncate(time.Millisecond)
	put(t, s, "a.md", "one")
	put(t, s, "a.md", "two")
	put(t, s, "b.md", "value")
	redaction := store.Change{At: now, Retire: []api.Key{mustKey("b.md")}, Redact: []api.Checksum{api.SumString("value")}, Actor: api.Actor{Person: "ben", User: "u"}, Detail: `{"a":1}`}
	_, updated := s.Update(ctx, acme, func(store.Tx) (store.Change, error) { return redaction, nil })
	_, pruned := s.Prune(ctx, acme, store.Retention{Keep: 1}, api.Actor{Token: "operator"}, now)
	_, bound := s.Bind(ctx, acme, "github.com#1")
	_, again := s.Bind(ctx, mustRepo("acme/web"), "github.com#1")
	_, erased := s.Erase(ctx, func(a api.Actor) bool { return a.Person == "ben" }, api.Actor{}, now)
	user := store.User{ID: "u", Issuer: "i", Subject: "s", Login: "ada", Groups: []string{"g"}, Upstream: []byte{0, 1}, CreatedAt: now, SeenAt: now}
	_, saved := s.SaveUser(ctx, user)
	family := store.Issue{
		Family:  store.Family{ID: "f", User: "u", Client: "c", Device: "d", Generation: 1, CreatedAt: now, RotatedAt: now, ExpiresAt: now.Add(time.Hour)},
		Refresh: [32]byte{1}, Access: store.Token{ID: "access", Hash: [32]byte{2}, CreatedAt: now, ExpiresAt: now.Add(time.Hour)},
	}
	if err := errors.Join(
		updated, pruned, bound, again, erased, saved,
		s.AddFamily(ctx, family),
		s.AddRequest(ctx, store.Request{Kind: store.DeviceRequest, Hash: [32]byte{3}, UserHash: [32]byte{4}, Client: "c", CreatedAt: now, ExpiresAt: now.Add(time.Hour), Interval: time.Second}),
		s.AddPolicyEntry(ctx, mustRepo("acme/web"), api.PolicyEntry{ID: "p", Rule: "r", Reason: "why", At: now, Actor: api.Actor{Person: "ada"}}),
		s.EndPolicyEntry(ctx, mustRepo("acme/web"), "p", now, api.Actor{Person: "cleo"}),
		s.RecordRescan(ctx, mustRepo("acme/web"), store.Rescan{Rules: "1-a", At: now}),
		s.RecordDevices(ctx, map[api.Repo][]store.Device{mustRepo("acme/web"): {
			{ID: store.DeviceID{1}, Actor: api.Actor{Person: "ada", Device: "d"}, First: now, Seen: now, Epoch: "e", Pulled: 3, Cleaned: 2, CleanedAt: now},
		}}),
		s.AddToken(ctx, store.Token{ID: "t", Name: "n", Hash: [32]byte{5}, Repos: "*", Role: api.Writer, CreatedAt: now}),
		s.AddJoinCode(ctx, store.JoinCode{Hash: [32]byte{6}, Repo: acme, Role: api.Writer, ExpiresAt: now.Add(time.Hour)}),
		s.Audit(ctx, api.Repo{}, store.Event{Action: store.ActionSignIn, At: now, Detail: `{"b":2}`}),
	); err != nil {
		t.Fatal(err)
	}
	return s
}

// everything is all that a store answers.
func everything(t *testing.T, s store.Backend) map[string]any {
	t.Helper()
	ctx, said := t.Context(), map[string]any{}
	note := func(what string, value any, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		said[what] = value
	}
	web := mustRepo("acme/web")
	repos, err := s.Repos(ctx)
	note("repos", repos, err)
	head, err := s.Head(ctx, web)
	note("head", head, err)
	history, err := s.History(ctx, web, api.Key{}, 0)
	note("history", history, err)
	bodies, err := s.Bodies(ctx, web, []api.Checksum{api.SumString("one"), api.SumString("two"), api.SumString("value")})
	note("bodies", bodies, err)
	for _, repo := range []api.Repo{web, {}} {
		trail, err := s.Trail(ctx, repo, 0, 0)
		note("trail of "+repo.String(), trail, err)
	}
	policy, err := s.Policy(ctx, web)
	note("policy", policy, err)
	marks, err := s.Rescan(ctx, web)
	note("marks", marks, err)
	devices, err := s.Devices(ctx, web)
	note("devices", devices, err)
	tokens, err := s.Tokens(ctx)
	note("tokens", tokens, err)
	for i := range byte(7) {
		if token, err := s.TokenByHash(ctx, [32]byte{i}); err == nil {
			said["token "+token.ID] = token
		}
	}
	stands, err := s.Resolve(ctx, acme)
	note("name", stands, err)
	identity, err := s.Identity(ctx, web)
	note("identity", identity, err)
	users, err := s.Users(ctx)
	note("users", users, err)
	families, err := s.Families(ctx, "")
	note("families", families, err)
	err = s.ChangeDevice(ctx, [32]byte{4}, func(r store.Request) (store.RequestChange, error) {
		said["request"] = r
		return store.RequestChange{}, nil
	})
	note("asking", nil, err)
	err = s.ChangeFamily(ctx, [32]byte{1}, func(f store.Family, r store.Refresh) (store.Issue, error) {
		said["family"], said["refresh"] = f, r
		return store.Issue{}, nil
	})
	note("refreshing", nil, err)
	return said
}

// TestTake moves a store on SQLite: it answers everything as it did there, its
// chains verify, and it goes on.
func TestTake(t *testing.T) {
	t.Parallel()
	from := lived(t)
	dsn := pgtest.Schema(t)
	to := serve(t, dsn)
	ctx := context.Background()
	want := everything(t, from)
	if err := from.Dump(ctx, func(tables pgstore.Tables) error { return to.Take(ctx, tables) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, everything(t, to), cmpopts.EquateComparable(api.Key{}, api.Repo{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what arrived (-want +got):\n%s", diff)
	}
	if said := problems(t, to); said != "" {
		t.Error(said)
	}
	was := len(rows(t, dsn, "SELECT id FROM actors"))
	head, err := to.Update(ctx, mustRepo("acme/web"), putting("a.md", "on"))
	if err != nil || head.Version != 5 {
		t.Errorf("the next change: %+v, %v", head, err)
	}
	if now := len(rows(t, dsn, "SELECT id FROM actors")); now != was {
		t.Error("who wrote before the move has another pseudonym after it")
	}
	if said := problems(t, to); said != "" {
		t.Error(said)
	}
	err = from.Dump(ctx, func(tables pgstore.Tables) error { return to.Take(ctx, tables) })
	if !errors.Is(err, pgstore.ErrNotEmpty) {
		t.Errorf("filling it again: %v, want ErrNotEmpty", err)
	}
}

// TestDistribute sees that a server without the extension says so.
func TestDistribute(t *testing.T) {
	t.Parallel()
	if err := serve(t, pgtest.Schema(t)).Distribute(t.Context()); !errors.Is(err, pgstore.ErrNoCitus) {
		t.Errorf("error %v, want ErrNoCitus", err)
	}
}
