package scanner_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/cputime"
	"github.com/teammem/teammemd/scanner/samples"
)

// hostile are texts that are made to be slow, far over the size that is
// scanned by default.
func hostile(t *testing.T) map[string]string {
	t.Helper()
	source := samples.NewSource(1, "hostile")
	words := "key token secret password api auth aws sk- github slack stripe twilio = : \" "
	nested := sample(t, "github-pat")
	for range 40 {
		nested = base64.StdEncoding.EncodeToString([]byte(nested))
		if len(nested) > 1<<20 {
			break
		}
	}
	var tokens, random strings.Builder
	for i := range uint64(20_000) {
		family := samples.Families()[i%36]
		tokens.WriteString(family.SampleFrom(i+1) + "\n")
	}
	for random.Len() < 10<<20 {
		random.WriteString(source.Text(samples.Alnum, 62))
	}
	return map[string]string{
		"a line of 10 MB":             random.String(),
		"1 MB of keywords":            strings.Repeat(words, 1<<20/len(words)),
		"base64 of base64":            nested,
		"20,000 tokens":               tokens.String(),
		"1 MB of percent signs":       strings.Repeat("%25", 1<<20/3),
		"1 MB of escapes":             strings.Repeat(`\u005c`, 1<<20/6),
		"1 MB of entities":            strings.Repeat("&amp;amp;", 1<<20/9),
		"1 MB of emphasis":            strings.Repeat("**_", 1<<20/3),
		"1 MB of heads of keys":       strings.Repeat("-----BEGIN "+"PRIVATE KEY-----\n", 1<<20/28),
		"1 MB of URLs without an end": strings.Repeat("https://a:b:c@", 1<<20/14),
		"1 MB of open comments":       strings.Repeat("<!-- <b ", 1<<20/8),
		"1 MB of quotes and pluses":   strings.Repeat(`"a" + `, 1<<20/6),
		"1 MB of zero-width spaces":   strings.Repeat("a\u200b", 1<<20/4),
		"1 MB of short lines":         strings.Repeat("aB3\n", 1<<20/4),
	}
}

// TestHostileTextsAreBounded scans them with a cap that lets them in: each has
// an answer, or a refusal that says why, soon after the deadline.
func TestHostileTextsAreBounded(t *testing.T) {
	const deadline = 2 * time.Second
	s := scanner.New(scanner.Options{MaxBytes: 16 << 20, Deadline: deadline})
	if err := s.Canary(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, text := range hostile(t) {
		start, used := time.Now(), cputime.Used()
		findings, err := s.Scan(t.Context(), "a.md", text)
		took := time.Since(start)
		if used > 0 {
			took = min(took, cputime.Used()-used) // others may have had the processor
		}
		var refusal *scanner.Refusal
		if err != nil && (!errors.As(err, &refusal) || refusal.Reason != scanner.Unreadable || refusal.Detail == "") {
			t.Errorf("%s: %v", name, err)
		}
		// One expression over a whole text, and the views of 10 MB, are the
		// longest stretches between two looks at the clock.
		if most := deadline + slowed(t, deadline); took > most {
			t.Errorf("%s: let go after %v, more than %v", name, took, most)
		}
		t.Logf("%s: %d bytes, %d findings, %v, %v", name, len(text), len(findings), err, took.Round(time.Millisecond))
	}
}

// slowed returns d, or as much more as the machine is slower at this moment than
// one that scans a clean text of 250 KB in 30 ms, at most ten times.
func slowed(t *testing.T, d time.Duration) time.Duration {
	t.Helper()
	text := strings.Repeat("The deploy of the week went to both regions without a pause.\n", 250_000/61)
	start := time.Now()
	scan(t, "", text)
	return time.Duration(float64(d) * min(10, max(1, float64(time.Since(start))/float64(30*time.Millisecond))))
}

// TestEveryTokenOfManyIsFound has no more tokens in a text than its cap lets in.
func TestEveryTokenOfManyIsFound(t *testing.T) {
	var text strings.Builder
	want := 0
	random := rand.New(rand.NewPCG(1, 2))
	for text.Len() < 200<<10 {
		family := samples.Families()[random.IntN(36)]
		fmt.Fprintf(&text, "%d: %s\n", want, family.SampleFrom(random.Uint64()))
		want++
	}
	held := make(map[int]bool)
	for _, f := range scan(t, "a.md", text.String()) {
		if f.Tier.Holds() {
			held[f.Line] = true
		}
	}
	line := 1
	for row := range strings.Lines(text.String()) {
		if strings.Contains(row, ": ") && !held[line] {
			t.Errorf("line %d of %d bytes is not found", line, len(row))
		}
		line++
	}
}
