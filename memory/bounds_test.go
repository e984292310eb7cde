package memory_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/memory"
)

// worst are texts of the largest size that an entry has, in the shapes that are
// hard for one step or another of an alignment.
func worst() map[string][3]string {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for a secret
	of := func(lines []string) string {
		text := strings.Join(lines, "\n") + "\n"
		return text[:min(len(text), api.MaxEntryBytes)]
	}
	repeat := func(n int, line func(i int) string) string {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = line(i)
		}
		return of(lines)
	}
	binary := func(int) string { return string(rune('a' + random.IntN(2))) }
	few := func(int) string { return string(rune('a' + random.IntN(20))) }
	numbered := make([]string, 40_000)
	for i := range numbered {
		numbered[i] = fmt.Sprintf("%x", i)
	}
	shuffled := func() string {
		lines := append([]string(nil), numbered...)
		random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		return of(lines)
	}
	onion := func(side int) string {
		return repeat(40_000, func(i int) string { return fmt.Sprintf("%x", (i/2+side*(i%2)*7)%15_000) })
	}
	return map[string][3]string{
		"newlines": {
			strings.Repeat("\n", api.MaxEntryBytes), strings.Repeat("\n", api.MaxEntryBytes-1), strings.Repeat("\n", api.MaxEntryBytes/2),
		},
		"equal lines": {
			strings.Repeat("x\n", api.MaxEntryBytes/2), strings.Repeat("x\n", api.MaxEntryBytes/2-1) + "m\n", "t\n" + strings.Repeat("x\n", api.MaxEntryBytes/2-1),
		},
		"all different": {
			of(numbered), repeat(40_000, func(i int) string { return fmt.Sprintf("m%x", i) }), repeat(40_000, func(i int) string { return fmt.Sprintf("t%x", i) }),
		},
		"two kinds of lines":    {repeat(125_000, binary), repeat(125_000, binary), repeat(125_000, binary)},
		"twenty kinds of lines": {repeat(125_000, few), repeat(125_000, few), repeat(125_000, few)},
		"shuffled":              {of(numbered), shuffled(), shuffled()},
		"pairs":                 {onion(0), onion(1), onion(2)},
		"every other line": {
			of(numbered),
			repeat(40_000, func(i int) string { return fmt.Sprintf("%x%s", i, []string{"", "m"}[i%2]) }),
			repeat(40_000, func(i int) string { return fmt.Sprintf("%x%s", i, []string{"t", ""}[i%2]) }),
		},
		"one line": {strings.Repeat("x", api.MaxEntryBytes), strings.Repeat("x", api.MaxEntryBytes-1) + "m", strings.Repeat("x", api.MaxEntryBytes-1) + "t"},
	}
}

// TestWorstTexts bounds time and memory. What a merge takes is a tenth of a
// second, see BenchmarkWorst; the bound here is only one that a quadratic step
// cannot keep, on a machine that does other things as well.
func TestWorstTexts(t *testing.T) {
	for shape, texts := range worst() {
		for what, do := range map[string]func(){
			"merge": func() { memory.Merge(parse("a.md"), texts[0], texts[1], texts[2]) },
			"index": func() { memory.Merge(parse("MEMORY.md"), texts[0], texts[1], texts[2]) },
			"union": func() { memory.MergeWithoutBase(parse("MEMORY.md"), texts[1], texts[2]) },
			"marks": func() { memory.Marked(texts[0], texts[1], texts[2]) },
			"diff":  func() { memory.Unified("old", "new", texts[0], texts[1]) },
		} {
			took, bytes := cost(do)
			if took > 10*time.Second || bytes > 256<<20 {
				t.Errorf("%s of %s: %s, %d MiB", what, shape, took, bytes>>20)
			}
		}
	}
}

// cost is the time and the allocated memory of one call. No other test may run
// beside it.
func cost(do func()) (time.Duration, uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	do()
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	return took, after.TotalAlloc - before.TotalAlloc
}

func BenchmarkWorst(b *testing.B) {
	for shape, texts := range worst() {
		for _, name := range []string{"a.md", "MEMORY.md"} {
			b.Run(strings.ReplaceAll(shape, " ", "_")+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					memory.Merge(parse(name), texts[0], texts[1], texts[2])
				}
			})
		}
	}
}

// BenchmarkOrdinary is a note of 4 KB with an edit on each side, and an index of
// 200 entries with an addition on each side.
func BenchmarkOrdinary(b *testing.B) {
	note := strings.Repeat("A line of forty characters, more or less.\n", 100)
	var index strings.Builder
	for i := range 200 {
		fmt.Fprintf(&index, "- [Note %d](note-%d.md): what it is about\n", i, i)
	}
	for _, one := range []struct{ name, base, mine, theirs string }{
		{"a.md", note, "mine\n" + note, note + "theirs\n"},
		{"MEMORY.md", index.String(), index.String() + "- mine\n", index.String() + "- theirs\n"},
	} {
		b.Run(one.name, func(b *testing.B) {
			for b.Loop() {
				if _, clean := memory.Merge(parse(one.name), one.base, one.mine, one.theirs); !clean {
					b.Fatal("not clean")
				}
			}
		})
	}
}
