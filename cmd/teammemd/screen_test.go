package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/internal/control"
)

func TestScreenShowsOneTextInThePlaceOfAnother(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &screen{out: &out, size: func() (int, int) { return 10, 4 }}
	for _, tt := range []struct{ text, want string }{
		{"one\ntwo\n", "one\x1b[K\ntwo\x1b[K\n\x1b[J"},
		{"three\n", "\r\x1b[2Athree\x1b[K\n\x1b[J"},
		{"a line that is long\n\n", "\r\x1b[1Aa line th\x1b[K\n\x1b[K\n\x1b[J"},
		{"1\n2\n3\n", "\r\x1b[2A1\x1b[K\n2\x1b[K\n3\x1b[K\n\x1b[J"},
		{"1\n2\n3\n4\n5\n", "\r\x1b[3A1\x1b[K\n2\x1b[K\n... 3 mor\x1b[K\n\x1b[J"},
	} {
		out.Reset()
		if err := s.show(tt.text); err != nil || out.String() != tt.want {
			t.Errorf("%q: %q, %v, want %q", tt.text, out.String(), err, tt.want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line    string
		columns int
		want    string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc"},
		{"abc", 0, ""},
		{"ünï", 2, "ün"},
		{"日本語", 4, "日本"},
		{"日本語", 5, "日本"},
		{"a🙂b", 3, "a🙂"},
		{"a🙂b", 2, "a"},
	} {
		if got := cut(tt.line, tt.columns); got != tt.want {
			t.Errorf("%q at %d columns: %q, want %q", tt.line, tt.columns, got, tt.want)
		}
	}
}

func TestProgressText(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	p := &progressLine{begun: begun}
	if got := p.text(begun.Add(2500 * time.Millisecond)); !strings.HasSuffix(got, "  comparing  (2 s)") {
		t.Errorf("%q", got)
	}
	p.set(control.Progress{Planned: 7})
	if got := p.text(begun); !strings.Contains(got, "comparing") {
		t.Errorf("%q", got)
	}
	p.set(control.Progress{Done: 3, Planned: 7})
	if got := p.text(begun); !strings.HasSuffix(got, "  3 of 7  (0 s)") {
		t.Errorf("%q", got)
	}
	var none *progressLine // off a terminal
	none.set(control.Progress{})
	none.end()
}

func TestBell(t *testing.T) {
	t.Parallel()
	var b bell
	b.ring() // nobody waits
	first := b.next()
	select {
	case <-first:
		t.Error("it rang before it was rung")
	default:
	}
	b.ring()
	<-first
	if second := b.next(); second == first {
		t.Error("the next ring is the one that was")
	}
}

func TestPauseNotes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	if ended, err := endPause(dir, now); ended || err != nil || readPause(dir, now).active() {
		t.Errorf("without a note: ended %v, %v", ended, err)
	}
	note := pauseNote{Since: now, Until: now.Add(time.Hour)}
	if err := writePause(dir, note); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		at     time.Duration
		active bool
	}{{0, true}, {time.Hour - 1, true}, {time.Hour, false}, {48 * time.Hour, false}} {
		if got := readPause(dir, now.Add(tt.at)); got.active() != tt.active || tt.active && got != note {
			t.Errorf("after %s: %+v, want active %v", tt.at, got, tt.active)
		}
	}
	if ended, err := endPause(dir, now.Add(2*time.Hour)); ended || err != nil {
		t.Errorf("ending one that was over: ended %v, %v", ended, err)
	}
	if err := writePause(dir, pauseNote{Since: now}); err != nil {
		t.Fatal(err)
	}
	if got := readPause(dir, now.Add(1000*time.Hour)); !got.active() || !got.Until.IsZero() {
		t.Errorf("without an end: %+v", got)
	}
	if ended, err := endPause(dir, now); !ended || err != nil {
		t.Errorf("ended %v, %v", ended, err)
	}
}

func TestShellWord(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"a/b.md@1": "a/b.md@1", "two words@1": "'two words@1'", "": "''", "it's": `'it'\''s'`, "ü": "'ü'", "$x": "'$x'"} {
		if got := shellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
