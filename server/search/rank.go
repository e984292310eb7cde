package search

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
)

// The two parameters of BM25, at the values that Robertson and Zaragoza name for
// it ("The Probabilistic Relevance Framework: BM25 and Beyond", Foundations and
// Trends in Information Retrieval 3(4), 2009, section 3.4.2) and that Lucene
// takes: k1 is how soon more of a word counts no more, b how far a long text is
// discounted.
const (
	k1 = 1.2
	b  = 0.75
)

// Page selects some of the results.
type Page struct{ Limit, Offset int }

// Match says how an entry had to match.
type Match string

// The ways to match.
const (
	MatchAll Match = "all" // every word, phrase and pattern of the query
	MatchAny Match = "any" // one of them: no entry had all
)

// Found is the answer to a query.
type Found struct {
	Match   Match
	Total   int // entries that match
	Results []Result
}

// Result is one entry.
type Result struct {
	Key      api.Key
	Modified time.Time
	Score    float64 // for comparison within one answer; 0 for a pattern alone
	Snippet
}

// Search returns the entries that match, best first, those of equal score by key.
// Where no entry has all that was asked for, those with a part of it match; what
// was to be left out is left out all the same.
func (x *Index) Search(ctx context.Context, q *Query, page Page) (Found, error) {
	found := Found{Match: MatchAll}
	if x == nil || x.docs == 0 {
		return found, nil
	}
	r := ranking{Index: x, finder: finder{ctx: ctx}, keep: max(page.Limit, 0) + max(page.Offset, 0)}
	clauses := q.must
	r.rank(q, clauses, true)
	if r.total == 0 {
		if apart := q.single(); len(apart) > 1 {
			if r.rank(q, apart, false) {
				found.Match, clauses = MatchAny, apart
			}
		}
	}
	found.Total = r.total
	for _, one := range r.best[min(max(page.Offset, 0), len(r.best)):] {
		d := x.doc(one.doc)
		found.Results = append(found.Results, Result{
			Key: d.key, Modified: d.modified, Score: one.weight, Snippet: r.snippet(d, clauses),
		})
	}
	if err := ctx.Err(); err != nil {
		return Found{}, fmt.Errorf("searching: %w", err)
	}
	return found, nil
}

// doc returns the doc of a number.
func (x *Index) doc(number int) *doc {
	low, high := 0, len(x.bases)
	for high-low > 1 {
		if mid := int(uint(low+high) >> 1); x.bases[mid] <= number {
			low = mid
		} else {
			high = mid
		}
	}
	return x.leaves[low].docs[number-x.bases[low]]
}

// ranking is one search under way.
type ranking struct {
	*Index
	finder

	keep  int // results that are wanted
	total int
	best  []hit // weight is the score; best first
}

// rank finds the docs with all clauses, or with any, and reports whether there
// are some.
func (r *ranking) rank(q *Query, clauses []clause, all bool) bool {
	scores, counts := r.score(clauses)
	for _, c := range q.not {
		for _, h := range r.hits(r.Index, c) {
			counts[h.doc] = -1 // whatever it has: less than a pattern alone needs
		}
	}
	need := 1
	if all {
		need = len(clauses)
	}
	r.total, r.best = 0, r.best[:0]
	for number, count := range counts {
		if count < need {
			continue
		}
		if len(q.keys)+len(q.notKeys) > 0 && (r.ended() || !q.admits(r.doc(number).key)) {
			continue
		}
		r.total++
		r.offer(hit{number, scores[number]})
	}
	return r.total > 0
}

// score returns for each doc what its clauses are worth, and how many it has.
func (r *ranking) score(clauses []clause) (scores []float64, counts []int) {
	scores, counts = make([]float64, r.docs), make([]int, r.docs)
	average := float64(r.length) / float64(r.docs)
	for _, c := range clauses {
		hits := r.hits(r.Index, c)
		rarity := math.Log(1 + (float64(r.docs-len(hits))+0.5)/(float64(len(hits))+0.5))
		for _, h := range hits {
			long := k1 * (1 - b + b*float64(r.lengths[h.doc])/average)
			scores[h.doc] += rarity * h.weight * (k1 + 1) / (h.weight + long)
			counts[h.doc]++
		}
	}
	return scores, counts
}

// offer puts a doc among the best, if it is one of them. Docs come by number,
// which is the order of their keys.
func (r *ranking) offer(h hit) {
	n := len(r.best)
	if n == r.keep && (n == 0 || r.best[n-1].weight >= h.weight) {
		return
	}
	at, _ := slices.BinarySearchFunc(r.best, h.weight, func(one hit, score float64) int {
		if one.weight >= score {
			return -1
		}
		return 1
	})
	if n == r.keep {
		r.best = r.best[:n-1]
	}
	r.best = slices.Insert(r.best, at, h)
}

// admits judges a key by the patterns.
func (q *Query) admits(key api.Key) bool {
	for _, g := range q.keys {
		if !g.matches(key) {
			return false
		}
	}
	return !slices.ContainsFunc(q.notKeys, func(g glob) bool { return g.matches(key) })
}
