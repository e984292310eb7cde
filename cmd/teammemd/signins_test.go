package main

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

func TestChooseSignIns(t *testing.T) {
	t.Parallel()
	list := []api.SignIn{{ID: "aaa1"}, {ID: "aab2", Current: true}, {ID: "ccc3"}}
	tests := []struct {
		what  string
		flags endFlags
		ids   []string
		want  []string // nil: refused
	}{
		{"by id", endFlags{}, []string{"ccc3"}, []string{"ccc3"}},
		{"by its beginning", endFlags{}, []string{"c"}, []string{"ccc3"}},
		{"this one last", endFlags{}, []string{"aab", "ccc", "aaa"}, []string{"aaa1", "ccc3", "aab2"}},
		{"twice is once", endFlags{}, []string{"ccc3", "c"}, []string{"ccc3"}},
		{"all", endFlags{all: true}, nil, []string{"aaa1", "ccc3", "aab2"}},
		{"others", endFlags{others: true}, nil, []string{"aaa1", "ccc3"}},
		{"which of two", endFlags{}, []string{"aa"}, nil},
		{"nobody's", endFlags{}, []string{"aaa1", "x"}, nil},
		{"nothing", endFlags{}, []string{""}, nil},
	}
	for _, test := range tests {
		chosen, err := chooseSignIns(list, test.flags, test.ids)
		var got []string
		for _, s := range chosen {
			got = append(got, s.ID)
		}
		if !slices.Equal(got, test.want) || (err != nil) != (test.want == nil) || err != nil && !errors.Is(err, api.ErrUsage) {
			t.Errorf("%s: %v, %v; want %v", test.what, got, err, test.want)
		}
	}
}

func TestSinceTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 2, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "12h": now.Add(-12 * time.Hour), "2026-05-01T10:00:00Z": time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC),
		"2026-05-01": time.Date(2026, 5, 1, 0, 0, 0, 0, time.Local), "2026-05-01 08:00:00": time.Date(2026, 5, 1, 8, 0, 0, 0, time.Local),
	} {
		if got, err := sinceTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"soon", "-1h", "01.05.2026"} {
		if _, err := sinceTime(text, now); !errors.Is(err, api.ErrUsage) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
