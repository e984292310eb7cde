package pattern

import (
	"encoding/binary"
	"fmt"
	"regexp/syntax"
	"slices"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// Sieve tells quickly that a text has no match of a pattern. It is a finite
// automaton of which a state is made when a text first comes to it. It lets pass
// more than matches: where the pattern counts far, it does not count, and it asks
// for nothing at the edges of words and lines. It is made to be kept; it is safe for concurrent use.
type Sieve struct {
	prog    *syntax.Prog
	accept  [][2]uint64 // by instruction: the ASCII characters that it takes
	wide    []bool      // and whether it takes any other
	class   [utf8.RuneSelf]uint8
	classes int            // of ASCII characters
	beyond  []*syntax.Inst // one of each kind that takes characters beyond ASCII
	start   *sieveState
	all     *sieveState // lets everything pass
	within  int         // the most characters until it is known that there is a match, Unbounded for no bound

	recent [256]atomic.Uint64 // characters beyond ASCII with their classes, by their lowest byte

	mu      sync.Mutex
	states  map[string]*sieveState // guarded by mu, as is what follows
	runes   map[rune]uint8         // the classes of characters beyond ASCII
	kinds   map[string]uint8       // the same classes by which of beyond take their characters
	samples []rune                 // and a character of each
}

// sieveState is a set of instructions of which each may come next.
type sieveState struct {
	insts []uint32
	// match says that a match ends here, end that one does if the text does, dead
	// that none can follow.
	match, end, dead bool
	next             []atomic.Pointer[sieveState]                             // by class of ASCII characters
	beyond           atomic.Pointer[[mostWide + 1]atomic.Pointer[sieveState]] // by class of all others, made with the first
}

// after returns the place of the state that follows with a character of a class
// of so many of ASCII ones.
func (s *sieveState) after(class, ascii int) *atomic.Pointer[sieveState] {
	if class < ascii {
		return &s.next[class]
	}
	beyond := s.beyond.Load()
	if beyond == nil {
		s.beyond.CompareAndSwap(nil, new([mostWide + 1]atomic.Pointer[sieveState]))
		beyond = s.beyond.Load()
	}
	return &beyond[class-ascii]
}

const (
	// mostCounted is how far a sieve counts what must be there, leastLoop from
	// which number on what may be there is taken for a loop.
	mostCounted = 24
	leastLoop   = 4
	// mostStates bounds the memory of a sieve. A text that would need more passes.
	mostStates = 1000
	// mostWide bounds the classes of characters beyond ASCII, mostRemembered those
	// characters. All others have one class, and pass where any of them does.
	mostWide, mostRemembered = 40, 4096
)

// Sieve returns the sieve for matches that begin a text.
func (p Pattern) Sieve() (*Sieve, error) {
	s, err := newSieve(p.root)
	if most := mostRunes(p.root); err == nil && most != Unbounded {
		s.within = most - spare(p.root)
	}
	return s, err
}

// spare returns how many characters at the end of a match are there only if they
// can be.
func spare(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpCapture:
		return spare(re.Sub[0])
	case syntax.OpConcat:
		return spare(re.Sub[len(re.Sub)-1])
	case syntax.OpRepeat:
		if re.Max > re.Min {
			return (re.Max - re.Min) * mostRunes(re.Sub[0])
		}
	}
	return 0
}

// SieveAnywhere returns the sieve for matches wherever they begin.
func (p Pattern) SieveAnywhere() (*Sieve, error) {
	anything := &syntax.Regexp{Op: syntax.OpStar, Sub: []*syntax.Regexp{{Op: syntax.OpAnyChar}}}
	return newSieve(&syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{anything, p.root}})
}

func newSieve(root *syntax.Regexp) (*Sieve, error) {
	prog, err := syntax.Compile(loosened(root).Simplify())
	if err != nil {
		return nil, fmt.Errorf("compiling a pattern: %w", err)
	}
	s := &Sieve{prog: prog, within: Unbounded, states: make(map[string]*sieveState), runes: make(map[rune]uint8), kinds: make(map[string]uint8)}
	s.classify()
	s.all = &sieveState{match: true}
	s.start = s.state([]uint32{uint32(prog.Start)}, true) //nolint:gosec // a few thousand
	return s, nil
}

