package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/teammem/teammemd/api"
)

// Limits of a query. They bound the work that one request can ask for.
const (
	// MaxQueryBytes is the longest query, in bytes of UTF-8.
	MaxQueryBytes = 1000
	// maxClauses bounds the words, phrases and patterns of a query, and maxSlots
	// the words in all of them together.
	maxClauses = 32
	maxSlots   = 64
	// maxGlob is the longest pattern of keys, in bytes.
	maxGlob = 200
)

// Query is a parsed query.
type Query struct {
	must    []clause
	not     []clause
	keys    []glob // all of them have to match
	notKeys []glob
	slots   int
}

// clause is one word, name or phrase: any of its sequences will do.
type clause struct{ any []sequence }

// sequence is words in a row.
type sequence []slot

// slot is one word of a sequence, as a term.
type slot struct {
	term   string
	prefix bool // any term that begins so
	width  int  // positions that it covers
	gap    int  // positions from the slot before
	near   bool // the position of the slot before will do as well
}

// Parse reads a query:
//
//	blue green       entries with both words; with either, where none has both
//	"blue green"     the words in a row
//	deploy*          words that begin so
//	-staging         without this word, phrase or beginning
//	key:ops/**       keys that match, folded; -key:... for those that do not
//
// In a pattern of keys '*' and '?' stand for characters of one segment and '**'
// for any; one without '/' is about the last segment, and one that ends with '/'
// about everything below. The error wraps [api.ErrBadRequest].
func Parse(text string) (*Query, error) {
	if len(text) > MaxQueryBytes {
		return nil, api.Errorf(api.ErrBadRequest, "a query has at most %d bytes", MaxQueryBytes)
	}
	q := &Query{}
	for rest := straighten.Replace(text); ; {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		if rest == "" {
			break
		}
		var err error
		if rest, err = q.read(rest); err != nil {
			return nil, err
		}
	}
	if len(q.must)+len(q.keys) == 0 {
		if len(q.not)+len(q.notKeys) > 0 {
			return nil, api.Errorf(api.ErrBadRequest, "the query only leaves out: give a word to look for, or key: and a pattern")
		}
		return nil, api.Errorf(api.ErrBadRequest, "the query has no word to look for")
	}
	return q, nil
}

// straighten makes the quotation marks of word processors plain.
var straighten = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "‟", `"`, "＂", `"`)

// read reads one part of a query that begins with no space.
func (q *Query) read(text string) (rest string, err error) {
	negative := false
	if after, ok := strings.CutPrefix(text, "-"); ok && after != "" && after[0] != '-' {
		if r, _ := utf8.DecodeRuneInString(after); !unicode.IsSpace(r) {
			negative, text = true, after
		}
	}
	const key = "key:"
	switch {
	case len(text) >= len(key) && strings.EqualFold(text[:len(key)], key):
		return q.readKeys(text[len(key):], negative)
	case text[0] == '"':
		phrase, rest, _ := strings.Cut(text[1:], `"`)
		return rest, q.add(clause{[]sequence{inRow(phrase)}}, negative)
	}
	chunk := text[:chunkEnd(text)]
	if chunk == "" { // a character that is in no name
		_, size := utf8.DecodeRuneInString(text)
		return text[size:], nil
	}
	return text[len(chunk):], q.add(chunkClause(chunk), negative)
}

func (q *Query) readKeys(text string, negative bool) (rest string, err error) {
	var pattern string
	if after, ok := strings.CutPrefix(text, `"`); ok {
		pattern, rest, _ = strings.Cut(after, `"`)
	} else {
		end := strings.IndexFunc(text, unicode.IsSpace)
		if end < 0 {
			end = len(text)
		}
		pattern, rest = text[:end], text[end:]
	}
	switch {
	case pattern == "":
		return "", api.Errorf(api.ErrBadRequest, "key: needs a pattern, such as key:ops/**")
	case len(pattern) > maxGlob:
		return "", api.Errorf(api.ErrBadRequest, "a pattern of keys has at most %d bytes here", maxGlob)
	case len(q.keys)+len(q.notKeys) >= maxClauses:
		return "", tooMany()
	case negative:
		q.notKeys = append(q.notKeys, newGlob(pattern))
	default:
		q.keys = append(q.keys, newGlob(pattern))
	}
	return rest, nil
}

