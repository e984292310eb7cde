package pgstore_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
)

// wire stands between a store and a cluster. It can cut connections off when an
// answer comes: what was asked has been done, and nobody hears of it.
type wire struct {
	t      *testing.T
	target string
	ln     net.Listener
	deaf   atomic.Bool // answers are lost with their connection
	lost   atomic.Int64

	mu    sync.Mutex
	conns []net.Conn // guarded by mu
}

// newWire listens in a directory of its own, which is host in the DSN.
func newWire(t *testing.T, cluster *pgtest.Cluster) (w *wire, host string) {
	t.Helper()
	host = t.TempDir()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(host, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	w = &wire{t: t, target: filepath.Join(cluster.Socket(), ".s.PGSQL.5432"), ln: ln}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			done.Go(func() { w.carry(conn) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		w.mu.Lock()
		for _, conn := range w.conns {
			_ = conn.Close()
		}
		w.mu.Unlock()
		done.Wait()
	})
	return w, host
}

func (w *wire) carry(client net.Conn) {
	server, err := net.Dial("unix", w.target)
	if err != nil {
		_ = client.Close()
		return
	}
	w.mu.Lock()
	w.conns = append(w.conns, client, server)
	w.mu.Unlock()
	go func() { // what is asked
		buf := make([]byte, 64<<10)
		for {
			n, err := client.Read(buf)
			if err == nil {
				_, err = server.Write(buf[:n])
			}
			if err != nil {
				_ = server.Close()
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err == nil && w.deaf.CompareAndSwap(true, false) {
			w.lost.Add(1)
			err = net.ErrClosed
		}
		if err == nil {
			_, err = client.Write(buf[:n])
		}
		if err != nil {
			_ = client.Close()
			_ = server.Close()
			return
		}
	}
}

// TestLostAnswers loses the answer to every other write: each is done once, its
// version is the one that was acknowledged, and no write is an error.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t, pgtest.Forgetful)
	w, host := newWire(t, cluster)
	pgtest.SchemaIn(t, cluster)
	s := open(t, pgstore.Options{DSN: "host=" + host + " user=postgres dbname=postgres pool_max_conns=1", Serve: true})
	put(t, s, "a.md", "0")
	for i := range 10 {
		asked := 0
		head, err := s.Update(t.Context(), acme, func(store.Tx) (store.Change, error) {
			if asked++; asked == 1 && i%2 == 0 {
				w.deaf.Store(true) // for the next answer, which is that of the commit
			}
			return change("a.md", time.Now().String()), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if head.Version != uint64(i+2) {
			t.Errorf("write %d made version %d", i, head.Version)
		}
	}
	if w.lost.Load() == 0 {
		t.Error("no answer was lost")
	}
	if said := problems(t, s); said != "" {
		t.Error(said)
	}
	// The same for what is beside entries.
	w.deaf.Store(true)
	if err := s.AddToken(t.Context(), store.Token{ID: "t", Hash: [32]byte{1}, Role: api.Reader, CreatedAt: time.Now()}); err != nil {
		t.Errorf("a token: %v", err)
	}
}

// TestNoStandby asks for a standby that is not there. A commit whose wait is
// cancelled is not acknowledged, and neither is a look; with the standby's
// demand gone, the same write succeeds.
func TestNoStandby(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t, pgtest.Forgetful)
	s := serve(t, cluster.DSN())
	put(t, s, "a.md", "1")
	cluster.Configure(t, "synchronous_standby_names = 'nobody'")
	cluster.Reload(t)
	cluster.Until(t, "SHOW synchronous_standby_names", "nobody")
	done := make(chan error, 1)
	var head *store.Head
	version := uint64(1)
	update := func() {
		var err error
		head, err = s.Update(context.Background(), acme, putting("a.md", strconv.FormatUint(version, 10)))
		done <- err
	}
	next := func() { version++; go update() }
	next()
	const waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
	for cancelled := 0; cancelled < 3; {
		select {
		case err := <-done:
			// The checkpointer, which says that a standby is asked for, may learn of
			// it a moment after the sessions.
			if err != nil || cancelled > 0 || version > 200 {
				t.Fatalf("acknowledged without a standby: %v", err)
			}
			next()
			continue
		case <-time.After(20 * time.Millisecond):
		}
		if pid := cluster.Value(t, waiting); pid != "" {
			cluster.Exec(t, "SELECT pg_cancel_backend("+pid+")")
			cancelled++
		}
	}
	cluster.Configure(t, "synchronous_standby_names = ''")
	cluster.Reload(t)
	if err := <-done; err != nil {
		t.Errorf("with no standby asked for: %v", err)
	}
	if head == nil || head.Version != version {
		t.Errorf("head %+v", head)
	}
	if got, err := s.History(t.Context(), acme, mustKey("a.md"), 0); err != nil || uint64(len(got)) != version {
		t.Errorf("%d versions, %v", len(got), err)
	}
}

// TestGoneAndBack stops the database: every call fails soon, one after another
// does not wait its turn for the same, and all goes on when it is back.
func TestGoneAndBack(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t, pgtest.Forgetful)
	dsn := pgtest.SchemaIn(t, cluster)
	s := open(t, pgstore.Options{DSN: dsn, Serve: true, Patience: 100 * time.Millisecond})
	calls := follow(t, s)
	await(t, calls, told{})
	put(t, s, "a.md", "1")
	cluster.Kill(t)
	if _, err := s.Update(t.Context(), acme, putting("a.md", "2")); err == nil {
		t.Error("a write without a database succeeded")
	}
	_, _ = s.Generation(t.Context())
	begun := time.Now()
	for range 500 {
		if _, err := s.Generation(t.Context()); err == nil {
			t.Error("a read without a database succeeded")
		}
	}
	// Were each to wait for itself, they would take 50 seconds.
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("500 reads without a database took %v", took)
	}
	cluster.Start(t)
	await(t, calls, told{})
	put(t, s, "a.md", "3")
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	secret := "pass" + "word"
	for _, c := range []struct {
		name, dsn string
		want      error
	}{
		{"nonsense", "postgres://u:" + secret + "@host:port/x", pgstore.ErrDSN},
		{"no such database", pgtest.Shared(t).DSN() + " database=nowhere password=" + secret, pgstore.ErrRefused},
	} {
		_, err := pgstore.Open(t.Context(), pgstore.Options{DSN: c.dsn, Patience: time.Millisecond})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error quotes the password", c.name)
		}
	}
	dsn := pgtest.Schema(t)
	serve(t, dsn)
	rows(t, dsn, "INSERT INTO schema_versions (version_id, is_applied) VALUES (999, true) RETURNING 'x'")
	if _, err := pgstore.Open(t.Context(), pgstore.Options{DSN: dsn}); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("a newer schema: %v", err)
	}
}

