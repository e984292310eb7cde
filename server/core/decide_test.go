package core

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// state is what decide sees, as a value.
type state struct {
	head *store.Head
	had  map[string]bool // key + "=" + content
}

func (s state) Head() *store.Head { return s.head }

func (s state) Had(key api.Key, sum api.Checksum) (bool, error) {
	for pair := range s.had {
		name, content, _ := strings.Cut(pair, "=")
		if name == key.String() && api.SumString(content) == sum {
			return true, nil
		}
	}
	return false, nil
}

// stateWith makes a state of version 9: live entries as "key=content", and
// tombstones as "key@version", whose earlier content is "old".
func stateWith(tb testing.TB, rows ...string) state {
	tb.Helper()
	s := state{head: &store.Head{Version: 9, Epoch: "e"}, had: map[string]bool{}}
	for _, row := range rows {
		if name, content, live := strings.Cut(row, "="); live {
			s.head.Items = append(s.head.Items, store.Item{Key: key(tb, name), Sum: api.SumString(content), Version: 1})
			s.had[row] = true
			continue
		}
		name, version, _ := strings.Cut(row, "@")
		tomb := store.Tomb{Key: key(tb, name)}
		if _, err := fmt.Sscan(version, &tomb.Version); err != nil {
			tb.Fatal(err)
		}
		s.head.Tombs = append(s.head.Tombs, tomb)
		s.had[name+"=old"] = true
	}
	slices.SortFunc(s.head.Items, func(a, b store.Item) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(s.head.Tombs, func(a, b store.Tomb) int { return a.Key.Compare(b.Key) })
	s.head.Seal()
	return s
}

func key(tb testing.TB, s string) api.Key {
	tb.Helper()
	k, err := api.ParseKey(s)
	if err != nil {
		tb.Fatalf("ParseKey(%q): %v", s, err)
	}
	return k
}

func sum(content string) string { return api.SumString(content).String() }

// outcome is a decision as text: "+key" put, "-key" retired, "~key" ignored, or
// the error_code and the keys that it names.
func outcome(v verdict, err error) string {
	var words []string
	if e, ok := errors.AsType[*api.Error](err); ok {
		words = append(words, api.Row(err).Code)
		for _, f := range e.Details.Findings {
			words = append(words, f.Key+":"+f.Rule)
		}
		for _, k := range slices.Sorted(maps.Keys(e.Details.Conflicts)) {
			words = append(words, k+" is "+e.Details.Conflicts[k])
		}
		return strings.Join(words, " ")
	}
	if err != nil {
		return err.Error()
	}
	for _, put := range v.puts {
		words = append(words, "+"+put.Key.String())
	}
	for _, k := range v.retire {
		words = append(words, "-"+k.String())
	}
	for _, k := range v.ignored {
		words = append(words, "~"+k)
	}
	return strings.Join(words, " ")
}

type entries = map[string]string

func TestDecide(t *testing.T) {
	writer := rights{mayRetire: true}
	maintainer := rights{mayRetire: true, mayRevive: true}
	tests := []struct {
		name    string
		rows    []string
		request api.PushRequest
		ifMatch *Match
		who     rights
		max     int
		want    string
	}{
		{name: "nothing asked", want: ""},
		{name: "create and update", rows: []string{"a=1"}, request: api.PushRequest{Entries: entries{"a": "2", "b": "1"}}, want: "+a +b"},
		{name: "same content again", rows: []string{"a=1"}, request: api.PushRequest{Entries: entries{"a": "1", "b": "1"}}, want: "+b"},

		{name: "expected content", rows: []string{"a=1"}, request: api.PushRequest{Entries: entries{"a": "2"}, Expect: entries{"a": sum("1")}}, want: "+a"},
		{name: "expected absence", request: api.PushRequest{Entries: entries{"a": "2"}, Expect: entries{"a": ""}}, want: "+a"},
		{
			name: "all conflicts named", rows: []string{"a=1", "b=1", "c@4"},
			request: api.PushRequest{
				Entries: entries{"a": "2", "b": "2", "c": "2", "d": "2", "e": "2"},
				Expect:  entries{"a": "", "b": sum("0"), "c": "", "d": sum("1"), "e": ""},
			},
			want: "precondition_failed a is " + sum("1") + " b is " + sum("1") + " c is tombstone:4 d is ",
		},
		{name: "guard on another key", rows: []string{"g=1"}, request: api.PushRequest{Entries: entries{"a": "2"}, Expect: entries{"g": sum("0")}}, want: "precondition_failed g is " + sum("1")},
		{name: "retried, result holds", rows: []string{"a=2"}, request: api.PushRequest{Entries: entries{"a": "2"}, Expect: entries{"a": sum("1")}}, want: ""},
		{name: "half retried", rows: []string{"a=2", "b=1"}, request: api.PushRequest{Entries: entries{"a": "2", "b": "2"}, Expect: entries{"a": sum("1"), "b": sum("1")}}, want: "+b"},
		{name: "half retried, half stale", rows: []string{"a=2", "b=3"}, request: api.PushRequest{Entries: entries{"a": "2", "b": "2"}, Expect: entries{"a": sum("1"), "b": sum("1")}}, want: "precondition_failed b is " + sum("3")},

		{name: "If-Match current", rows: []string{"a=1"}, request: api.PushRequest{Entries: entries{"a": "2"}}, ifMatch: &Match{Sums: []api.Checksum{stateWith(t, "a=1").head.Checksum}}, want: "+a"},
		{name: "If-Match any", rows: []string{"a=1"}, request: api.PushRequest{Entries: entries{"a": "2"}}, ifMatch: &Match{Any: true}, want: "+a"},
		{name: "If-Match stale", rows: []string{"a=1"}, request: api.PushRequest{Entries: entries{"a": "2"}}, ifMatch: &Match{Sums: []api.Checksum{{1}}}, want: "precondition_failed"},
		{name: "If-Match of nothing readable", rows: []string{"a=1"}, request: api.PushRequest{Entries: entries{"a": "2"}}, ifMatch: &Match{}, want: "precondition_failed"},
		{name: "If-Match stale, result holds", rows: []string{"a=1"}, request: api.PushRequest{Entries: entries{"a": "1"}}, ifMatch: &Match{Sums: []api.Checksum{{1}}}, want: ""},

		{name: "retire", rows: []string{"a=1", "b=1"}, request: api.PushRequest{SoftDeleteKeys: []string{"a", "a"}}, who: writer, want: "-a"},
		{name: "retire what is retired or unknown", rows: []string{"a@3"}, request: api.PushRequest{SoftDeleteKeys: []string{"a", "b"}}, who: writer, want: ""},
		{name: "retire, stale", rows: []string{"a=1"}, request: api.PushRequest{SoftDeleteKeys: []string{"a"}, Expect: entries{"a": sum("0")}}, who: writer, want: "precondition_failed a is " + sum("1")},
		{name: "retire again, stale", rows: []string{"a@3", "b=1"}, request: api.PushRequest{SoftDeleteKeys: []string{"a", "b"}, Expect: entries{"a": sum("0")}}, who: writer, want: "-b"},

		{name: "earlier content of a retired key", rows: []string{"a@3"}, request: api.PushRequest{Entries: entries{"a": "old", "b": "1"}}, want: "+b ~a"},
		{name: "only that", rows: []string{"a@3"}, request: api.PushRequest{Entries: entries{"a": "old"}}, want: "~a"},
		{name: "new content of retired keys", rows: []string{"a@3", "b@4"}, request: api.PushRequest{Entries: entries{"a": "new", "b": "new", "c": "1"}}, who: maintainer, want: "key_retired a:key_retired b:key_retired"},
		{name: "revive", rows: []string{"a@3"}, request: api.PushRequest{Entries: entries{"a": "old"}, Expect: entries{"a": "tombstone:3"}}, who: maintainer, want: "+a"},
		{name: "revive by a writer", rows: []string{"a@3"}, request: api.PushRequest{Entries: entries{"a": "new"}, Expect: entries{"a": "tombstone:3"}}, who: writer, want: "forbidden"},
		{name: "revive another tombstone", rows: []string{"a@3"}, request: api.PushRequest{Entries: entries{"a": "new"}, Expect: entries{"a": "tombstone:2"}}, who: maintainer, want: "precondition_failed a is tombstone:3"},
		{name: "revive what lives", rows: []string{"a=1"}, request: api.PushRequest{Entries: entries{"a": "new"}, Expect: entries{"a": "tombstone:2"}}, who: maintainer, want: "precondition_failed a is " + sum("1")},
		{name: "revive retried by a writer", rows: []string{"a=new"}, request: api.PushRequest{Entries: entries{"a": "new"}, Expect: entries{"a": "tombstone:2"}}, who: writer, want: ""},

		{name: "case twin", rows: []string{"readme.md=1"}, request: api.PushRequest{Entries: entries{"README.md": "2", "x": "1"}}, want: "key_conflict README.md:key_conflict"},
		{name: "case twin in a folder", rows: []string{"Notes/a.md=1"}, request: api.PushRequest{Entries: entries{"notes/A.md": "2"}}, want: "key_conflict notes/A.md:key_conflict"},
		{name: "case twin by full folding", rows: []string{"straße=1"}, request: api.PushRequest{Entries: entries{"STRASSE": "2"}}, want: "key_conflict STRASSE:key_conflict"},
		{name: "case twins in one request", request: api.PushRequest{Entries: entries{"a": "1", "A": "1", "b": "1"}}, want: "key_conflict A:key_conflict a:key_conflict"},
		{name: "twins that live already", rows: []string{"a=1", "A=1"}, request: api.PushRequest{Entries: entries{"a": "2"}}, want: "+a"},
		{name: "case rename", rows: []string{"readme.md=1"}, request: api.PushRequest{Entries: entries{"README.md": "1"}, SoftDeleteKeys: []string{"readme.md"}}, who: writer, want: "+README.md -readme.md"},
		{name: "twin of a retired key", rows: []string{"readme.md@2"}, request: api.PushRequest{Entries: entries{"README.md": "1"}}, want: "+README.md"},
		{name: "file where a folder is", rows: []string{"a/b/c=1"}, request: api.PushRequest{Entries: entries{"a": "1", "a/b": "1", "a/bc": "1"}}, want: "key_conflict a:key_conflict a/b:key_conflict a/bc:key_conflict"},
		{name: "folder where a file is", rows: []string{"a=1"}, request: api.PushRequest{Entries: entries{"A/b/c": "1", "ab": "1"}}, want: "key_conflict A/b/c:key_conflict"},
		{name: "file against folder in one request", request: api.PushRequest{Entries: entries{"a": "1", "a/b": "1", "ab/c": "1"}}, want: "key_conflict a:key_conflict a/b:key_conflict"},
		{name: "folder becomes file", rows: []string{"a/b=1"}, request: api.PushRequest{Entries: entries{"a": "1"}, SoftDeleteKeys: []string{"a/b"}}, who: writer, want: "+a -a/b"},

		{name: "cap reached", rows: []string{"a=1", "b=1"}, request: api.PushRequest{Entries: entries{"c": "1", "d": "1"}}, max: 3, want: "team_memory_too_many_entries"},
		{name: "cap kept by retiring", rows: []string{"a=1", "b=1"}, request: api.PushRequest{Entries: entries{"c": "1"}, SoftDeleteKeys: []string{"a"}}, who: writer, max: 2, want: "+c -a"},
		{name: "above a lowered cap", rows: []string{"a=1", "b=1"}, request: api.PushRequest{Entries: entries{"a": "2"}}, max: 1, want: "+a"},

		{name: "bad keys and what the head shows", rows: []string{"a=1", "r@2"}, request: api.PushRequest{Entries: entries{"A": "1", "..": "1", "r": "new", "ok": "1"}, Expect: entries{"ok": sum("0")}}, want: "key_invalid ..:key_invalid A:key_conflict r:key_retired"},
		{name: "stale comes before retired", rows: []string{"a=1", "r@2"}, request: api.PushRequest{Entries: entries{"a": "2", "r": "new"}, Expect: entries{"a": ""}}, want: "precondition_failed a is " + sum("1")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := check(tt.request, api.MaxEntryBytes)
			if err != nil {
				t.Fatal(err)
			}
			lim := limits{maxEntries: tt.max, maxBytes: api.MaxEntryBytes}
			if tt.max == 0 {
				lim.maxEntries = 100
			}
			s := stateWith(t, tt.rows...)
			before := *s.head
			got := outcome(decide(s, p, tt.ifMatch, tt.who, lim))
			if got != tt.want {
				t.Errorf("decide = %q, want %q", got, tt.want)
			}
			if again := outcome(decide(s, p, tt.ifMatch, tt.who, lim)); again != got {
				t.Errorf("a second call decides %q, the first %q", again, got)
			}
			if s.head.Seal(); s.head.Checksum != before.Checksum || s.head.Version != before.Version {
				t.Error("decide changed the head that it was shown")
			}
		})
	}
}

