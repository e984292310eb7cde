package match

import (
	"strings"

	"github.com/teammem/teammemd/scanner/pattern"
	"github.com/teammem/teammemd/scanner/rules"
)

// search is the state of one search. It is used again by later ones.
type search struct {
	m *Matcher
	Request
	hits    []Hit
	err     error
	steps   int
	stopped bool

	ends     []int    // by rule: where its last hit ended
	warnings []int    // by rule: matches of those that only warn
	windows  [][]span // by rule
	queued   []int32  // rules with windows, in the order of their first
	wholes   []int32  // rules that search the whole text
	words    wordIndex
}

type span struct{ start, end int }

func (m *Matcher) newSearch() *search {
	return &search{m: m, ends: make([]int, len(m.rules)), warnings: make([]int, len(m.rules)), windows: make([][]span, len(m.rules))}
}

func (s *search) begin(r Request) {
	s.Request, s.hits, s.err, s.steps, s.stopped = r, s.hits[:0], nil, 0, false
	clear(s.ends)
	clear(s.warnings)
}

// end forgets the text.
func (s *search) end() {
	s.Request = Request{}
	s.words.forget()
	for _, i := range s.queued {
		s.windows[i] = s.windows[i][:0]
	}
	s.queued, s.wholes = s.queued[:0], s.wholes[:0]
}

// all does the search and reports whether it came to its end.
func (s *search) all() bool {
	if !s.pass() {
		return false
	}
	for _, i := range s.queued {
		for _, w := range merged(s.windows[i]) {
			s.window(int(i), w)
			if s.halt() {
				return false
			}
		}
	}
	for _, i := range s.wholes {
		if !s.whole(int(i)) {
			return false
		}
	}
	return s.err == nil
}

// halt asks whether the search is to stop.
func (s *search) halt() bool {
	if !s.stopped && s.Stop != nil && s.Stop() {
		s.stopped = true
	}
	return s.stopped || s.err != nil
}

const (
	// stretch is how many bytes the automaton reads between two questions
	// whether to stop.
	stretch = 64 << 10
	// mostWarnings bounds the matches of a rule that only warns: in one text
	// nobody reads more, and their filters are the slowest.
	mostWarnings = 250
	// around is how far from a part that was not searched yet a keyword can
	// stand. A secret that is longer is found by what it holds of the part.
	around = 4096
)

// pass lets the automaton read the text, or the parts that are asked for.
func (s *search) pass() bool {
	if s.Within == nil {
		return s.read(0, len(s.Text))
	}
	from, to := 0, 0 // what is to be read next
	for at := 0; at < len(s.Text); {
		start, end, ok := s.Within.NextTouched(at)
		if !ok {
			break
		}
		if start-around > to {
			if !s.read(from, to) {
				return false
			}
			from = start - around
		}
		to, at = min(len(s.Text), end+around), max(end, at+1)
	}
	return s.read(from, to)
}

// read reads text[from:to] in portions, each keyword in the one in which it ends.
func (s *search) read(from, to int) bool {
	const longest = 64
	for from < to {
		end := min(to, from+stretch)
		if !s.m.keywords.run(s.Text, max(0, from-longest), from, end, s.meet) || s.halt() {
			return false
		}
		from = end
	}
	return true
}

// meet looks at the rules of a keyword.
func (s *search) meet(keyword int32, start int) bool {
	for _, i := range s.m.of[keyword] {
		r := &s.m.rules[i]
		if s.err = r.ready(); s.err != nil {
			return false
		}
		switch r.how {
		case anchored:
			if !r.useless[s.m.words[keyword]] {
				s.anchor(int(i), r, start-r.offset)
			}
		case windowed:
			s.enqueue(i, r, start, start+len(s.m.words[keyword]))
		case whole:
			if s.ends[i] == 0 {
				s.ends[i] = -1
				s.wholes = append(s.wholes, i)
			}
		}
	}
	const often = 512
	if s.steps++; s.steps%often == 0 {
		return !s.halt()
	}
	return true
}

// anchor looks for a match that begins at one place.
func (s *search) anchor(i int, r *rule, at int) {
	if at < 0 || at < s.ends[i] || s.warnings[i] >= mostWarnings || !s.likely(r, at) {
		return
	}
	end := at + r.Reach
	if r.most != pattern.Unbounded {
		end = at + r.most + margin
	}
	part := s.Text[at:min(end, len(s.Text))]
	for _, c := range r.marks {
		if strings.IndexByte(part, c) < 0 {
			return
		}
	}
	if s.Within != nil && !s.Within.Touched(max(0, at-1), min(len(s.Text), at+len(part)+1)) {
		return
	}
	if !s.worded(r, at, at+len(part)) || r.run != nil && !r.run.In(part) || !r.passes(part) {
		return
	}
	if r.head != nil && !r.head.MatchString(part[:min(len(part), r.headLen)]) {
		return
	}
	if loc := r.regex.FindStringSubmatchIndex(part); loc != nil {
		s.judge(i, r, at, loc)
	}
}

// worded reports whether text[from:to] has the words that the filters of a rule
// ask for.
func (s *search) worded(r *rule, from, to int) bool {
	for _, kind := range r.words {
		if !s.words.has(s.Text, kind, from, to) {
			return false
		}
	}
	return true
}

// likely reports whether a match can begin at a place, by its first characters.
func (s *search) likely(r *rule, at int) bool {
	if at+r.least > len(s.Text) || r.Alphabet != "" && at > 0 && isAlnum(s.Text[at-1]) {
		return false
	}
	if r.solid {
		for i := at; i < at+r.least; i++ {
			if c := s.Text[i]; c < 0x80 && !r.allowed[c] {
				return false
			}
		}
	}
	return r.label == nil || r.label.fits(s.Text, at)
}

// judge decides whether a match of an expression is a hit.
func (s *search) judge(i int, r *rule, at int, loc []int) bool {
	start, end := r.span(loc)
	m := rules.Match{Text: s.Text, Start: at + loc[0], End: at + loc[1], SecretStart: at + start, SecretEnd: at + end}
	if m.SecretStart >= m.SecretEnd || m.SecretStart < s.ends[i] { // empty, or found before
		return false
	}
	if s.Within != nil && !s.Within.Touched(max(0, m.Start-1), min(len(s.Text), m.End+1)) {
		return false
	}
	if r.Tier == rules.Warn {
		if s.warnings[i]++; s.warnings[i] > mostWarnings { // a rule that looks elsewhere than at its keywords
			return false
		}
	}
	if r.Entropy > 0 && rules.Entropy(m.Secret()) <= r.Entropy {
		return false
	}
	for _, f := range r.Filters {
		if !f.Keep(m) {
			return false
		}
	}
	s.ends[i] = m.SecretEnd
	s.hits = append(s.hits, Hit{i, m.SecretStart, m.SecretEnd})
	return true
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
