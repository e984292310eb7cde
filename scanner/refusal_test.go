package scanner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/cputime"
	"github.com/teammem/teammemd/scanner/samples"
)

func TestRefusals(t *testing.T) {
	value := sample(t, "github-pat")
	large := strings.Repeat("Nothing to see here.\n", scanner.DefaultMaxBytes/21+1)
	tests := []struct{ name, file, text, want string }{
		{"not UTF-8", "a.md", value + "\xff\n", scanner.NotText},
		{"cut rune", "a.md", "鍵"[:2], scanner.NotText},
		{"surrogate", "a.md", "\xed\xa0\x80", scanner.NotText},
		{"NUL", "a.md", value + "\x00", scanner.NotText},
		{"UTF-16 little endian", "a.md", "\xff\xfea\x00", scanner.NotText},
		{"UTF-16 big endian", "a.md", "\xfe\xff\x00a", scanner.NotText},
		{"name not UTF-8", "a\xff.md", "text", scanner.NotText},
		{"name with NUL", "a\x00.md", "text", scanner.NotText},
		{"one byte too large", "a.md", strings.Repeat("a", scanner.DefaultMaxBytes+1), scanner.TooLarge},
		{"large", "a.md", large, scanner.TooLarge},
		{"ten megabytes in one line", "a.md", strings.Repeat(value[4:34], 10<<20/30), scanner.TooLarge},
		{"long name", strings.Repeat("a", 4097), "text", scanner.TooLarge},
	}
	for _, tt := range tests {
		findings, err := scanner.New(scanner.Options{}).Scan(t.Context(), tt.file, tt.text)
		var refusal *scanner.Refusal
		if !errors.As(err, &refusal) || refusal.Reason != tt.want || refusal.Detail == "" || findings != nil {
			t.Errorf("%s: %d findings, error %v, want a refusal as %s", tt.name, len(findings), err, tt.want)
		}
	}
}

func TestLargestTextIsScanned(t *testing.T) {
	value := sample(t, "github-pat")
	line := "Nothing to see here, and a good deal of it.\n"
	text := strings.Repeat(line, scanner.DefaultMaxBytes/len(line)+1)[:scanner.DefaultMaxBytes-len(value)-1] + "\n" + value
	finding, ok := byRule(scan(t, "a.md", text), "github-pat")
	if start, _ := finding.Span(); !ok || start != len(text)-len(value) {
		t.Errorf("found: %t, at %d of %d", ok, start, len(text))
	}
}

func TestPanicIsARefusal(t *testing.T) {
	value := sample(t, "github-pat")
	s := scanner.New(scanner.Options{}).WithLook(func(_ context.Context, text string) bool {
		if strings.Contains(text, "boom") {
			panic("cannot read " + text)
		}
		return true
	})
	_, err := s.Scan(t.Context(), "a.md", "boom "+value)
	var refusal *scanner.Refusal
	if !errors.As(err, &refusal) || refusal.Reason != scanner.Unreadable {
		t.Fatalf("got %v, want a refusal as unreadable", err)
	}
	if strings.Contains(err.Error(), value) {
		t.Error("the error quotes the text")
	}
	if findings, err := s.Scan(t.Context(), "a.md", value); err != nil || len(findings) != 1 {
		t.Errorf("after a panic: %d findings, %v", len(findings), err)
	}
}

// TestDeadlineInterrupts scans a text that takes far longer than its deadline:
// every line has to be looked at by a rule, and is none of its tokens.
func TestDeadlineInterrupts(t *testing.T) {
	value := sample(t, "github-pat")
	line := value[:len(value)-1] + "\n"
	text := strings.Repeat(line, 64<<20/len(line))
	s := scanner.New(scanner.Options{MaxBytes: len(text), Deadline: 50 * time.Millisecond})
	if err := s.Canary(t.Context()); err != nil {
		t.Fatal(err)
	}
	start, used := time.Now(), cputime.Used()
	_, err := s.Scan(t.Context(), "a.md", text)
	took := time.Since(start)
	if used > 0 {
		took = min(took, cputime.Used()-used)
	}
	var refusal *scanner.Refusal
	if !errors.As(err, &refusal) || refusal.Reason != scanner.Unreadable {
		t.Errorf("got %v, want a refusal as unreadable", err)
	}
	// Checking 64 MiB for UTF-8 is no part of the deadline.
	if took > 2*time.Second {
		t.Errorf("the caller was let go after %v", took)
	}
}

func TestPartialAnswerIsNone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := scanner.New(scanner.Options{})
	if err := s.Canary(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.WithLook(func(_ context.Context, text string) bool {
		if strings.Contains(text, "leave") {
			cancel()
		}
		return true
	})
	findings, err := s.Scan(ctx, "a.md", "leave "+sample(t, "github-pat"))
	if !errors.Is(err, context.Canceled) || findings != nil {
		t.Errorf("got %d findings and %v, want the error of the context alone", len(findings), err)
	}
}

func TestCancelledScanIsNoVerdict(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := scanner.New(scanner.Options{}).Scan(ctx, "a.md", sample(t, "github-pat"))
	var refusal *scanner.Refusal
	if !errors.Is(err, context.Canceled) || errors.As(err, &refusal) {
		t.Errorf("got %v, want the error of the context alone", err)
	}
}

func TestFailedSelfTestStopsEverything(t *testing.T) {
	blind := true
	s := scanner.New(scanner.Options{}).WithLook(func(context.Context, string) bool { return !blind })
	_, err := s.Scan(t.Context(), "a.md", "clean")
	if !errors.Is(err, scanner.ErrSelfTest) {
		t.Fatalf("a blind scanner answered: %v", err)
	}
	for _, family := range samples.Families() {
		if !strings.Contains(err.Error(), family.Rule) {
			t.Errorf("the error does not name %s", family.Rule)
		}
	}
	blind = false
	if _, err := s.Scan(t.Context(), "a.md", "clean"); err != nil {
		t.Errorf("a scanner that sees again: %v", err)
	}
}

func TestOneMissingFamilyStopsEverything(t *testing.T) {
	missing := sample(t, "gitlab-pat")
	s := scanner.New(scanner.Options{}).WithLook(func(_ context.Context, text string) bool {
		return !strings.Contains(text, missing)
	})
	if err := s.Canary(t.Context()); !errors.Is(err, scanner.ErrSelfTest) {
		t.Errorf("got %v, want ErrSelfTest", err)
	}
}
