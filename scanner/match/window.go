package match

import "github.com/teammem/teammemd/scanner/pattern"

// enqueue notes that a rule is to look around a keyword.
func (s *search) enqueue(i int32, r *rule, start, end int) {
	reach := r.most
	if reach == pattern.Unbounded {
		reach = r.Reach
	}
	from, to := max(0, start-reach-margin), min(len(s.Text), end+reach+margin)
	if r.solid {
		from, to = s.solid(start, from), s.ending(end, to)
		if to-from < r.least {
			return
		}
		from, to = max(0, from-margin), min(len(s.Text), to+margin)
	}
	if !s.worded(r, from, to) {
		return
	}
	if len(s.windows[i]) == 0 {
		s.queued = append(s.queued, i)
	}
	s.windows[i] = append(s.windows[i], span{from, to})
}

// solid returns where the run without white space that ends at start begins,
// not before from.
func (s *search) solid(start, from int) int {
	for start > from && !isSpace(s.Text[start-1]) {
		start--
	}
	return start
}

// ending returns where the run without white space that begins at end ends, not
// after to.
func (s *search) ending(end, to int) int {
	for end < to && !isSpace(s.Text[end]) {
		end++
	}
	return end
}

// merged joins windows that overlap. They are sorted by the keywords' ends, and
// so nearly by their own beginnings.
func merged(windows []span) []span {
	out := windows[:1]
	for _, w := range windows[1:] {
		last := &out[len(out)-1]
		if w.start <= last.end {
			last.start, last.end = min(last.start, w.start), max(last.end, w.end)
			continue
		}
		out = append(out, w)
	}
	return out
}

// window looks for all matches in a part of the text.
func (s *search) window(i int, w span) {
	r := &s.m.rules[i]
	for at := w.start; at < w.end; {
		loc := r.regex.FindStringSubmatchIndex(s.Text[at:w.end])
		if loc == nil {
			return
		}
		_, next := r.span(loc)
		cut := at+loc[1] == w.end && w.end < len(s.Text) || loc[0] == 0 && at == w.start && at > 0
		if cut || r.Alphabet != "" && at+loc[0] > 0 && isAlnum(s.Text[at+loc[0]-1]) || !s.judge(i, r, at, loc) {
			next = loc[0] + 1 // what the edge of the window made is no match
		}
		at += max(next, 1)
		if s.halt() {
			return
		}
	}
}

// whole looks for the matches of a rule everywhere: of one whose matches hold
// no white space, in the words that are long enough.
func (s *search) whole(i int) bool {
	r := &s.m.rules[i]
	if !r.solid {
		s.window(i, span{0, len(s.Text)})
		return !s.halt()
	}
	for at := 0; at < len(s.Text); at++ {
		from := at
		at = s.ending(at, len(s.Text))
		if at-from >= r.least {
			s.window(i, span{max(0, from-1), min(len(s.Text), at+margin)})
			if s.halt() {
				return false
			}
		}
	}
	return true
}

// isSpace agrees with \s of package regexp.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' && c != '\v' }
