package match

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/teammem/teammemd/scanner/pattern"
	"github.com/teammem/teammemd/scanner/rules"
)

// how says where a rule's expression looks.
type how uint8

const (
	// anchored: the distance from a match's beginning to its keyword is known.
	anchored how = iota
	// windowed: every match holds a keyword and has an upper bound, or no white
	// space.
	windowed
	// whole: a keyword anywhere means that the whole text is searched.
	whole
)

const (
	// margin is more than what a boundary before or after a secret takes.
	margin = 16
	// leastRun is the length of a stretch of one class that is seldom in prose,
	// so that looking for it first is worth its time.
	leastRun = 12
	// defaultReach bounds a match without an upper bound, in bytes.
	defaultReach = 4096
)

// rule is a rule with what its pattern says about its matches. What costs time
// is made when the first keyword is met.
type rule struct {
	rules.Rule

	once    sync.Once
	err     error
	regex   *regexp.Regexp
	how     how
	offset  int // anchored: bytes from the beginning to the keyword
	least   int // bytes of a match, boundaries not counted
	most    int // the same, pattern.Unbounded for none
	solid   bool
	allowed *pattern.Set   // what a match may consist of
	label   *label         // nil: the rule has no label before its secret
	marks   []byte         // what a match holds besides its keyword
	run     *pattern.Run   // nil: no match holds a long stretch of one class
	head    *regexp.Regexp // nil: a match has no short beginning to look for first
	headLen int
	words   []rules.Word // what a word of a match must be, see [rules.Filter.Needs]
	useless map[string]bool

	runs   atomic.Int32 // of the expression, as long as there is no sieve
	sieve  atomic.Pointer[pattern.Sieve]
	sieved sync.Once
}

// oftenRun is how often an anchored expression runs before its sieve is made:
// most expressions of a process run seldom.
const oftenRun = 64

// passes reports whether a match can begin text.
func (r *rule) passes(text string) bool {
	sieve := r.sieve.Load()
	if sieve == nil {
		if r.runs.Add(1) > oftenRun {
			r.sieved.Do(r.makeSieve)
		}
		return true
	}
	return sieve.Passes(text)
}

// makeSieve makes the sieve of the pattern. Without one the expression runs at
// every place.
func (r *rule) makeSieve() {
	parsed, err := pattern.Parse(r.Pattern)
	if err != nil {
		return
	}
	if sieve, err := parsed.Sieve(); err == nil {
		r.sieve.Store(sieve)
	}
}

// ready reads the pattern once.
func (r *rule) ready() error {
	r.once.Do(func() {
		if r.err = r.read(); r.err != nil {
			r.err = fmt.Errorf("rule %s: %w", r.ID, r.err)
		}
	})
	return r.err
}

func (r *rule) read() error {
	parsed, err := pattern.Parse(r.Pattern)
	if err != nil {
		return err
	}
	r.least, r.most = parsed.Bounds()
	r.solid = parsed.Solid()
	r.allowed = parsed.Characters()
	r.words = needed(r.Rule, parsed)
	if r.Reach == 0 {
		r.Reach = defaultReach
	}
	begin := ""
	offset, fixed := parsed.Offset(r.Keywords)
	switch {
	case fixed:
		r.how, r.offset, begin = anchored, offset, `\A`
		r.label = labelOf(r.Rule, parsed)
		r.marks = marksBeside(r.Keywords, parsed)
		r.run, _ = parsed.LongestRun(leastRun)
		r.useless = idle(r.Keywords, parsed, offset)
	case parsed.Holds(r.Keywords) && (r.most != pattern.Unbounded || r.solid):
		r.how = windowed
	default:
		r.how = whole
	}
	if err := r.readHead(parsed); err != nil {
		return err
	}
	expression := begin + "(?:" + r.Pattern + ")"
	if r.Alphabet != "" {
		expression = begin + "(" + r.Pattern + ")" + rules.Terminator(r.Alphabet)
		r.Group = 1
	}
	r.regex, err = regexp.Compile(expression)
	return err
}

const (
	// longMatch is the length from which a match is worth looking for its head.
	longMatch = 256
	mostHead  = 96
)

// readHead makes the expression of the beginning of an anchored rule's matches.
func (r *rule) readHead(parsed pattern.Pattern) error {
	if r.how != anchored || r.most != pattern.Unbounded && r.most < longMatch {
		return nil
	}
	head, length, ok := parsed.Head(mostHead)
	if !ok {
		return nil
	}
	var err error
	r.headLen = length + margin
	r.head, err = regexp.Compile(`\A(?:` + head + ")")
	return err
}

// marksBeside are the characters that a match must have and that stand in none
// of its keywords.
func marksBeside(keywords []string, parsed pattern.Pattern) []byte {
	return slices.DeleteFunc([]byte(parsed.Marks()), func(c byte) bool {
		return slices.ContainsFunc(keywords, func(word string) bool { return strings.IndexByte(word, c) >= 0 })
	})
}

// idle are the keywords that no match can begin with: others of the rule do.
func idle(keywords []string, parsed pattern.Pattern, offset int) map[string]bool {
	if offset > 0 {
		return nil
	}
	out := make(map[string]bool)
	begins := parsed.Begins()
	for _, word := range keywords {
		if !slices.ContainsFunc(begins, func(b string) bool { return strings.HasPrefix(b, word) }) {
			out[word] = true
		}
	}
	return out
}

// span returns where the secret is in a match of the expression, whose groups
// are in loc.
func (r *rule) span(loc []int) (start, end int) {
	if r.Group > 0 {
		if 2*r.Group+1 < len(loc) && loc[2*r.Group] >= 0 {
			return loc[2*r.Group], loc[2*r.Group+1]
		}
		return loc[0], loc[1]
	}
	for i := 2; i+1 < len(loc); i += 2 {
		if loc[i] >= 0 && loc[i+1] > loc[i] {
			return loc[i], loc[i+1]
		}
	}
	return loc[0], loc[1]
}
