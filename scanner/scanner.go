package scanner

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/report"
)

// Defaults of [Options].
const (
	// DefaultMaxBytes is the largest text that is scanned, in bytes.
	DefaultMaxBytes = 256 << 10
	// DefaultDeadline bounds the scan of one text.
	DefaultDeadline = 2 * time.Second
)

var (
	// ErrSelfTest says that the rules did not find the samples that they must
	// find. Nothing can be judged: whatever depends on a scan must stay off.
	ErrSelfTest = errors.New("the secret scanner failed its self-test")
	// ErrBusy says that every worker was taken for longer than the deadline. It
	// is no verdict about the text: try again later.
	ErrBusy = errors.New("the secret scanner is busy")
)

// Options configures a [Scanner]. The zero value is the default.
type Options struct {
	// MaxBytes is the largest text that is scanned, in bytes; larger ones are
	// refused. 0 means [DefaultMaxBytes].
	MaxBytes int
	// Deadline bounds the scan of one text, from when a worker takes it; slower
	// ones are refused. 0 means [DefaultDeadline].
	Deadline time.Duration
	// Workers bounds the scans that run at a time, those included whose caller
	// has left. 0 means two more than there are processors.
	Workers int
}

// Scanner scans texts. It is safe for concurrent use.
type Scanner struct {
	maxBytes int
	deadline time.Duration
	workers  chan struct{}
	// detect finds all matches of the loaded rules in a text.
	detect func(ctx context.Context, rules *ruleSet, text string) []report.Finding

	proving sync.Mutex
	proved  bool // guarded by proving
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
	if options.Workers <= 0 {
		options.Workers = runtime.GOMAXPROCS(0) + 2
	}
	return &Scanner{
		maxBytes: options.MaxBytes,
		deadline: options.Deadline,
		workers:  make(chan struct{}, options.Workers),
		detect:   detectWithGitleaks,
	}
}

// Scan returns what it finds in text and in name, sorted by line, column and
// rule; findings in the name come first. Nil means that both are clean.
//
// The error is a *[Refusal] when the text cannot be judged. Any other error
// means that nothing can be judged now: [ErrSelfTest], [ErrBusy], or the error
// of ctx. After an error there are no findings.
func (s *Scanner) Scan(ctx context.Context, name, text string) ([]Finding, error) {
	if refusal := examine(name, text, s.maxBytes); refusal != nil {
		return nil, refusal
	}
	if err := s.prove(ctx); err != nil {
		return nil, err
	}
	return s.scan(ctx, name, text)
}

// Rules returns the number of rules that are loaded, 0 when they do not load.
func (s *Scanner) Rules() int {
	rules, err := loaded()
	if err != nil {
		return 0
	}
	return len(rules.kinds)
}

// RuleSet names the loaded rules: a generation and a hash over all that can
// change a finding, such as "1-0123456789ab". It is "" when they do not load.
func (s *Scanner) RuleSet() string {
	rules, err := loaded()
	if err != nil {
		return ""
	}
	return rules.version
}

// answer is what a worker hands back.
type answer struct {
	findings []Finding
	refusal  *Refusal
}

// scan runs the detector in a worker. The detector cannot be interrupted inside
// a rule, so a caller does not wait for it beyond the deadline; the worker stays
// taken until it ends.
func (s *Scanner) scan(ctx context.Context, name, text string) ([]Finding, error) {
	rules, err := loaded()
	if err != nil {
		return nil, err
	}
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	answers := make(chan answer, 1)
	go func() {
		defer func() { <-s.workers }()
		answers <- s.work(bounded, rules, name, text)
	}()
	var got answer
	select {
	case got = <-answers:
	case <-bounded.Done():
		got.refusal = tooSlow()
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("scanning for secrets: %w", err)
	}
	if got.refusal != nil {
		return nil, got.refusal
	}
	return got.findings, nil
}

// take waits for a free worker, no longer than the deadline.
func (s *Scanner) take(ctx context.Context) error {
	select {
	case s.workers <- struct{}{}:
		return nil
	default:
	}
	patience := time.NewTimer(s.deadline)
	defer patience.Stop()
	select {
	case s.workers <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the secret scanner: %w", ctx.Err())
	case <-patience.C:
		return ErrBusy
	}
}

// work scans one name and one text. A panic of the detector is a refusal, and
// its message is dropped, because it may quote the text.
func (s *Scanner) work(ctx context.Context, rules *ruleSet, name, text string) (got answer) {
	defer func() {
		if recover() != nil {
			got = answer{refusal: &Refusal{Reason: Unreadable, Detail: "the detector failed on this text"}}
		}
	}()
	findings := s.textFindings(ctx, rules, text)
	findings = append(findings, s.nameFindings(ctx, rules, name)...)
	// The detector stops between two rules when its time is over, and says
	// nothing: what it found until then is not an answer.
	if ctx.Err() != nil {
		return answer{refusal: tooSlow()}
	}
	return answer{findings: tidy(findings)}
}

func tooSlow() *Refusal {
	return &Refusal{Reason: Unreadable, Detail: "the scan took longer than its deadline"}
}

func (s *Scanner) textFindings(ctx context.Context, rules *ruleSet, text string) []Finding {
	found := s.detect(ctx, rules, text)
	if len(found) == 0 {
		return nil
	}
	index := linesOf(text)
	findings := make([]Finding, len(found))
	for i := range found {
		start, end := index.span(&found[i])
		finding := rules.finding(found[i].RuleID, start, end)
		finding.Line, finding.Column = index.locate(start)
		findings[i] = finding
	}
	return findings
}

func (s *Scanner) nameFindings(ctx context.Context, rules *ruleSet, name string) []Finding {
	text, parts := nameText(name)
	if text == "" {
		return nil
	}
	found := s.detect(ctx, rules, text)
	if len(found) == 0 {
		return nil
	}
	index := linesOf(text)
	findings := make([]Finding, len(found))
	for i := range found {
		start, end := index.span(&found[i])
		start, end = inName(parts, start, end)
		finding := rules.finding(found[i].RuleID, start, end)
		finding.InName, finding.Column = true, start+1
		findings[i] = finding
	}
	return findings
}

// finding returns a finding of a rule without its line and column.
func (r *ruleSet) finding(id string, start, end int) Finding {
	kind := r.kinds[id]
	return Finding{Rule: id, Tier: kind.tier, Reason: kind.reason, Length: max(1, end-start), start: start}
}

// detectWithGitleaks scans text under an empty path, so that no rule and no
// exception depends on where the text is kept.
func detectWithGitleaks(ctx context.Context, rules *ruleSet, text string) []report.Finding {
	return rules.detector.DetectContext(ctx, detect.Fragment{Raw: text}) //nolint:staticcheck // no other type is taken in v8
}