func TestDecideRedacted(t *testing.T) {
	s := stateWith(t, "a=1")
	s.head.Redacted = []api.Checksum{api.SumString("gone")}
	p, err := check(api.PushRequest{Entries: entries{"a": "gone", "b": "gone", "c": "1"}}, api.MaxEntryBytes)
	if err != nil {
		t.Fatal(err)
	}
	got := outcome(decide(s, p, nil, rights{}, limits{maxEntries: 10}))
	if want := "content_redacted a:content_redacted b:content_redacted"; got != want {
		t.Errorf("decide = %q, want %q", got, want)
	}
}

func TestDecideCapNamesNumbers(t *testing.T) {
	p, err := check(api.PushRequest{Entries: entries{"c": "1", "d": "1"}}, api.MaxEntryBytes)
	if err != nil {
		t.Fatal(err)
	}
	_, err = decide(stateWith(t, "a=1", "b=1"), p, nil, rights{}, limits{maxEntries: 3})
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("decide = %v", err)
	}
	want := api.Details{MaxEntries: 3, ReceivedEntries: 4}
	if diff := cmp.Diff(want, e.Details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name    string
		request api.PushRequest
		want    string
	}{
		{"all bad keys named", api.PushRequest{Entries: entries{"../x": "1", "a//b": "1", "ok": "1"}, SoftDeleteKeys: []string{"/abs"}, Expect: entries{"con": ""}}, "key_invalid ../x:key_invalid /abs:key_invalid a//b:key_invalid con:key_invalid"},
		{"too large, all named", api.PushRequest{Entries: entries{"a": "12345", "b": "123456", "c": "1"}}, "entry_too_large a:entry_too_large b:entry_too_large"},
		{"not text", api.PushRequest{Entries: entries{"a": "x\x00", "b": "\xff"}}, "refused a:refused b:refused"},
		{"several kinds", api.PushRequest{Entries: entries{"a": "x\x00", "b": "12345", "..": "1"}}, "key_invalid ..:key_invalid a:refused b:entry_too_large"},
		{"both put and retired", api.PushRequest{Entries: entries{"a": "1"}, SoftDeleteKeys: []string{"a"}}, "bad_request"},
		{"expectation of nothing known", api.PushRequest{Entries: entries{"a": "1"}, Expect: entries{"a": "md5:1"}}, "bad_request"},
		{"expectation of no version", api.PushRequest{Entries: entries{"a": "1"}, Expect: entries{"a": "tombstone:0"}}, "bad_request"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := check(tt.request, 4)
			if err == nil {
				err = p.refused.err(4)
			}
			if got := outcome(verdict{}, err); got != tt.want {
				t.Errorf("check = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRefusalEchoesBoundedKeys(t *testing.T) {
	long := strings.Repeat("é", 1<<16)
	p, err := check(api.PushRequest{Entries: entries{long: "1"}}, 4)
	if err != nil {
		t.Fatal(err)
	}
	var e *api.Error
	if !errors.As(p.refused.err(4), &e) || len(e.Details.Findings) != 1 {
		t.Fatalf("refusal = %v", p.refused.err(4))
	}
	if n := len(e.Details.Findings[0].Key); n > maxEchoBytes || n < maxEchoBytes-4 {
		t.Errorf("echoed %d bytes of a key, want about %d", n, maxEchoBytes)
	}
}

// The cost of a first push into a large repo is one pass over its keys.
func BenchmarkKeyConflicts(b *testing.B) {
	s := state{head: &store.Head{Version: 1}}
	for i := range 10_000 {
		k, err := api.ParseKey(fmt.Sprintf("notes/Part-%02d/file-%05d.md", i%100, i))
		if err != nil {
			b.Fatal(err)
		}
		s.head.Items = append(s.head.Items, store.Item{Key: k})
	}
	slices.SortFunc(s.head.Items, func(a, b store.Item) int { return a.Key.Compare(b.Key) })
	var v verdict
	for i := range 50 {
		k, err := api.ParseKey(fmt.Sprintf("new/file-%05d.md", i))
		if err != nil {
			b.Fatal(err)
		}
		v.puts = append(v.puts, store.Put{Key: k})
	}
	b.ReportAllocs()
	for b.Loop() {
		var r refusal
		if keyConflicts(s.head, v, &r); !r.empty() {
			b.Fatal("conflicts found")
		}
	}
}
