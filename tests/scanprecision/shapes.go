package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/cputime"
	"github.com/teammem/teammemd/scanner/samples"
)

const (
	noteBytes  = 4 << 10
	mostNotes  = 2000
	worstBytes = 250_000
)

// start is what the first scan of a process costs.
type start struct {
	took time.Duration
	heap int64 // bytes that are still in use after it
}

// measureStart makes the first scan. It is true once in a process.
func measureStart(ctx context.Context) (start, error) {
	before := heap()
	begun := time.Now()
	s := scanner.New(scanner.Options{})
	if _, err := s.Scan(ctx, "note.md", "a first note\n"); err != nil {
		return start{}, fmt.Errorf("making the first scan: %w", err)
	}
	took := time.Since(begun)
	return start{took, heap() - before}, nil
}

// heap returns the bytes in use, garbage aside.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // the second empties what pools kept from the first
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// printNotes scans notes of 4 KB, one after the other.
func printNotes(ctx context.Context, out io.Writer, texts []string) error {
	s := scanner.New(scanner.Options{})
	notes := cut(texts)
	took := make([]time.Duration, len(notes))
	for i, note := range notes {
		var err error
		if took[i], _, err = timed(ctx, s, note); err != nil {
			return err
		}
	}
	slices.Sort(took)
	fmt.Fprintf(out, "%d notes of 4 KB: half within %.2f ms, 95 in 100 within %.2f ms\n",
		len(notes), milliseconds(took[len(took)/2]), milliseconds(took[len(took)*95/100]))
	return nil
}

// cut makes notes of the beginnings of texts; of all that there is, where no
// text is long enough.
func cut(texts []string) []string {
	var notes []string
	for _, text := range texts {
		if len(text) >= noteBytes && len(notes) < mostNotes {
			notes = append(notes, strings.ToValidUTF8(text[:noteBytes], ""))
		}
	}
	if len(notes) == 0 {
		return texts
	}
	return notes
}

// timed scans one text, which may be refused.
func timed(ctx context.Context, s *scanner.Scanner, text string) (took time.Duration, refused bool, err error) {
	begun := time.Now()
	_, err = s.Scan(ctx, "note.md", text)
	took = time.Since(begun)
	if _, refused = errors.AsType[*scanner.Refusal](err); refused {
		err = nil
	}
	return took, refused, err
}

// printWorst scans the largest texts in the shapes on which a detector is slow.
func printWorst(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "texts of %d bytes in the worst shapes, and what of the time was the processor's\n", worstBytes)
	for _, shape := range worst() {
		s := scanner.New(scanner.Options{})
		before := cputime.Used()
		took, refused, err := timed(ctx, s, shape.text)
		used := cputime.Used() - before
		if err != nil {
			return err
		}
		word := ""
		if refused {
			word = "  refused"
		}
		fmt.Fprintf(out, "  %-24s %8.1f ms %8.1f ms%s\n", shape.name, milliseconds(took), milliseconds(used), word)
	}
	return nil
}

type shape struct{ name, text string }

// worst makes the shapes; the secrets in them open nothing.
func worst() []shape {
	source := samples.NewSource(1, "scanprecision")
	repeat := func(name, unit string) shape {
		return shape{name, strings.Repeat(unit, worstBytes/len(unit))}
	}
	family := samples.Families()[0]
	return []shape{
		{"one random line", source.Text(samples.Alnum, worstBytes)},
		repeat("keywords alone", "key token secret password api auth aws sk github slack stripe twilio = : "),
		repeat("a secret a line", family.Sample()+"\n"),
		repeat("a label a line", "api_"+"key = \""+source.Text(samples.Alnum, 24)+"\"\n"),
		repeat("a password a line", "pass"+"word: "+source.Text(samples.Alnum, 5)+"!"+source.Text(samples.Alnum, 6)+"\n"),
		repeat("a described token a line", "The API "+"key of the geocoder is "+source.Text(samples.Alnum, 24)+".\n"),
		repeat("labels of two languages", "密钥："+source.Text(samples.Alnum, 24)+" пароль: x7!"+source.Text(samples.Alnum, 9)+"\n"),
		repeat("labels over lines", "password\nkey\ntoken\nX7k"+source.Text(samples.Alnum, 11)+"\n"),
		repeat("labels beside labels", "password passwort pwd "+source.Text(samples.Alnum, 6)+"!"+source.Text(samples.Alnum, 6)+" "),
		repeat("percent of percent", "%25"),
		repeat("heads of keys", "-----BEGIN "+"PRIVATE KEY-----\n"),
		repeat("spaces after labels", "password"+strings.Repeat(" ", 56)),
		repeat("base64 without end", "YWJj"),
	}
}