// TestOpenAtOnce lets several servers find an empty database.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Schema(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			s, err := pgstore.Open(context.Background(), pgstore.Options{DSN: dsn, Serve: true})
			if err != nil {
				t.Errorf("opening: %v", err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestOpenBringsUpToDate opens a database that lacks the newest migration, with the
// functions that it had then: they are replaced, and it goes on.
func TestOpenBringsUpToDate(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Schema(t)
	s := serve(t, dsn)
	put(t, s, "a.md", "1")
	const body = "SELECT prosrc FROM pg_proc WHERE proname = 'teammemd_apply' AND pronamespace = current_schema()::regnamespace ORDER BY pronargs DESC LIMIT 1"
	now := rows(t, dsn, body)
	rows(t, dsn, "DELETE FROM schema_versions WHERE version_id = 5 RETURNING 'x'")
	rows(t, dsn, `DO $$
		DECLARE f regprocedure := (SELECT oid::regprocedure FROM pg_proc WHERE proname = 'teammemd_apply'
			AND pronamespace = current_schema()::regnamespace ORDER BY pronargs DESC LIMIT 1);
		BEGIN EXECUTE replace(pg_get_functiondef(f), 'RETURN true', 'RETURN false'); END $$`)
	if _, err := s.Update(t.Context(), acme, putting("a.md", "2")); err == nil {
		t.Error("the function was not spoilt")
	}
	again := serve(t, dsn)
	if got := rows(t, dsn, body); !slices.Equal(got, now) {
		t.Error("the function was not replaced")
	}
	put(t, again, "a.md", "3")
	if said := problems(t, again); said != "" {
		t.Error(said)
	}
}
