package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

var someday = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestParseExpiry(t *testing.T) {
	tests := []struct {
		in   string
		want time.Time
	}{
		{"", time.Time{}},
		{"90d", someday.Add(90 * 24 * time.Hour)},
		{"2w", someday.Add(14 * 24 * time.Hour)},
		{"12h", someday.Add(12 * time.Hour)},
		{"30m", someday.Add(30 * time.Minute)},
		{"2026-03-02", time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)},
		{"2026-03-01T14:00:00+01:00", time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)},
	}
	for _, tt := range tests {
		got, err := parseExpiry(tt.in, someday)
		if err != nil || !got.Equal(tt.want) {
			t.Errorf("parseExpiry(%q) = %v, %v, want %v", tt.in, got, err, tt.want)
		}
	}
}

func TestParseExpiryRefuses(t *testing.T) {
	for _, in := range []string{
		"90", "d", "-1d", "+1d", "1.5d", "1y", "1D", " 1d", "0d", "0h", "999999999w", "2026-03-01", "2026-02-30",
		"2026-3-2", "2127-04-01T00:00:00Z", "1970-01-01", "tomorrow", "1d2h", "9999999999d", "2026-03-02T00:00:00",
	} {
		got, err := parseExpiry(in, someday)
		if !errors.Is(err, api.ErrUsage) || !got.IsZero() || strings.Contains(err.Error(), "\n") {
			t.Errorf("parseExpiry(%q) = %v, %v, want one line of %v", in, got, err, api.ErrUsage)
		}
	}
}

// FuzzParseExpiry looks for an end that lies in the past or beyond the bound.
func FuzzParseExpiry(f *testing.F) {
	for _, seed := range []string{"", "90d", "999999999w", "2026-03-02", "2026-03-01T14:00:00+01:00", "0001-01-01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := parseExpiry(in, someday)
		switch {
		case err != nil:
			if !errors.Is(err, api.ErrUsage) || !got.IsZero() {
				t.Errorf("%q: %v, %v", in, got, err)
			}
		case in == "":
		case !got.After(someday) || got.Sub(someday) > maxLife:
			t.Errorf("%q: %v", in, got)
		}
	})
}
