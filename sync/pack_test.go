package sync_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

func key(t interface{ Fatalf(string, ...any) }, s string) api.Key {
	k, err := api.ParseKey(s)
	if err != nil {
		t.Fatalf("ParseKey(%q): %v", s, err)
	}
	return k
}

// encoded is the body as the client sends it.
func encoded(t interface{ Fatalf(string, ...any) }, batch []api.Outgoing) int {
	put := api.PushRequest{Entries: map[string]string{}, Expect: map[string]string{}}
	for _, o := range batch {
		for rule, reason := range o.Allowed {
			put.Allowed = append(put.Allowed, api.Allowed{Key: o.Key.String(), Rule: rule, Reason: reason})
		}
		put.Entries[o.Key.String()], put.Expect[o.Key.String()] = o.Content, o.Expect
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(put); err != nil {
		t.Fatalf("encoding: %v", err)
	}
	return len(bytes.TrimSpace(buf.Bytes()))
}

func TestEncodedSizeIsExact(t *testing.T) {
	t.Parallel()
	tests := []string{
		"", "plain", `quotes " and \ backslashes`, "lines\nand\r\nand\ttabs", "controls \x00\x01\x1f\x7f\b\f",
		"<html>&amp;</html>", "Unicode é 漢字 🙂", "separators \u2028\u2029", strings.Repeat("a", 70_000),
	}
	for _, content := range tests {
		o := api.Outgoing{Key: key(t, "notes/é.md"), Content: content, Expect: api.SumString(content).String()}
		// One entry has no commas: two less than what it adds to a batch.
		want := encoded(t, []api.Outgoing{o})
		if got := len(`{"entries":{},"expect":{}}`) + teamsync.EncodedSize(o) - 2; got != want {
			t.Errorf("content %.20q: size %d, encoding has %d", content, got, want)
		}
	}
}

// TestAllowedCounts: what a person let pass has its place in the body.
func TestAllowedCounts(t *testing.T) {
	t.Parallel()
	o := api.Outgoing{Key: key(t, "notes/é.md"), Content: "x", Allowed: map[string]string{"a-rule": "example", "another": "revoked"}}
	want := encoded(t, []api.Outgoing{o})
	if got := len(`{"entries":{},"expect":{}}`) + teamsync.EncodedSize(o) - 3; got != want {
		t.Errorf("size %d, encoding has %d", got, want)
	}
}

func TestPackProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(100, 5000).Draw(rt, "limit")
		contents := rapid.SliceOfN(rapid.StringN(0, 400, 2000), 1, 60).Draw(rt, "contents")
		var entries []api.Outgoing
		for i, content := range contents {
			entries = append(entries, api.Outgoing{Key: key(rt, "n/"+strings.Repeat("k", i+1)), Content: content})
		}
		var seen []api.Outgoing
		for rest := entries; len(rest) > 0; {
			var batch []api.Outgoing
			batch, rest = teamsync.Pack(rest, limit)
			if len(batch) == 0 {
				rt.Fatalf("an empty batch: Pack would never end")
			}
			if size := encoded(rt, batch); size > limit && len(batch) > 1 {
				rt.Errorf("a batch of %d entries has %d bytes, the limit is %d", len(batch), size, limit)
			}
			if len(rest) > 0 {
				if size := encoded(rt, append(slices.Clone(batch), rest[0])); size+2 <= limit {
					rt.Errorf("the batch is not full: the next entry fits in %d of %d bytes", size, limit)
				}
			}
			seen = append(seen, batch...)
		}
		same := func(a, b api.Outgoing) bool { return cmp.Equal(a, b, cmpopts.EquateComparable(api.Key{})) }
		if !slices.EqualFunc(seen, entries, same) {
			rt.Errorf("packing lost, repeated or reordered entries")
		}
	})
}

func TestPackSendsALargeEntryAlone(t *testing.T) {
	t.Parallel()
	large := api.Outgoing{Key: key(t, "b.md"), Content: strings.Repeat("x", api.MaxEntryBytes)}
	small := api.Outgoing{Key: key(t, "a.md"), Content: "x"}
	batch, rest := teamsync.Pack([]api.Outgoing{small, large, small}, api.MaxBatchBytes)
	if len(batch) != 1 || batch[0].Key != small.Key {
		t.Errorf("first batch has %d entries, want the small one alone", len(batch))
	}
	batch, rest = teamsync.Pack(rest, api.MaxBatchBytes)
	if len(batch) != 1 || batch[0].Key != large.Key || len(rest) != 1 {
		t.Errorf("second batch has %d entries and %d are left, want the large one alone", len(batch), len(rest))
	}
}