func tooMany() error {
	return api.Errorf(api.ErrBadRequest, "the query has too many parts: at most %d, with %d words", maxClauses, maxSlots)
}

// add takes in a clause, unless there is no word in it.
func (q *Query) add(c clause, negative bool) error {
	slots := 0
	for _, s := range c.any {
		slots = max(slots, len(s))
	}
	if slots == 0 {
		return nil
	}
	q.slots += slots
	if q.slots > maxSlots || len(q.must)+len(q.not) >= maxClauses {
		return tooMany()
	}
	if negative {
		q.not = append(q.not, c)
	} else {
		q.must = append(q.must, c)
	}
	return nil
}

// chunkEnd returns where a word or name ends: names have no spaces, but dots,
// slashes and the like.
func chunkEnd(text string) int {
	for i, r := range text {
		if !startsWord(r) && !isMark(r) && !strings.ContainsRune(`._-/\:@#+'’&~=*`, r) {
			return i
		}
	}
	return len(text)
}

// chunkClause is a word or a name. A name of several words finds them in a row,
// and in one word of camelCase; one that '-' or '_' joins finds them written
// together; one of camelCase finds its parts in a row.
func chunkClause(chunk string) clause {
	chunk, prefix := strings.CutSuffix(chunk, "*")
	words := wordsOf(chunk)
	if len(words) == 0 {
		return clause{}
	}
	main := slots(chunk, words)
	for i := 1; i < len(main); i++ {
		main[i].near = !words[i].cell && main[i].gap == 1
	}
	all := []sequence{main}
	linked := len(words) > 1 && len(words) <= maxParts
	for i := 1; i < len(words); i++ {
		linked = linked && joins(chunk, words[i-1], words[i])
	}
	if linked {
		all = append(all, sequence{{term: joined(chunk, words), width: 1}})
	}
	if len(words) == 1 {
		if names := parts(chunk, words[0], nil); names != nil {
			row := slots(chunk, names)
			for i := 1; i < len(row); i++ {
				row[i].near = true
			}
			all = append(all, row)
		}
	}
	if prefix && !words[len(words)-1].cell {
		for _, s := range all {
			s[len(s)-1].prefix = true
		}
	}
	return clause{all}
}

// inRow is a phrase.
func inRow(phrase string) sequence { return slots(phrase, wordsOf(phrase)) }

func wordsOf(text string) []word {
	var words []word
	for w, ok := nextWord(text, 0); ok; w, ok = nextWord(text, w.to) {
		words = append(words, w)
	}
	return words
}

// slots are the terms of words that stand in a row.
func slots(text string, words []word) sequence {
	var s sequence
	gap := 0
	for i, w := range words {
		own := text[w.from:w.to]
		switch {
		case !w.cell:
			s = append(s, slot{term: fold(own), width: 1, gap: gap})
		case i+1 < len(words) && words[i+1].cell && words[i+1].from == w.to:
			s = append(s, slot{term: foldCells(own, text[words[i+1].from:words[i+1].to]), width: 2, gap: gap})
		case i > 0 && words[i-1].cell && words[i-1].to == w.from:
			gap++ // the pair before has it
			continue
		default:
			s = append(s, slot{term: fold(own), prefix: true, width: 1, gap: gap})
		}
		gap = 1
	}
	return s
}

// single returns the clauses of must apart: the pairs of characters of scripts
// without spaces each by itself, since what is written without spaces may be a
// whole sentence.
func (q *Query) single() []clause {
	var all []clause
	for _, c := range q.must {
		if main := c.any[0]; len(main) > 1 && main.hasCells() {
			for _, s := range main {
				s.gap, s.near = 0, false
				all = append(all, clause{[]sequence{{s}}})
			}
			continue
		}
		all = append(all, c)
	}
	return all
}

func (s sequence) hasCells() bool {
	for _, one := range s {
		if r, _ := utf8.DecodeRuneInString(one.term); isCell(r) {
			return true
		}
	}
	return false
}
