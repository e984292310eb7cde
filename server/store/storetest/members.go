package storetest

import (
	"crypto/sha256"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// letIn gives a new person a role in a repo, by a join code.
func (s *suite) letIn(name, where string, role api.Role) {
	s.Helper()
	code := store.JoinCode{Hash: sha256.Sum256([]byte("code of " + name + where)), Repo: repo(where), Role: role, ExpiresAt: someTime.Add(time.Hour)}
	if err := s.store.AddJoinCode(s.Context(), code); err != nil {
		s.Fatal(err)
	}
	if _, err := s.join("code of "+name+where, someTime, user(name)); err != nil {
		s.Fatal(err)
	}
}

func (s *suite) wantMember(name string, want ...store.Membership) {
	s.Helper()
	u, err := s.store.User(s.Context(), user(name).ID)
	if err != nil {
		s.Errorf("user %q: %v", name, err)
	}
	s.wantEqual("memberships of "+name, u.Member, want)
}

func member(where string, role api.Role) store.Membership {
	return store.Membership{Repo: repo(where), Role: role}
}

// members are about what follows a repo that gets another name.
var members = map[string]func(*suite){
	"memberships follow a rename, and nobody inherits them": func(s *suite) {
		s.bind("acme/api", first)
		s.apply(acme, put("a.md", "one"))
		s.letIn("ada", "acme/api", api.Writer)
		s.letIn("ada", "acme/api-docs", api.Reader)
		s.letIn("bob", "acme/api-docs", api.Reader)
		before := s.generation()
		s.bind("acme/web", first)
		if s.generation() == before {
			s.Error("a membership moved and the generation did not")
		}
		s.reopen()
		for range 2 {
			s.wantMember("ada", member("acme/web", api.Writer), member("acme/api-docs", api.Reader))
			s.wantMember("bob", member("acme/api-docs", api.Reader))
			s.bind("acme/api", second) // another repository takes the name
		}
	},
	"memberships go aside with the data that lost its name": func(s *suite) {
		s.bind("acme/api", first)
		s.apply(acme, put("a.md", "one"))
		s.letIn("ada", "acme/api", api.Writer)
		s.bind("acme/api", second)
		s.wantMember("ada", member(orphan(first), api.Writer))
		s.letIn("ada", "acme/moved", api.Reader) // before the repository was seen there
		s.bind("acme/moved", first)
		s.wantMember("ada", member("acme/moved", api.Writer))
	},
	"who was let into a repository without data is not let into the next": func(s *suite) {
		s.bind("acme/api", first)
		s.letIn("ada", "acme/api", api.Writer)
		s.bind("acme/old", second)
		s.apply(repo("acme/old"), put("a.md", "one"))
		s.bind("acme/api", second)
		s.wantMember("ada", member(orphan(first), api.Writer))
	},
	"a name that nobody had takes its members along": func(s *suite) {
		s.letIn("ada", "acme/api", api.Writer)
		s.bind("acme/api", first)
		s.wantMember("ada", member("acme/api", api.Writer))
	},
	"join codes and tokens for one repo follow it": func(s *suite) {
		s.bind("acme/api", first)
		s.apply(acme, put("a.md", "one"))
		one, all := token("one"), token("all")
		one.Repos, all.Repos = "acme/api", "acme/*"
		for _, t := range []store.Token{one, all} {
			if err := s.store.AddToken(s.Context(), t); err != nil {
				s.Fatal(err)
			}
		}
		code := store.JoinCode{Hash: sha256.Sum256([]byte("late")), Repo: acme, Role: api.Writer, ExpiresAt: someTime.Add(time.Hour)}
		if err := s.store.AddJoinCode(s.Context(), code); err != nil {
			s.Fatal(err)
		}
		before := s.generation()
		s.bind("acme/web", first)
		if s.generation() == before {
			s.Error("a token moved and the generation did not")
		}
		s.bind("acme/api", second)
		tokens, err := s.store.Tokens(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		repos := map[string]string{}
		for _, t := range tokens {
			repos[t.ID] = t.Repos
		}
		s.wantEqual("what tokens are for", repos, map[string]string{one.ID: "acme/web", all.ID: "acme/*"})
		if _, err := s.join("late", someTime, user("eve")); err != nil {
			s.Fatal(err)
		}
		s.wantMember("eve", member("acme/web", api.Writer))
	},
}