// loosened returns an expression that matches the beginning of all that re does, with
// fewer states.
func loosened(re *syntax.Regexp) *syntax.Regexp {
	switch re.Op {
	case syntax.OpCapture:
		return loosened(re.Sub[0])
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	}
	if len(re.Sub) == 0 {
		return re
	}
	out := *re
	out.Sub0 = [1]*syntax.Regexp{}
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = loosened(sub)
	}
	if re.Op == syntax.OpRepeat {
		out.Min = min(re.Min, mostCounted)
		if out.Min != re.Min || re.Max > out.Min && re.Max >= leastLoop {
			out.Max = -1
		}
	}
	return &out
}

// classify finds which characters the instructions tell apart.
func (s *Sieve) classify() {
	s.accept, s.wide = make([][2]uint64, len(s.prog.Inst)), make([]bool, len(s.prog.Inst))
	known, distinct := make(map[[2]uint64]bool), make(map[string]bool)
	s.classes = 1
	for i := range s.prog.Inst {
		inst := &s.prog.Inst[i]
		switch inst.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		default:
			continue
		}
		if s.wide[i] = takesWide(inst); s.wide[i] {
			if kind := fmt.Sprint(inst.Op, inst.Arg, inst.Rune); !distinct[kind] {
				distinct[kind] = true
				s.beyond = append(s.beyond, inst)
			}
		}
		for c := range rune(utf8.RuneSelf) {
			if inst.MatchRune(c) {
				s.accept[i][c>>6] |= 1 << (c & 63)
			}
		}
		if !known[s.accept[i]] {
			known[s.accept[i]] = true
			s.split(s.accept[i])
		}
	}
}

