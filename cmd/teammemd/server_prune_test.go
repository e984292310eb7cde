package main

import (
	"context"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/server/store"
)

// TestRetentionIsDaily runs a server's clock for days.
func TestRetentionIsDaily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := startEmbedded(t.Context(), nil, t.TempDir(), "127.0.0.1:0", scanner.New(scanner.Options{}), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go e.retain(ctx)
		repo, err := api.ParseRepo("acme/api")
		if err != nil {
			t.Fatal(err)
		}
		key, err := api.ParseKey("a.md")
		if err != nil {
			t.Fatal(err)
		}
		put := func(n int) {
			content := strconv.Itoa(n)
			_, err := e.backend.Update(ctx, repo, func(store.Tx) (store.Change, error) {
				return store.Change{At: time.Now().UTC(), Puts: []store.Put{{Key: key, Content: content, Sum: api.SumString(content)}}}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		kept := func() (n int) {
			rows, err := e.backend.History(ctx, repo, key, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				if !row.Pruned {
					n++
				}
			}
			return n
		}
		for n := range 5 {
			put(n)
			<-time.After(24 * time.Hour)
		}
		synctest.Wait()
		if got := kept(); got != 5 {
			t.Errorf("%d versions are left without a retention", got)
		}
		e.retention.Store(&config.Retention{MaxAgeDays: 2})
		<-time.After(retainEvery)
		synctest.Wait()
		// Replaced 5, 4 and 3 days ago, less five minutes each; then one 2 days ago.
		if got := kept(); got != 2 {
			t.Errorf("%d versions are left by age, want 2", got)
		}
		put(5)
		e.retention.Store(&config.Retention{KeepVersions: 1})
		<-time.After(retainEvery)
		synctest.Wait()
		if got := kept(); got != 1 {
			t.Errorf("%d versions are left by count, want 1", got)
		}
		cancel()
		synctest.Wait()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}
