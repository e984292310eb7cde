package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var reading = map[string]func(*suite){
	"bodies come byte for byte, once each": func(s *suite) {
		contents := []string{"", "one", "a\x00b", "line\r\nline\n", "grün 日本 🦊", strings.Repeat("x", api.MaxEntryBytes)}
		want := make(map[api.Checksum]string)
		var edits []edit
		for i, content := range contents {
			edits = append(edits, put(fmt.Sprintf("%d.md", i), content), put(fmt.Sprintf("copy/%d.md", i), content))
			want[api.SumString(content)] = content
		}
		s.apply(acme, edits...)
		asked := slices.Concat(contents, []string{"never written"}, contents)
		s.wantEqual("bodies", s.bodies(acme, asked...), want)
		slices.Reverse(asked)
		s.wantEqual("bodies in another order", s.bodies(acme, asked...), want)
		s.wantEqual("no bodies", s.bodies(acme), map[api.Checksum]string{})
	},
	"bodies of earlier versions stay": func(s *suite) {
		s.apply(acme, put("a.md", "one"), put("b.md", "same"))
		s.apply(acme, put("a.md", "two"), retire("b.md"))
		s.reopen()
		s.wantEqual("bodies", s.bodies(acme, "one", "two", "same"), map[api.Checksum]string{
			api.SumString("one"): "one", api.SumString("two"): "two", api.SumString("same"): "same",
		})
	},
	"history is newest first": func(s *suite) {
		s.apply(acme, put("a.md", "1"), put("b.md", "1"))
		s.apply(acme, put("a.md", "22"))
		s.apply(acme, retire("a.md"))
		s.apply(acme, put("a.md", "333"))
		var got []string
		for _, v := range s.history(acme, key("a.md"), 0) {
			got = append(got, fmt.Sprintf("%d %s %d %v", v.Version, v.Op, v.Bytes, v.Sum.IsZero()))
		}
		want := []string{"4 put 3 false", "3 retire 0 true", "2 put 2 false", "1 put 1 false"}
		s.wantEqual("history of a.md", got, want)

		all := s.history(acme, api.Key{}, 0)
		if len(all) != 5 || !slices.IsSortedFunc(all, func(a, b store.Version) int { return int(b.Version) - int(a.Version) }) {
			s.Errorf("history of the repo: %+v", all)
		}
		s.wantEqual("history of the repo, limited", s.history(acme, api.Key{}, 3), all[:3])
		s.wantEqual("history of a key, limited", s.history(acme, key("a.md"), 2), s.history(acme, key("a.md"), 0)[:2])
		s.wantEqual("history beyond its end", s.history(acme, api.Key{}, 100), all)
		s.wantEqual("history of an unknown key", s.history(acme, key("unknown.md"), 0), []store.Version{})
	},
	"history names actor, rules and content": func(s *suite) {
		change := changeOf(put("a.md", "one"), retire("b.md"))
		change.Actor = api.Actor{Token: "ci", Person: "Ada Ähm", Device: "laptop", Agent: "claude", Session: "s-1"}
		change.Rules = "8.30.1+abc"
		if _, err := s.store.Update(s.Context(), acme, deciding(change)); err != nil {
			s.Fatal(err)
		}
		row := store.Version{Version: 1, At: someTime, Actor: change.Actor, Rules: change.Rules}
		written, retired := row, row
		written.Key, written.Op, written.Sum, written.Bytes = key("a.md"), store.OpPut, api.SumString("one"), 3
		retired.Key, retired.Op = key("b.md"), store.OpRetire
		s.reopen()
		s.wantEqual("history of a.md", s.history(acme, key("a.md"), 0), []store.Version{written})
		s.wantEqual("history of b.md", s.history(acme, key("b.md"), 0), []store.Version{retired})
	},
	"a retired key leaves a tombstone until it is put again": func(s *suite) {
		s.apply(acme, put("a.md", "one"), put("b.md", "two"))
		head := s.apply(acme, retire("a.md"), retire("unseen.md"))
		s.wantEqual("tombstones", head.Tombs, []store.Tomb{{Key: key("a.md"), Version: 2}, {Key: key("unseen.md"), Version: 2}})
		if _, live := head.Item(key("a.md")); live || len(head.Items) != 1 {
			s.Errorf("items after retiring: %+v", head.Items)
		}
		head = s.apply(acme, retire("a.md"))
		if tomb, _ := head.Tomb(key("a.md")); tomb.Version != 3 {
			s.Errorf("tombstone of a key that was retired again: %+v", tomb)
		}
		head = s.apply(acme, put("a.md", "back"))
		if _, dead := head.Tomb(key("a.md")); dead {
			s.Error("a revived key has a tombstone")
		}
		if item, live := head.Item(key("a.md")); !live || item.Version != 4 {
			s.Errorf("revived item: %+v, %v", item, live)
		}
		s.reopen()
		s.wantEqual("head after reopening", s.head(acme), head)
	},
	"a rename is retire and put, and changes the checksum": func(s *suite) {
		before := s.apply(acme, put("old.md", "text"))
		after := s.apply(acme, retire("old.md"), put("new.md", "text"))
		if before.Checksum == after.Checksum {
			s.Error("the checksum did not change")
		}
		if after.Version != 2 || len(after.Items) != 1 || len(after.Tombs) != 1 {
			s.Errorf("head after the rename: %+v", after)
		}
		if got := len(s.history(acme, key("old.md"), 0)); got != 2 {
			s.Errorf("the old name has %d versions, want 2", got)
		}
	},
	"keys of all scripts sort by their bytes": func(s *suite) {
		names := []string{"z.md", "Z.md", "é.md", "e.md", "日本/メモ.md", "🦊.md", "with space.md", "100%.md", "_.md", "a/b.md", "a.md", "a-b.md", "ﬁ.md", "quote'\".md"}
		var edits []edit
		for i, name := range names {
			edits = append(edits, put(name, strconv.Itoa(i)))
		}
		s.apply(acme, edits...)
		s.apply(other, put("first.md", "x"))
		for _, name := range names { // one by one, in another order than sorted
			s.apply(other, put(name, name), retire("first.md"))
		}
		s.reopen()
		slices.Sort(names)
		for _, r := range []api.Repo{acme, other} {
			var got []string
			for _, item := range s.head(r).Items {
				got = append(got, item.Key.String())
				if found, ok := s.head(r).Item(item.Key); !ok || found != item {
					s.Errorf("Item(%q) = %+v, %v", item.Key, found, ok)
				}
			}
			s.wantEqual("keys", got, names)
		}
	},
	"a head never changes": func(s *suite) {
		s.apply(acme, put("a.md", "1"), put("b.md", "1"), retire("c.md"))
		head := s.head(acme)
		kept := *head
		kept.Items, kept.Tombs = slices.Clone(head.Items), slices.Clone(head.Tombs)
		s.apply(acme, put("a.md", "2"), retire("b.md"), put("c.md", "2"))
		s.apply(acme, put("0.md", "3"), retire("z.md"))
		s.wantEqual("the earlier head", head, &kept)
	},
	"reopening keeps everything": func(s *suite) {
		for i := range 20 {
			s.apply(acme, put(fmt.Sprintf("%d.md", i%7), strconv.Itoa(i)), retire(fmt.Sprintf("%d.md", 7+i%5)), at(someTime.Add(time.Duration(i)*time.Second)))
		}
		s.apply(other, put("a.md", "x"))
		head, second, history := s.head(acme), s.head(other), s.history(acme, api.Key{}, 0)
		for range 2 {
			s.reopen()
			s.wantEqual("head", s.head(acme), head)
			s.wantEqual("head of the second repo", s.head(other), second)
			s.wantEqual("history", s.history(acme, api.Key{}, 0), history)
		}
		if next := s.apply(acme, put("a.md", "on")); next.Version != head.Version+1 || next.Epoch != head.Epoch {
			s.Errorf("version %d, epoch %q after version %d, epoch %q", next.Version, next.Epoch, head.Version, head.Epoch)
		}
	},
}
