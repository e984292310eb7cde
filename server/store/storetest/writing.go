package storetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var errRefused = errors.New("refused by the test")

var writing = map[string]func(*suite){
	"a repo begins with its first change": func(s *suite) {
		s.wantNoRepo(acme)
		var before *store.Head
		head, err := s.store.Update(s.Context(), acme, func(tx store.Tx) (store.Change, error) {
			before = tx.Head()
			return changeOf(put("a.md", "one")), nil
		})
		if err != nil {
			s.Fatal(err)
		}
		if before == nil || before.Version != 0 || before.Repo != acme || before.Epoch == "" || len(before.Items) != 0 {
			s.Errorf("head before the first change: %+v", before)
		}
		if before.Epoch != head.Epoch {
			s.Errorf("epoch changed from %q to %q", before.Epoch, head.Epoch)
		}
		want := &store.Head{Repo: acme, Epoch: head.Epoch, Version: 1, Modified: someTime, Items: []store.Item{
			{Key: key("a.md"), Sum: api.SumString("one"), Bytes: 3, Version: 1, Modified: someTime},
		}}
		want.Seal()
		s.wantEqual("head after the first change", head, want)
		s.wantEqual("head read back", s.head(acme), want)
	},
	"the version grows by one with every change": func(s *suite) {
		for i, edits := range [][]edit{
			{put("a.md", "1"), put("b.md", "1"), put("c/d.md", "1")},
			{put("a.md", "2")},
			{retire("b.md")},
			{put("b.md", "3"), retire("a.md")},
			{put("b.md", "3")}, // what the key has already is an effect as well
			{retire("never-seen.md")},
		} {
			want := uint64(i + 1)
			if got := s.apply(acme, edits...).Version; got != want {
				s.Errorf("version after change %d is %d", want, got)
			}
			if got := s.head(acme).Version; got != want {
				s.Errorf("version read back after change %d is %d", want, got)
			}
		}
		if got := len(s.history(acme, key("b.md"), 0)); got != 4 {
			s.Errorf("b.md has %d versions, want 4", got)
		}
	},
	"an error of decide changes nothing": func(s *suite) {
		fail := func(store.Tx) (store.Change, error) { return changeOf(put("a.md", "refused")), errRefused }
		if _, err := s.store.Update(s.Context(), acme, fail); !errors.Is(err, errRefused) {
			s.Errorf("error %v, want decide's own", err)
		}
		s.wantNoRepo(acme)
		before := s.apply(acme, put("a.md", "one"))
		head, err := s.store.Update(s.Context(), acme, fail)
		if !errors.Is(err, errRefused) {
			s.Errorf("error %v, want decide's own", err)
		}
		s.wantEqual("head that came with the error", head, before)
		s.wantEqual("head", s.head(acme), before)
		s.wantEqual("refused body", s.bodies(acme, "refused"), map[api.Checksum]string{})
		if got := len(s.history(acme, api.Key{}, 0)); got != 1 {
			s.Errorf("%d versions, want 1", got)
		}
	},
	"an empty change commits nothing": func(s *suite) {
		if head := s.apply(acme); head.Version != 0 {
			s.Errorf("version %d after nothing", head.Version)
		}
		s.wantNoRepo(acme)
		before := s.apply(acme, put("a.md", "one"))
		s.wantEqual("head", s.apply(acme, at(someTime.Add(time.Hour))), before)
		s.wantEqual("head read back", s.head(acme), before)
		s.reopen()
		s.wantEqual("head after reopening", s.head(acme), before)
	},
	"a panic of decide is an error that quotes nothing": func(s *suite) {
		const entry = "a line of an entry"
		_, err := s.store.Update(s.Context(), acme, func(store.Tx) (store.Change, error) { panic(entry) })
		if err == nil || strings.Contains(err.Error(), entry) {
			s.Errorf("error %v", err)
		}
		s.wantNoRepo(acme)
		if head := s.apply(acme, put("a.md", "one")); head.Version != 1 {
			s.Errorf("version %d after the panic, want 1", head.Version)
		}
	},
	"a change that breaks the contract is refused": func(s *suite) {
		before := s.apply(acme, put("a.md", "one"))
		for name, c := range map[string]store.Change{
			"put twice":       changeOf(put("b.md", "two"), put("b.md", "three")),
			"put and retired": changeOf(put("b.md", "two"), retire("b.md")),
			"retired twice":   changeOf(retire("a.md"), retire("a.md")),
			"no key to put":   {Puts: []store.Put{{Content: "x", Sum: api.SumString("x")}}},
			"none to retire":  {Retire: []api.Key{{}}},
		} {
			if _, err := s.store.Update(s.Context(), acme, deciding(c)); err == nil {
				s.Errorf("%s: accepted", name)
			}
		}
		s.wantEqual("head", s.head(acme), before)
		s.reopen()
		s.wantEqual("head after reopening", s.head(acme), before)
	},
	"a context that ended before decide changes nothing": func(s *suite) {
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		_, err := s.store.Update(ctx, acme, func(store.Tx) (store.Change, error) {
			s.Error("decide was called")
			return store.Change{}, nil
		})
		if !errors.Is(err, context.Canceled) {
			s.Errorf("error %v, want context.Canceled", err)
		}
		s.wantNoRepo(acme)
	},
	"a context that ends during decide": func(s *suite) {
		ctx, cancel := context.WithCancel(s.Context())
		head, err := s.store.Update(ctx, acme, func(store.Tx) (store.Change, error) {
			cancel()
			return changeOf(put("a.md", "one")), nil
		})
		if err != nil { // nothing may have been written, then
			s.wantNoRepo(acme)
			return
		}
		s.wantEqual("head", s.head(acme), head)
	},
	"times have milliseconds and are UTC": func(s *suite) {
		zone := time.FixedZone("somewhere", 5*3600+1800)
		for i, when := range []time.Time{
			time.Date(2026, 1, 2, 3, 4, 5, 678_999_999, zone), time.Unix(0, 0), time.Unix(0, 1_999_999), time.Now(),
		} {
			want := when.Truncate(time.Millisecond).UTC()
			s.apply(acme, put("a.md", "one"), at(when))
			if i == 3 {
				s.reopen()
			}
			head := s.head(acme)
			item, _ := head.Item(key("a.md"))
			for name, got := range map[string]time.Time{"head": head.Modified, "item": item.Modified, "history": s.history(acme, key("a.md"), 1)[0].At} {
				if !got.Equal(want) || got.Location() != time.UTC {
					s.Errorf("%s of %v: %v, want %v", name, when, got, want)
				}
			}
		}
	},
	"Had knows every content a key ever had": func(s *suite) {
		s.apply(acme, put("a.md", "one"), put("b.md", "other"))
		s.apply(acme, put("a.md", "two"))
		s.apply(acme, retire("a.md"))
		s.apply(other, put("a.md", "elsewhere"))
		for _, c := range []struct {
			key, content string
			want         bool
		}{
			{"a.md", "one", true},
			{"a.md", "two", true},
			{"b.md", "other", true},
			{"a.md", "other", false},
			{"b.md", "one", false},
			{"a.md", "elsewhere", false},
			{"c.md", "one", false},
		} {
			_, err := s.store.Update(s.Context(), acme, func(tx store.Tx) (store.Change, error) {
				if got, err := tx.Had(key(c.key), api.SumString(c.content)); err != nil || got != c.want {
					s.Errorf("Had(%s, %s) = %v, %v; want %v", c.key, c.content, got, err, c.want)
				}
				return store.Change{}, nil
			})
			if err != nil {
				s.Fatal(err)
			}
		}
		_, err := s.store.Update(s.Context(), repo("never/written"), func(tx store.Tx) (store.Change, error) {
			if got, err := tx.Had(key("a.md"), api.SumString("one")); err != nil || got {
				s.Errorf("Had in a repo that was never written = %v, %v", got, err)
			}
			return store.Change{}, nil
		})
		if err != nil {
			s.Fatal(err)
		}
	},
	"repos are apart": func(s *suite) {
		first := s.apply(acme, put("a.md", "one"))
		s.apply(other, put("a.md", "two"))
		s.apply(other, put("b.md", "three"))
		s.wantEqual("head", s.head(acme), first)
		s.wantEqual("bodies of the other repo", s.bodies(acme, "one", "two"), map[api.Checksum]string{api.SumString("one"): "one"})
		if got := len(s.history(other, api.Key{}, 0)); got != 2 {
			s.Errorf("%d versions, want 2", got)
		}
	},
}
