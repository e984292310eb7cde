package scanner

import (
	"cmp"
	"slices"
)

// tidy sorts findings by place and rule, and drops those that say again what
// another says better: of one rule at one place all but the first found, which
// is the one in the text as it stands; and those that only suspect something,
// where a finding that holds as much knows what it is.
func tidy(findings []Finding) []Finding {
	findings = apart(findings)
	known := coverOf(findings, func(f Finding) bool { return !f.vague && f.Tier.Holds() })
	held := coverOf(findings, func(f Finding) bool { return f.Tier.Holds() })
	named := coverOf(findings, func(f Finding) bool { return !f.vague })
	findings = slices.DeleteFunc(findings, func(f Finding) bool {
		if !f.vague {
			return false
		}
		return known.meets(f) || f.Tier == Warn && (held.meets(f) || named.meets(f))
	})
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule),
		)
	})
	if len(findings) == 0 {
		return nil
	}
	return findings
}

// apart keeps of the findings of one rule that overlap the first. It leaves
// them sorted by where they begin, those in the name before those in the text.
func apart(findings []Finding) []Finding {
	type ranked struct {
		Finding
		rank int
	}
	all := make([]ranked, len(findings))
	for i, f := range findings {
		all[i] = ranked{f, i}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(compareInName(a.Finding, b.Finding), cmp.Compare(a.start, b.start), cmp.Compare(a.rank, b.rank))
	})
	kept := all[:0]
	last := make(map[string]int) // by rule, into kept
	for _, f := range all {
		if at, ok := last[f.Rule]; ok && kept[at].InName == f.InName && f.start < kept[at].start+kept[at].Length {
			if f.rank < kept[at].rank {
				kept[at] = f
			}
			continue
		}
		last[f.Rule] = len(kept)
		kept = append(kept, f)
	}
	findings = findings[:0]
	for _, f := range kept {
		findings = append(findings, f.Finding)
	}
	slices.SortFunc(findings, func(a, b Finding) int { return cmp.Or(compareInName(a, b), cmp.Compare(a.start, b.start)) })
	return findings
}

func compareInName(a, b Finding) int {
	switch {
	case a.InName == b.InName:
		return 0
	case a.InName:
		return -1
	}
	return 1
}

// cover is the bytes of some findings, as spans that neither overlap nor touch.
type cover struct{ name, text [][2]int }

// coverOf joins the spans of the findings that count. They are sorted by
// where they begin.
func coverOf(findings []Finding, counts func(Finding) bool) cover {
	var c cover
	for _, f := range findings {
		if !counts(f) {
			continue
		}
		spans := &c.text
		if f.InName {
			spans = &c.name
		}
		start, end := f.Span()
		if n := len(*spans); n > 0 && start <= (*spans)[n-1][1] {
			(*spans)[n-1][1] = max((*spans)[n-1][1], end)
			continue
		}
		*spans = append(*spans, [2]int{start, end})
	}
	return c
}

// meets reports whether a finding overlaps the cover.
func (c cover) meets(f Finding) bool {
	spans := c.text
	if f.InName {
		spans = c.name
	}
	start, end := f.Span()
	at, _ := slices.BinarySearchFunc(spans, start, func(s [2]int, start int) int {
		if s[1] <= start {
			return -1
		}
		return 1
	})
	return at < len(spans) && spans[at][0] < end
}
