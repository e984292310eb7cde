package pgstore_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
)

// told is one call of a follower.
type told struct {
	repo    api.Repo
	version uint64
}

// follow lets a store follow until the test ends, and returns what it is told.
func follow(t *testing.T, s *pgstore.Store) <-chan told {
	t.Helper()
	calls := make(chan told, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := s.Follow(ctx, func(repo api.Repo, version uint64) { calls <- told{repo, version} }); err != nil {
			t.Errorf("following: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); done.Wait() })
	return calls
}

// await returns when a call says so, and how long it took.
func await(t *testing.T, calls <-chan told, want told) time.Duration {
	t.Helper()
	begun := time.Now()
	late := time.After(20 * time.Second)
	for {
		select {
		case got := <-calls:
			if got == want || (got.repo == want.repo && got.version > want.version && want.version > 0) {
				return time.Since(begun)
			}
		case <-late:
			t.Fatalf("never told %v", want)
		}
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Schema(t)
	one, two := serve(t, dsn), serve(t, dsn)
	calls := follow(t, two)
	follow(t, one) // who rings
	await(t, calls, told{})
	put(t, one, "a.md", "1")
	await(t, calls, told{acme, 1})
	if head, err := two.Head(t.Context(), acme); err != nil || head.Version != 1 {
		t.Fatalf("head %+v, %v", head, err)
	}
	var took []time.Duration
	for i := range 20 {
		head := put(t, one, "a.md", fmt.Sprint("more ", i))
		took = append(took, await(t, calls, told{acme, head.Version}))
		if got, err := two.Head(t.Context(), acme); err != nil || got.Version < head.Version || got.Checksum != head.Checksum {
			t.Fatalf("told of %d, and the head is %+v, %v", head.Version, got, err)
		}
	}
	// Each write follows what was told of the one before, and so a poll: without
	// a bell nearly all of them are told of a whole interval later.
	slices.Sort(took)
	if quick := took[len(took)/4]; quick > 900*time.Millisecond {
		t.Errorf("a quarter of them were told of within %v: the bell does not ring", quick)
	}
	e := api.PolicyEntry{ID: "one", Rule: "rule-a", Reason: "r", At: time.Now()}
	if err := one.AddPolicyEntry(t.Context(), acme, e); err != nil {
		t.Fatal(err)
	}
	await(t, calls, told{acme, 0})
}

// TestFollowByTime is what one server hears of another where the outbox is spread
// over nodes, and so read by time, a while back each time. Beside it the same where
// it is read by transaction.
func TestFollowByTime(t *testing.T) {
	t.Parallel()
	for name, spread := range map[string]bool{"by transaction": false, "by time": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.Schema(t)
			one, two := serve(t, dsn), serve(t, dsn)
			if spread {
				pgstore.Spread(one)
				pgstore.Spread(two)
			}
			calls := follow(t, two)
			follow(t, one) // who rings
			await(t, calls, told{})
			put(t, one, "a.md", "1")
			await(t, calls, told{acme, 1})

			// One that was entered before what is told meanwhile, and is committed after.
			late := mustRepo("acme/late")
			commit := enterLate(t, dsn, late, 7)
			for i := range uint64(5) {
				head := put(t, one, "a.md", strconv.FormatUint(i+2, 10))
				seen := drainUntil(t, calls, told{acme, head.Version})
				if seen[told{acme, head.Version - 1}] > 0 {
					t.Errorf("version %d was told twice", head.Version-1)
				}
				if seen[told{late, 7}] > 0 {
					t.Error("told of a change that is not committed")
				}
				if got, err := two.Head(t.Context(), acme); err != nil || got.Version != head.Version {
					t.Fatalf("told of %d, and the head is %+v, %v", head.Version, got, err)
				}
			}
			commit()
			await(t, calls, told{late, 7})

			before, err := two.Head(t.Context(), acme)
			if err != nil {
				t.Fatal(err)
			}
			if err := one.NewEpoch(t.Context()); err != nil {
				t.Fatal(err)
			}
			await(t, calls, told{})
			if got, err := two.Head(t.Context(), acme); err != nil || got.Epoch == before.Epoch {
				t.Errorf("after a new epoch the head is of %q, %v", got.Epoch, err)
			}
		})
	}
}

// enterLate enters a change into the outbox, which the function that it returns
// commits.
func enterLate(t *testing.T, dsn string, repo api.Repo, version int64) (commit func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "INSERT INTO outbox (repo, change, name, version) VALUES (1, gen_random_uuid(), $1, $2)", repo.String(), version); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// drainUntil counts what is told up to a call.
func drainUntil(t *testing.T, calls <-chan told, last told) map[told]int {
	t.Helper()
	seen := make(map[told]int)
	late := time.After(time.Minute)
	for seen[last] == 0 {
		select {
		case got := <-calls:
			seen[got]++
		case <-late:
			t.Fatalf("never told %v", last)
		}
	}
	return seen
}

// TestFollowWithoutABell sees that a poll finds what a server that died did not
// tell of: the one that writes here never follows, and so never rings.
func TestFollowWithoutABell(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Schema(t)
	one, two := serve(t, dsn), serve(t, dsn)
	calls := follow(t, two)
	await(t, calls, told{})
	put(t, one, "a.md", "1")
	await(t, calls, told{acme, 1})
}

// TestFollowAgain loses the database: the follower connects again, says that
// anything may have changed, and no head is older than it.
func TestFollowAgain(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t, pgtest.Forgetful)
	dsn := pgtest.SchemaIn(t, cluster)
	one := open(t, pgstore.Options{DSN: dsn, Serve: true, Patience: 20 * time.Second})
	two := open(t, pgstore.Options{DSN: dsn, Serve: true, Patience: 20 * time.Second})
	calls := follow(t, two)
	await(t, calls, told{})
	put(t, one, "a.md", "1")
	await(t, calls, told{acme, 1})
	cluster.Restart(t)
	await(t, calls, told{})
	put(t, one, "a.md", "2")
	await(t, calls, told{acme, 2})
	if head, err := two.Head(t.Context(), acme); err != nil || head.Version != 2 {
		t.Errorf("head %+v, %v", head, err)
	}
}

// TestHeadsWithoutAFeed reads through one store what another wrote, while nobody
// follows: every answer is looked up.
func TestHeadsWithoutAFeed(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Schema(t)
	one, two := serve(t, dsn), serve(t, dsn)
	for i := range 5 {
		want := put(t, one, fmt.Sprintf("%d.md", i%3), strconv.Itoa(i))
		got, err := two.Head(t.Context(), acme)
		if err != nil || got.Version != want.Version || got.Checksum != want.Checksum {
			t.Errorf("head %+v, %v, want %+v", got, err, want)
		}
	}
}

// TestTwoServersWriteOneRepo lets two stores write to one repo at once, with heads
// in memory that are old at every step: no change is lost, and versions have no
// gaps.
func TestTwoServersWriteOneRepo(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Schema(t)
	var all sync.WaitGroup
	for server := range 3 {
		s := serve(t, dsn)
		follow(t, s)
		for writer := range 4 {
			all.Go(func() {
				for i := range 15 {
					head, err := s.Update(t.Context(), acme, putting(fmt.Sprintf("%d-%d-%d.md", server, writer, i), "x"))
					if err != nil {
						t.Errorf("writing: %v", err)
						return
					}
					if _, ok := head.Item(mustKey(fmt.Sprintf("%d-%d-%d.md", server, writer, i))); !ok {
						t.Error("the head after a write lacks it")
					}
				}
			})
		}
	}
	all.Wait()
	head, err := serve(t, dsn).Head(t.Context(), acme)
	if err != nil || head.Version != 180 || len(head.Items) != 180 {
		t.Errorf("head %d with %d items, %v", head.Version, len(head.Items), err)
	}
	if gaps := rows(t, dsn, "SELECT 'gap' FROM repos r WHERE repo <> 0 AND version <> (SELECT count(DISTINCT version) FROM versions v WHERE v.repo = r.repo)"); len(gaps) > 0 {
		t.Error("versions have gaps")
	}
}
