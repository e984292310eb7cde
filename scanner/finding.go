package scanner

import "github.com/teammem/teammemd/scanner/rules"

// Tier says how sure a rule is, and so who may let a finding pass.
type Tier = rules.Tier

// The tiers, strictest first.
const (
	Block1 = rules.Block1
	Block2 = rules.Block2
	Block3 = rules.Block3
	Warn   = rules.Warn
)

// Finding is one place where a rule matched. It holds no part of the text.
type Finding struct {
	// Rule is the id of the rule, such as "stripe-access-token".
	Rule string
	// Tier is the tier of the rule.
	Tier Tier
	// Reason says in plain words what was found and what to do about it.
	Reason string
	// Line is the 1-based line in the text, ended by "\n" alone; 0 for a finding
	// in the name.
	Line int
	// Column is the 1-based column in bytes, in that line or in the name.
	Column int
	// Length is the number of bytes from there, never 0, possibly over several
	// lines. For a value that was found by decoding, it covers the encoded form.
	Length int
	// InName says that the finding is in the name, not in the text. The name must
	// then be shown through [MaskName] only.
	InName bool

	start int
	vague bool // of a rule that knows no kind of secret
}

// Span returns the half-open range of bytes of the finding, in the text or,
// when InName is set, in the name.
func (f Finding) Span() (start, end int) { return f.start, f.start + f.Length }
