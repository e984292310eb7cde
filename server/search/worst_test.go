package search_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/search"
)

// BenchmarkWorst indexes four of the largest texts of an odd shape, and asks them the
// most that a query may ask. It reports the worst of all shapes.
func BenchmarkWorst(b *testing.B) {
	fill := func(s string) string { return strings.Repeat(s, api.MaxEntryBytes/len(s)) }
	shapes := map[string]string{
		"one word": fill("a"), "capitals": fill("aB"), "hyphens": fill("a-"), "underscores": fill("_a"), "marks": "e" + fill("\u0301"), "characters": fill("日本語"), "one character": fill("日"),
		"voiced": fill("ﾞ"), "spaces": fill(" "), "no words": fill("!"), "letters": fill("a "), "not UTF-8": fill("\xff"), "many terms": "", "lines": fill("#\n"), "frontmatter": "---\n" + fill("name: x\n"),
		"accents": fill("é "), "ligatures": fill("ﷺ "), "decomposed": fill("e\u0301\u0302\u0303 "),
	}
	var many strings.Builder
	for i := 0; many.Len() < api.MaxEntryBytes-10; i++ {
		fmt.Fprintf(&many, "%x ", i*7919)
	}
	shapes["many terms"] = many.String()
	queries := []string{
		strings.Repeat("a* ", 32), `"` + strings.Repeat("a ", 64) + `"`, strings.Repeat("a_", 31), strings.Repeat("日", 60), strings.Repeat("-a* ", 31) + "a", "aB", "aBaBaBaB", `"` + strings.Repeat("日 ", 60) + `"`,
		strings.Repeat("key:"+strings.Repeat("*a", 10)+" ", 32), "key:" + strings.Repeat("*a", 90), strings.Repeat("a-a ", 32), strings.Repeat("e* ", 32), "1* 2* 3* 4* 5* 6* 7* 8* 9* 0*",
	}
	for b.Loop() {
		var index, answer time.Duration
		var slow, hard string
		for name, text := range shapes {
			e := entries{}
			for i := range 4 {
				e[fmt.Sprintf("a/b/%d.md", i)] = text + strconv.Itoa(i)
			}
			began := time.Now()
			x := build(b, e)
			if took := time.Since(began); took > index {
				index, slow = took, name
			}
			for _, query := range queries {
				q := parse(b, query)
				began := time.Now()
				x.Find(q, search.Page{Limit: 100})
				if took := time.Since(began); took > answer {
					answer, hard = took, fmt.Sprintf("%.12s in %s", query, name)
				}
			}
		}
		b.ReportMetric(float64(index.Milliseconds()), "index-ms")
		b.ReportMetric(float64(answer.Milliseconds()), "answer-ms")
		b.Logf("the slowest index is of %s, the slowest answer is %s", slow, hard)
	}
}
