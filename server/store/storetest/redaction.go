package storetest

import (
	"slices"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// redact takes contents out of the repo.
func redact(contents ...string) edit {
	return func(c *store.Change) {
		for _, content := range contents {
			c.Redact = append(c.Redact, api.SumString(content))
		}
	}
}

// ledger is what a head says of these contents when they are all that was
// redacted.
func ledger(contents ...string) []api.Checksum {
	var c store.Change
	redact(contents...)(&c)
	slices.SortFunc(c.Redact, func(a, b api.Checksum) int { return slices.Compare(a[:], b[:]) })
	return c.Redact
}

// had reports whether a key ever had a content, as decide sees it.
func (s *suite) had(r api.Repo, k, content string) (had bool) {
	s.Helper()
	_, err := s.store.Update(s.Context(), r, func(tx store.Tx) (_ store.Change, err error) {
		had, err = tx.Had(key(k), api.SumString(content))
		return store.Change{}, err
	})
	if err != nil {
		s.Fatal(err)
	}
	return had
}

var redactions = map[string]func(*suite){
	"a redacted content leaves nothing but who and when": func(s *suite) {
		allowing := func(c *store.Change) { c.Puts[0].Allowed = "1 rule=why" }
		s.apply(acme, put("a.md", "value"), put("copy/b.md", "value"), put("c.md", "other"), allowing)
		s.apply(acme, put("a.md", "later"), retire("copy/b.md"))
		before := s.history(acme, api.Key{}, 0)
		head := s.apply(acme, redact("value"))
		s.wantEqual("ledger", head.Redacted, ledger("value"))
		for range 2 {
			s.wantEqual("head read back", s.head(acme), head)
			s.wantEqual("bodies", s.bodies(acme, "value", "other"), map[api.Checksum]string{api.SumString("other"): "other"})
			if s.had(acme, "a.md", "value") || !s.had(acme, "a.md", "later") {
				s.Error("Had does not tell what is left")
			}
			want := slices.Clone(before)
			for i, v := range want {
				if v.Sum == api.SumString("value") {
					want[i] = store.Version{Version: v.Version, Op: v.Op, At: v.At, Actor: v.Actor, Rules: v.Rules, Redacted: true}
				}
			}
			s.wantEqual("history", s.history(acme, api.Key{}, 0), want)
			s.wantEqual("history of the key", len(s.history(acme, key("a.md"), 0)), 1)
			for _, v := range s.history(acme, api.Key{}, 0) {
				if v.Redacted && v.Salt != [16]byte{} {
					s.Error("a redacted version has a salt: its content can be guessed")
				}
			}
			s.reopen()
		}
	},
	"a redaction alone is a change": func(s *suite) {
		first := s.apply(acme, put("a.md", "one"))
		second := s.apply(acme, redact("never had", "nor this"))
		if second.Version != 2 || second.Checksum == first.Checksum || !second.Modified.Equal(someTime) {
			s.Errorf("head after redacting what was never there: %+v", second)
		}
		s.wantEqual("ledger", second.Redacted, ledger("never had", "nor this"))
		s.wantEqual("head after a redaction of the same", s.apply(acme, redact("nor this")), second)
		third := s.apply(acme, redact("nor this", "one"), put("a.md", "two"))
		s.wantEqual("ledger", third.Redacted, ledger("never had", "nor this", "one"))
		s.reopen()
		s.wantEqual("head after reopening", s.head(acme), third)
		fresh := s.apply(other, redact("one"))
		if fresh.Version != 1 || len(fresh.Redacted) != 1 {
			s.Errorf("a repo that begins with a redaction: %+v", fresh)
		}
		s.wantEqual("head of the fresh repo", s.head(other), fresh)
	},
	"a redaction must not leave its content in place": func(s *suite) {
		before := s.apply(acme, put("a.md", "value"), put("b.md", "value"), put("c.md", "other"))
		for name, c := range map[string]store.Change{
			"left live":       changeOf(redact("value")),
			"one left live":   changeOf(redact("value"), put("a.md", "clean")),
			"put by the same": changeOf(redact("value"), put("a.md", "value"), retire("b.md")),
			"no content":      {At: someTime, Redact: []api.Checksum{{}}},
		} {
			if _, err := s.store.Update(s.Context(), acme, deciding(c)); err == nil {
				s.Errorf("%s: accepted", name)
			}
		}
		s.wantEqual("head", s.head(acme), before)
		after := s.apply(acme, redact("value"), put("a.md", "clean"), retire("b.md"))
		if _, err := s.store.Update(s.Context(), acme, deciding(changeOf(put("d.md", "value")))); err == nil {
			s.Error("a redacted content came back")
		}
		s.wantEqual("head after the redaction", s.head(acme), after)
		s.apply(other, put("d.md", "value")) // another repo's ledger is its own
	},
	"a redaction takes what was put a moment ago": func(s *suite) {
		s.apply(acme, put("a.md", "one"))
		for _, content := range []string{"x", "y", "z"} {
			s.apply(acme, put("a.md", content))
			s.apply(acme, put("a.md", "one"), redact(content))
		}
		s.wantEqual("ledger", s.head(acme).Redacted, ledger("x", "y", "z"))
		s.wantEqual("bodies", len(s.bodies(acme, "x", "y", "z", "one")), 1)
		if s.harness.Crash == nil {
			return
		}
		left := s.crash()
		bodies, err := left.Bodies(s.Context(), acme, ledger("x", "y", "z"))
		if err != nil || len(bodies) != 0 {
			s.Errorf("%d redacted bodies came back after a crash, %v", len(bodies), err)
		}
	},
}
