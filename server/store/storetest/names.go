package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

func (s *suite) bind(name, identity string) {
	s.Helper()
	got, err := s.store.Bind(s.Context(), repo(name), identity)
	if err != nil || got != repo(name) {
		s.Fatalf("binding %q to %s: %q, %v", name, identity, got, err)
	}
}

// wantNames checks what names stand for, each given with its answer.
func (s *suite) wantNames(pairs ...string) {
	s.Helper()
	for i := 0; i < len(pairs); i += 2 {
		got, err := s.store.Resolve(s.Context(), repo(pairs[i]))
		if err != nil || got != repo(pairs[i+1]) {
			s.Errorf("%q resolves to %q, %v; want %q", pairs[i], got, err, pairs[i+1])
		}
	}
}

func (s *suite) wantIdentity(name, want string) {
	s.Helper()
	if got, err := s.store.Identity(s.Context(), repo(name)); err != nil || got != want {
		s.Errorf("identity of %q: %q, %v; want %q", name, got, err, want)
	}
}

func orphan(identity string) string {
	r, err := store.Orphan(identity)
	if err != nil {
		panic(err)
	}
	return r.String()
}

const (
	first  = "github.com#1"
	second = "github.com#2"
)

var names = map[string]func(*suite){
	"a name without an identity stands for itself": func(s *suite) {
		s.wantNames("acme/none", "acme/none")
		s.wantIdentity("acme/none", "")
		s.apply(acme, put("a.md", "one"))
		s.wantNames("acme/api", "acme/api")
		s.wantIdentity("acme/api", "")
		if _, err := s.store.Bind(s.Context(), acme, ""); err == nil {
			s.Error("a name was bound to nothing")
		}
		if _, err := s.store.Bind(s.Context(), api.Repo{}, first); err == nil {
			s.Error("no name was bound")
		}
	},
	"binding ties data, before and after it is there": func(s *suite) {
		s.bind("acme/new", first)
		s.wantNoRepo(repo("acme/new"))
		s.wantEqual("repos", len(s.repos()), 0)
		head := s.apply(acme, put("a.md", "one"))
		s.bind("acme/api", second)
		for range 2 {
			s.wantIdentity("acme/new", first)
			s.wantIdentity("acme/api", second)
			s.wantEqual("head", s.head(acme), head)
			s.bind("acme/api", second)
			s.wantEqual("rows", len(s.wantChain(acme)), 1)
			s.reopen()
		}
		if got := s.apply(repo("acme/new"), put("a.md", "one")); got.Version != 1 {
			s.Errorf("first change after the binding: %+v", got)
		}
		s.wantIdentity("acme/new", first)
	},
	"everything follows a rename": func(s *suite) {
		s.bind("acme/api", first)
		s.apply(acme, put("a.md", "one"))
		head := s.apply(acme, put("a.md", "two"), redact("three"))
		s.allowRule(acme, policyEntry("p", "rule", ""))
		if err := s.store.RecordRescan(s.Context(), acme, store.Rescan{Rules: "1-a", At: someTime}); err != nil {
			s.Fatal(err)
		}
		history, policy := s.history(acme, api.Key{}, 0), s.policy(acme)
		s.bind("acme/web", first)
		moved := repo("acme/web")
		want := *head
		want.Repo = moved
		for range 2 {
			s.wantNames("acme/api", "acme/web", "acme/web", "acme/web")
			s.wantEqual("head", s.head(moved), &want)
			s.wantEqual("history", s.history(moved, api.Key{}, 0), history)
			s.wantEqual("policy", s.policy(moved), policy)
			s.wantEqual("bodies", len(s.bodies(moved, "one", "two")), 2)
			s.wantEqual("repos", s.repos(), []api.Repo{moved})
			if r, err := s.store.Rescan(s.Context(), moved); err != nil || r.Rules != "1-a" {
				s.Errorf("marks: %+v, %v", r, err)
			}
			rows := s.wantChain(moved)
			if len(rows) != 3 || rows[2].Action != store.ActionRename {
				s.Errorf("chain: %+v", rows)
			}
			s.wantNoRepo(acme)
			s.wantEqual("chain of the old name", len(s.trail(acme)), 0)
			s.reopen()
		}
		if next := s.apply(moved, put("b.md", "x")); next.Version != 3 {
			s.Errorf("version %d after the rename", next.Version)
		}
		s.bind("acme/third", first)
		s.wantNames("acme/api", "acme/third", "acme/web", "acme/third")
		s.bind("acme/api", first) // and back
		s.wantNames("acme/api", "acme/api", "acme/web", "acme/api", "acme/third", "acme/api")
		s.wantChain(acme)
	},
	"nothing is written under a name that was given up": func(s *suite) {
		s.bind("acme/api", first)
		s.apply(acme, put("a.md", "one"))
		s.bind("acme/web", first)
		_, err := s.store.Update(s.Context(), acme, deciding(changeOf(put("b.md", "x"))))
		if !errors.Is(err, store.ErrRenamed) {
			s.Errorf("writing: %v, want ErrRenamed", err)
		}
		for what, err := range map[string]error{
			"policy": s.store.AddPolicyEntry(s.Context(), acme, policyEntry("p", "r", "")),
			"marks":  s.store.RecordRescan(s.Context(), acme, store.Rescan{Rules: "1-a", At: someTime}),
			"audit":  s.store.Audit(s.Context(), acme, store.Event{Action: store.ActionAllow, At: someTime}),
		} {
			if !errors.Is(err, store.ErrRenamed) {
				s.Errorf("%s: %v, want ErrRenamed", what, err)
			}
		}
		s.wantNoRepo(acme)
		s.wantEqual("repos", s.repos(), []api.Repo{repo("acme/web")})
	},
	"a new repository under an old name begins empty": func(s *suite) {
		s.bind("acme/api", first)
		s.apply(acme, put("a.md", "one"))
		s.bind("acme/web", first)
		s.bind("acme/api", second)
		s.wantNoRepo(acme)
		s.wantNames("acme/api", "acme/api", "acme/web", "acme/web")
		if head := s.apply(acme, put("b.md", "two")); head.Version != 1 || len(head.Items) != 1 {
			s.Errorf("head of the new repository: %+v", head)
		}
		s.wantIdentity("acme/api", second)
		s.wantIdentity("acme/web", first)
	},
	"a repository that lost its name finds its data again": func(s *suite) {
		s.bind("acme/api", first)
		s.apply(acme, put("a.md", "one"))
		s.bind("acme/api", second)
		s.wantNoRepo(acme)
		aside := repo(orphan(first))
		s.wantEqual("what moved aside", len(s.head(aside).Items), 1)
		s.wantIdentity(aside.String(), first)
		s.apply(acme, put("b.md", "two"))
		s.bind("acme/moved", first)
		s.wantEqual("what came back", len(s.wantChain(repo("acme/moved"))), 3)
		s.wantNoRepo(aside)
		s.wantNames("acme/api", "acme/api")
	},
	"two repositories swap their names": func(s *suite) {
		s.bind("acme/x", first)
		s.bind("acme/y", second)
		s.apply(repo("acme/x"), put("x.md", "x"))
		s.apply(repo("acme/y"), put("y.md", "y"))
		s.bind("acme/x", second)
		s.bind("acme/y", first)
		for range 2 {
			for name, want := range map[string]string{"acme/x": "y.md", "acme/y": "x.md"} {
				if items := s.head(repo(name)).Items; len(items) != 1 || items[0].Key != key(want) {
					s.Errorf("%q has %+v, want %s", name, items, want)
				}
				s.wantNames(name, name)
			}
			s.reopen()
		}
		s.wantEqual("repos", s.repos(), []api.Repo{repo("acme/x"), repo("acme/y")})
	},
	"data of nobody is not given away": func(s *suite) {
		s.bind("acme/old", first)
		s.apply(repo("acme/old"), put("a.md", "one"))
		before := s.apply(acme, put("b.md", "two"))
		if _, err := s.store.Bind(s.Context(), acme, first); !errors.Is(err, store.ErrNameTaken) {
			s.Errorf("binding a name that others use: %v, want ErrNameTaken", err)
		}
		s.wantEqual("head", s.head(acme), before)
		s.wantIdentity("acme/api", "")
		s.wantIdentity("acme/old", first)
		s.bind("acme/api", second) // nobody has data of that one: it is tied
		s.wantEqual("head", s.head(acme), before)
	},
	"what holds no data is no hindrance": func(s *suite) {
		s.bind("acme/empty", first)
		head := s.apply(acme, put("a.md", "one"))
		s.bind("acme/api", first)
		s.wantEqual("head", s.head(acme), head)
		s.wantIdentity("acme/api", first)
		s.wantIdentity("acme/empty", "")
		s.bind("acme/empty", second)
		s.apply(repo("acme/empty"), put("b.md", "two"))
		s.wantEqual("head", s.head(acme), head)
		s.wantChain(repo("acme/empty"))
	},
	"a policy is data": func(s *suite) {
		s.bind("acme/old", first)
		s.apply(repo("acme/old"), put("a.md", "one"))
		s.allowRule(acme, policyEntry("p", "r", ""))
		if _, err := s.store.Bind(s.Context(), acme, first); !errors.Is(err, store.ErrNameTaken) {
			s.Errorf("binding a name that has a policy: %v, want ErrNameTaken", err)
		}
	},
	"names change among writes": func(s *suite) {
		s.bind("acme/n0", first)
		ctx, stop := context.WithTimeout(s.Context(), time.Minute)
		defer stop()
		var all sync.WaitGroup
		var mu sync.Mutex
		written := make(map[string]bool)
		for w := range 4 {
			all.Go(func() {
				for i := range 30 {
					name := string(rune('a'+w)) + string(rune('0'+i%10)) + string(rune('0'+i/10)) + ".md"
					for {
						where, err := s.store.Resolve(ctx, repo("acme/n0"))
						if err == nil {
							_, err = s.store.Update(ctx, where, deciding(changeOf(put(name, name))))
						}
						if err == nil {
							break
						}
						if !errors.Is(err, store.ErrRenamed) {
							s.Errorf("writing: %v", err)
							return
						}
					}
					mu.Lock()
					written[name] = true
					mu.Unlock()
				}
			})
		}
		for _, name := range []string{"acme/n1", "acme/n2", "acme/n1", "acme/n3", "acme/n4"} {
			s.bind(name, first)
		}
		all.Wait()
		head := s.head(repo("acme/n4"))
		if len(head.Items) != len(written) || head.Version != uint64(len(written)) {
			s.Errorf("%d entries at version %d, %d were written", len(head.Items), head.Version, len(written))
		}
		s.wantEqual("repos", s.repos(), []api.Repo{repo("acme/n4")})
		s.wantChain(repo("acme/n4"))
	},
}
