package storetest

import (
	"errors"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

func (s *suite) policy(r api.Repo) store.Policy {
	s.Helper()
	p, err := s.store.Policy(s.Context(), r)
	if err != nil {
		s.Fatalf("policy of %q: %v", r, err)
	}
	return p
}

func (s *suite) allowRule(r api.Repo, e api.PolicyEntry) {
	s.Helper()
	if err := s.store.AddPolicyEntry(s.Context(), r, e); err != nil {
		s.Fatalf("adding %q to the policy of %q: %v", e.ID, r, err)
	}
}

func policyEntry(id, rule, keys string) api.PolicyEntry {
	return api.PolicyEntry{ID: id, Rule: rule, Keys: keys, Reason: "a reason", Actor: api.Actor{Token: "t", Person: "ada"}, At: someTime}
}

var policies = map[string]func(*suite){
	"a policy is kept, and each repo has its own": func(s *suite) {
		first, second := policyEntry("one", "rule-a", ""), policyEntry("two", "rule-b", "docs/**")
		second.ExpiresAt = someTime.Add(time.Hour)
		s.allowRule(acme, first)
		s.allowRule(acme, second)
		s.allowRule(other, policyEntry("one", "rule-a", ""))
		s.reopen()
		s.wantEqual("policy", s.policy(acme), store.Policy{Revision: 2, Entries: []api.PolicyEntry{first, second}})
		s.wantEqual("policy of the other", len(s.policy(other).Entries), 1)
		s.wantEqual("policy of none", s.policy(repo("acme/none")), store.Policy{})
		s.wantNoRepo(acme)
	},
	"an entry's ID is its own": func(s *suite) {
		s.allowRule(acme, policyEntry("one", "rule-a", ""))
		if err := s.store.AddPolicyEntry(s.Context(), acme, policyEntry("one", "rule-b", "")); err == nil {
			s.Error("an ID was taken twice")
		}
		s.wantEqual("revision", s.policy(acme).Revision, uint64(1))
	},
	"an entry takes the place of one about the same": func(s *suite) {
		s.allowRule(acme, policyEntry("one", "rule-a", "x/*"))
		s.allowRule(acme, policyEntry("bystander", "rule-a", ""))
		later := policyEntry("two", "rule-a", "x/*")
		later.At, later.Actor = someTime.Add(time.Minute), api.Actor{Person: "ben"}
		s.allowRule(acme, later)
		p := s.policy(acme)
		ended := policyEntry("one", "rule-a", "x/*")
		ended.EndedAt, ended.EndedBy = later.At, later.Actor
		s.wantEqual("entries", p.Entries, []api.PolicyEntry{ended, policyEntry("bystander", "rule-a", ""), later})
	},
	"an entry ends once and stays": func(s *suite) {
		s.allowRule(acme, policyEntry("one", "rule-a", ""))
		before := s.policy(acme).Revision
		by, when := api.Actor{Person: "ben"}, someTime.Add(time.Hour)
		if err := s.store.EndPolicyEntry(s.Context(), acme, "one", when, by); err != nil {
			s.Fatal(err)
		}
		s.reopen()
		p := s.policy(acme)
		want := policyEntry("one", "rule-a", "")
		want.EndedAt, want.EndedBy = when, by
		s.wantEqual("entries", p.Entries, []api.PolicyEntry{want})
		if p.Revision <= before {
			s.Errorf("revision %d after %d", p.Revision, before)
		}
		for r, id := range map[api.Repo]string{acme: "one", other: "one", repo("acme/none"): "none"} {
			if err := s.store.EndPolicyEntry(s.Context(), r, id, when, by); !errors.Is(err, store.ErrNoEntry) {
				s.Errorf("ending %q of %q: %v, want ErrNoEntry", id, r, err)
			}
		}
	},
	"what was allowed is kept with entry and version": func(s *suite) {
		allowing := func(c *store.Change) { c.Puts[0].Allowed = "1 rule=example" }
		s.apply(acme, put("a.md", "one"), allowing)
		s.reopen()
		item, _ := s.head(acme).Item(key("a.md"))
		s.wantEqual("of the entry", item.Allowed, "1 rule=example")
		s.apply(acme, put("a.md", "two"))
		s.reopen()
		item, _ = s.head(acme).Item(key("a.md"))
		s.wantEqual("of the next entry", item.Allowed, "")
		rows := s.history(acme, key("a.md"), 0)
		s.wantEqual("of the versions", []string{rows[0].Allowed, rows[1].Allowed}, []string{"", "1 rule=example"})
	},
	"what was found is recorded for each repo": func(s *suite) {
		s.apply(other, put("a.md", "one"))
		s.apply(acme, put("a.md", "one"))
		repos, err := s.store.Repos(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		s.wantEqual("repos", repos, []api.Repo{acme, other})
		for _, want := range []store.Rescan{
			{},
			{Rules: "1-a", At: someTime, Marks: []api.Mark{{Key: "a.md", Version: 1, Line: 2, Column: 3, Rule: "r", Tier: "block1", Reason: "why"}}},
			{Rules: "1-b", At: someTime.Add(time.Hour)},
		} {
			if want.Rules != "" {
				if err := s.store.RecordRescan(s.Context(), acme, want); err != nil {
					s.Fatal(err)
				}
			}
			s.reopen()
			got, err := s.store.Rescan(s.Context(), acme)
			if err != nil {
				s.Fatal(err)
			}
			s.wantEqual("what was found", got, want)
			if rest, _ := s.store.Rescan(s.Context(), other); rest.Rules != "" {
				s.Error("it was recorded of another repo")
			}
		}
	},
}