// classOf returns the class of a character beyond ASCII.
func (s *Sieve) classOf(r rune) int {
	const bits = 8
	slot := &s.recent[r&0xFF]
	if found := slot.Load(); found>>bits == uint64(r) { //nolint:gosec // never negative
		return s.classes + int(found&0xFF)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	class, ok := s.runes[r]
	if !ok {
		if class = s.kindOf(r); len(s.runes) < mostRemembered {
			s.runes[r] = class
		}
	}
	slot.Store(uint64(r)<<bits | uint64(class)) //nolint:gosec // never negative
	return s.classes + int(class)
}

// kindOf returns the class of a character by which instructions take it. The
// caller holds mu.
func (s *Sieve) kindOf(r rune) uint8 {
	if len(s.runes) >= mostRemembered {
		return mostWide
	}
	takes := make([]byte, len(s.beyond))
	for i, inst := range s.beyond {
		if inst.MatchRune(r) {
			takes[i] = 1
		}
	}
	class, ok := s.kinds[string(takes)]
	if !ok {
		if len(s.samples) == mostWide {
			return mostWide
		}
		class = uint8(len(s.samples)) //nolint:gosec // fewer than mostWide
		s.kinds[string(takes)] = class
		s.samples = append(s.samples, r)
	}
	return class
}

// split parts the classes into what set has and what it does not.
func (s *Sieve) split(set [2]uint64) {
	inside := make(map[uint8]uint8)
	var held, of [utf8.RuneSelf]int
	for c := range s.class {
		of[s.class[c]]++
		if has(set, c) {
			held[s.class[c]]++
		}
	}
	for c := range s.class {
		before := s.class[c]
		if !has(set, c) || held[before] == of[before] {
			continue
		}
		to, ok := inside[before]
		if !ok {
			to = uint8(s.classes) //nolint:gosec // one for each character at most
			inside[before] = to
			s.classes++
		}
		s.class[c] = to
	}
}

func has(set [2]uint64, c int) bool { return set[c>>6]&(1<<(c&63)) != 0 }

// takesWide reports whether an instruction takes a character beyond ASCII.
func takesWide(inst *syntax.Inst) bool {
	if inst.Op != syntax.InstRune && inst.Op != syntax.InstRune1 {
		return true
	}
	for i, r := range inst.Rune {
		if r >= utf8.RuneSelf {
			return true
		}
		if i == 0 && syntax.Flags(inst.Arg)&syntax.FoldCase != 0 {
			for folded := unicode.SimpleFold(r); folded != r; folded = unicode.SimpleFold(folded) {
				if folded >= utf8.RuneSelf {
					return true
				}
			}
		}
	}
	return false
}

// Passes reports whether text may have a match. Where it returns false, it has
// none.
func (s *Sieve) Passes(text string) bool {
	at := s.start
	for i, seen := 0, 0; i < len(text) && !at.match; seen++ {
		if seen == s.within {
			return false
		}
		class, size := s.next(text[i:])
		next := at.after(class, s.classes).Load()
		if next == nil {
			next = s.step(at, class)
		}
		if next.dead {
			return false
		}
		at, i = next, i+size
	}
	return at.match || at.end
}

// next returns the class of the first character of text, and its length.
func (s *Sieve) next(text string) (class, size int) {
	if c := text[0]; c < utf8.RuneSelf {
		return int(s.class[c]), 1
	}
	r, size := utf8.DecodeRuneInString(text)
	return s.classOf(r), size
}

// step makes the state that follows another one.
func (s *Sieve) step(from *sieveState, class int) *sieveState {
	s.mu.Lock()
	defer s.mu.Unlock()
	var takes func(i uint32) bool
	switch wide := class - s.classes; {
	case wide == mostWide:
		takes = func(i uint32) bool { return s.wide[i] }
	case wide >= 0:
		takes = func(i uint32) bool { return s.wide[i] && s.prog.Inst[i].MatchRune(s.samples[wide]) }
	default:
		c := slices.Index(s.class[:], uint8(class)) //nolint:gosec // at most 128
		takes = func(i uint32) bool { return has(s.accept[i], c) }
	}
	var to []uint32
	for _, i := range from.insts {
		if takes(i) {
			to = append(to, s.prog.Inst[i].Out)
		}
	}
	next := s.state(to, false)
	from.after(class, s.classes).Store(next)
	return next
}

// state returns the state of some instructions and of those that follow without a
// character, at the beginning of the text or behind it. The caller holds mu, or is
// alone.
func (s *Sieve) state(from []uint32, begins bool) *sieveState {
	made := &sieveState{}
	made.insts = s.follow(from, begins, made)
	key := make([]byte, 0, 4*len(made.insts)+1)
	for _, i := range made.insts {
		key = binary.LittleEndian.AppendUint32(key, i)
	}
	if made.end {
		key = append(key, 1)
	}
	if made.match {
		return s.all
	}
	if known := s.states[string(key)]; known != nil {
		return known
	}
	if len(s.states) >= mostStates {
		return s.all
	}
	made.dead = len(made.insts) == 0 && !made.end
	made.next = make([]atomic.Pointer[sieveState], s.classes)
	s.states[string(key)] = made
	return made
}

// follow returns the instructions that take a character, sorted, and notes in a
// state whether a match ends before them.
func (s *Sieve) follow(from []uint32, begins bool, state *sieveState) (takes []uint32) {
	type place struct {
		at    uint32
		ended bool // only where the text ends
	}
	seen := make(map[place]bool)
	var walk func(p place)
	walk = func(p place) {
		if seen[p] {
			return
		}
		seen[p] = true
		switch inst := &s.prog.Inst[p.at]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			walk(place{inst.Out, p.ended})
			walk(place{inst.Arg, p.ended})
		case syntax.InstCapture, syntax.InstNop:
			walk(place{inst.Out, p.ended})
		case syntax.InstEmptyWidth: // those of a text are left
			begin, end := syntax.EmptyOp(inst.Arg)&syntax.EmptyBeginText != 0, syntax.EmptyOp(inst.Arg)&syntax.EmptyEndText != 0
			if begins || !begin {
				walk(place{inst.Out, p.ended || end})
			}
		case syntax.InstMatch:
			state.match = state.match || !p.ended
			state.end = true
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if !p.ended {
				takes = append(takes, p.at)
			}
		}
	}
	for _, at := range from {
		walk(place{at, false})
	}
	slices.Sort(takes)
	return takes
}
