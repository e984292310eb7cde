package scanner_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/cputime"
)

// prose returns about size bytes of English: the package comments of Go's own
// source, as they are installed on this machine.
func prose(b *testing.B, size int) string {
	b.Helper()
	root, err := exec.CommandContext(b.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		b.Skipf("SKIP: no Go installation to take prose from: %v", err)
	}
	var text strings.Builder
	walk := func(path string, entry fs.DirEntry, err error) error {
		if err != nil || text.Len() >= size || entry.Name() != "doc.go" {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		comment, _, _ := strings.Cut(string(source), "\npackage ")
		text.WriteString(comment)
		return nil
	}
	if err := filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), walk); err != nil {
		b.Fatal(err)
	}
	if text.Len() < size {
		return strings.Repeat(text.String(), size/text.Len()+1)[:size]
	}
	return text.String()[:size]
}

// run scans every text once a round and reports megabytes per CPU-second of
// the whole process, collector included, and the middle and slow scans.
func run(b *testing.B, texts []string) {
	b.Helper()
	s := scanner.New(scanner.Options{})
	if err := s.Canary(b.Context()); err != nil {
		b.Fatal(err)
	}
	if _, err := s.Scan(b.Context(), "", ""); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	bytes := 0
	before := cputime.Used()
	for b.Loop() {
		for _, text := range texts {
			start := time.Now()
			if _, err := s.Scan(b.Context(), "notes/deploy.md", text); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(start))
			bytes += len(text)
		}
	}
	used := (cputime.Used() - before).Seconds()
	slices.Sort(took)
	if used > 0 {
		b.ReportMetric(float64(bytes)/1e6/used, "MB/cpu-s")
	}
	b.ReportMetric(ms(took[len(took)/2]), "ms-p50")
	b.ReportMetric(ms(took[len(took)*95/100]), "ms-p95")
}

func BenchmarkNotes4KB(b *testing.B) {
	text := prose(b, 400<<10)
	var notes []string
	for at := 0; at+4096 <= len(text); at += 4096 {
		notes = append(notes, strings.ToValidUTF8(text[at:at+4096], ""))
	}
	run(b, notes)
}

func BenchmarkLargeProse(b *testing.B) {
	run(b, []string{strings.ToValidUTF8(prose(b, 250_000), "")})
}

// BenchmarkProseBesideStock scans the same prose with gitleaks' own detector in
// turns, so that a busy machine slows both: what counts is the ratio.
func BenchmarkProseBesideStock(b *testing.B) {
	if cputime.Used() == 0 {
		b.Skip("SKIP: this system does not tell processor time")
	}
	text := strings.ToValidUTF8(prose(b, 250_000), "")
	ours := scanner.New(scanner.Options{Deadline: time.Minute})
	if err := ours.Canary(b.Context()); err != nil {
		b.Fatal(err)
	}
	stock, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		b.Fatal(err)
	}
	const turns = 8 // of ours for one of theirs, which is slower
	var used [2]time.Duration
	scanned := 0
	for b.Loop() {
		before := cputime.Used()
		for range turns {
			if _, err := ours.Scan(b.Context(), "notes/deploy.md", text); err != nil {
				b.Fatal(err)
			}
		}
		between := cputime.Used()
		stock.DetectString(text)
		used[0], used[1] = used[0]+between-before, used[1]+cputime.Used()-between
		scanned += len(text)
	}
	speed := func(rounds int, used time.Duration) float64 { return float64(rounds*scanned) / 1e6 / used.Seconds() }
	b.ReportMetric(speed(turns, used[0]), "MB/cpu-s")
	b.ReportMetric(speed(1, used[1]), "stock-MB/cpu-s")
	b.ReportMetric(speed(turns, used[0])/speed(1, used[1]), "times-stock")
}

// BenchmarkWorst is the largest text in the shapes on which the detector is
// slowest. Those over the deadline are refused: that is counted, and what
// matters is that the caller is let go.
func BenchmarkWorst(b *testing.B) {
	const size = 250_000
	letters := "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	random := rand.New(rand.NewPCG(1, 2))
	var base62, labelled strings.Builder
	for base62.Len() < size {
		base62.WriteByte(letters[random.IntN(len(letters))])
	}
	for at := 0; labelled.Len() < size-80; at += 24 {
		labelled.WriteString("api_" + "key = \"" + base62.String()[at%200_000:][:24] + "\"\n")
	}
	words := "key token secret password api auth aws sk github slack stripe twilio = : "
	shapes := []struct{ name, text string }{
		{"one random line", base62.String()},
		{"keywords", strings.Repeat(words, size/len(words))},
		{"one finding a line", strings.Repeat(sample(b, "github-pat")+"\n", size/41)},
		{"one guess a line", labelled.String()},
		{"nested percent", strings.Repeat("%25", size/3)},
		{"pem heads", strings.Repeat("-----BEGIN "+"PRIVATE KEY-----\n", size/28)},
		{"spaces after labels", strings.Repeat("password"+strings.Repeat(" ", 56), size/64)},
	}
	for _, shape := range shapes {
		b.Run(strings.ReplaceAll(shape.name, " ", "-"), func(b *testing.B) {
			s := scanner.New(scanner.Options{})
			refused := 0
			for b.Loop() {
				_, err := s.Scan(b.Context(), "a.md", shape.text)
				if refusal := (*scanner.Refusal)(nil); errors.As(err, &refusal) {
					refused++
				} else if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(refused)/float64(b.N), "refused/op")
		})
	}
}

func BenchmarkCanary(b *testing.B) {
	s := scanner.New(scanner.Options{})
	for b.Loop() {
		if err := s.Canary(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if err := scanner.Load(); err != nil {
			b.Fatal(err)
		}
	}
}
