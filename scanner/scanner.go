package scanner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/teammem/teammemd/scanner/match"
	"github.com/teammem/teammemd/scanner/rules"
)

// Defaults of [Options].
const (
	// DefaultMaxBytes is the largest text that is scanned, in bytes.
	DefaultMaxBytes = 256 << 10
	// DefaultDeadline bounds the scan of one text.
	DefaultDeadline = 2 * time.Second
)

// ErrSelfTest says that the rules did not find the samples that they must find.
// Nothing can be judged: whatever depends on a scan must stay off.
var ErrSelfTest = errors.New("the secret scanner failed its self-test")

// Options configures a [Scanner]. The zero value is the default.
type Options struct {
	// MaxBytes is the largest text that is scanned, in bytes; larger ones are
	// refused. 0 means [DefaultMaxBytes].
	MaxBytes int
	// Deadline bounds the scan of one text; slower ones are refused. 0 means
	// [DefaultDeadline]. It counts what the process works: a machine that serves
	// others meanwhile lets a scan last up to 15 times as long by the clock, and
	// refuses no text for that. A scan stops at its deadline: it works in the
	// goroutine of its caller and leaves nothing behind.
	Deadline time.Duration
}

// Scanner scans texts. It is safe for concurrent use.
type Scanner struct {
	maxBytes int
	deadline time.Duration
	// look is called before every text that is searched; false finds nothing in
	// it. Nil looks at nothing. Only tests set it.
	look func(ctx context.Context, text string) bool

	proving sync.Mutex
	proved  bool // guarded by proving
}

// engine is the rules of this build with what searches for them.
type engine struct {
	set     *rules.Set
	matcher *match.Matcher
}

// loaded builds the engine once for the process.
var loaded = sync.OnceValues(load)

func load() (*engine, error) {
	set, err := rules.Build()
	if err != nil {
		return nil, fmt.Errorf("loading the secret rules: %w", err)
	}
	return &engine{set, match.New(set.Rules)}, nil
}

// New returns a scanner. It starts nothing and loads nothing: the first scan
// does.
func New(options Options) *Scanner {
	if options.MaxBytes <= 0 {
		options.MaxBytes = DefaultMaxBytes
	}
	if options.Deadline <= 0 {
		options.Deadline = DefaultDeadline
	}
	return &Scanner{maxBytes: options.MaxBytes, deadline: options.Deadline}
}

// Scan returns what it finds in text and in name, sorted by line, column and
// rule; findings in the name come first. Nil means that both are clean.
//
// The error is a *[Refusal] when the text cannot be judged. Any other error
// means that nothing can be judged now: [ErrSelfTest], or the error of ctx.
// After an error there are no findings.
func (s *Scanner) Scan(ctx context.Context, name, text string) ([]Finding, error) {
	if refusal := examine(name, text, s.maxBytes); refusal != nil {
		return nil, refusal
	}
	if err := s.prove(ctx); err != nil {
		return nil, err
	}
	return s.scan(ctx, s.deadline, name, text)
}

// Rules returns the number of rules that are loaded, 0 when they do not load.
func (s *Scanner) Rules() int {
	e, err := loaded()
	if err != nil {
		return 0
	}
	return len(e.set.Rules)
}

// RuleSet names the loaded rules: a generation and a hash over all that can
// change a finding, such as "2-0123456789ab". It is "" when they do not load.
func (s *Scanner) RuleSet() string {
	e, err := loaded()
	if err != nil {
		return ""
	}
	return e.set.Version
}

// scan scans one name and one text in the goroutine of its caller. A panic is a
// refusal, and its message is dropped, because it may quote the text.
func (s *Scanner) scan(ctx context.Context, deadline time.Duration, name, text string) (findings []Finding, err error) {
	e, err := loaded()
	if err != nil {
		return nil, err
	}
	defer func() {
		if recover() != nil {
			findings, err = nil, &Refusal{Reason: Unreadable, Detail: Failed}
		}
	}()
	p := pass{engine: e, ctx: ctx, ends: begin(deadline), look: s.look}
	p.text(text)
	p.name(name)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("scanning for secrets: %w", ctx.Err())
	case p.err != nil:
		return nil, p.err
	case p.late:
		return nil, &Refusal{Reason: Unreadable, Detail: TooSlow}
	}
	return tidy(p.findings), nil
}
