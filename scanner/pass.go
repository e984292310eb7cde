package scanner

import (
	"context"

	"github.com/teammem/teammemd/scanner/match"
	"github.com/teammem/teammemd/scanner/view"
)

// pass is one scan of a name and a text.
type pass struct {
	*engine
	ctx  context.Context
	ends deadline
	look func(ctx context.Context, text string) bool

	findings []Finding
	late     bool // some of it was not searched
	err      error
}

// stop ends a search whose time is over, or whose caller has left.
func (p *pass) stop() bool { return p.ctx.Err() != nil || p.ends.over() }

// text finds secrets in the text as it stands and in what it hides.
func (p *pass) text(text string) {
	if text == "" {
		return
	}
	var lines *lines
	p.views(text, func(f Finding) {
		if lines == nil {
			lines = linesOf(text)
		}
		f.Line, f.Column = lines.locate(f.start)
		p.findings = append(p.findings, f)
	})
}

// name finds secrets in a name.
func (p *pass) name(name string) {
	text, parts := nameText(name)
	if text == "" {
		return
	}
	p.views(text, func(f Finding) {
		start, end := inName(parts, f.start, f.start+f.Length)
		f.InName, f.start, f.Column, f.Length = true, start, start+1, end-start
		p.findings = append(p.findings, f)
	})
}

// views searches a text and every view of it, the text itself first.
func (p *pass) views(text string, found func(Finding)) {
	if p.look != nil && !p.look(p.ctx, text) {
		return
	}
	raw := view.Of(text)
	p.search(raw, nil, found)
	p.decoded(raw, found)
	if p.late || p.err != nil {
		return
	}
	for _, normal := range view.Variants(raw) {
		p.search(normal, normal, found)
		p.decoded(normal, found)
	}
}

// decodeDepth is how often what is encoded is decoded.
const decodeDepth = 2

// decoded searches what is encoded in a view.
func (p *pass) decoded(t view.Text, found func(Finding)) {
	for range decodeDepth {
		if p.late || p.err != nil {
			return
		}
		next, ok := view.Decode(t)
		if !ok {
			return
		}
		p.search(next, next, found)
		t = next
	}
}

// search searches one view.
func (p *pass) search(t view.Text, within match.Within, found func(Finding)) {
	if p.late || p.err != nil {
		return
	}
	hits, done, err := p.matcher.Find(match.Request{Text: t.String(), Within: within, Stop: p.stop})
	if p.err = err; !done {
		p.late = true
		return
	}
	for _, hit := range hits {
		rule := p.matcher.Rule(hit.Rule)
		start, end := unframed(t.String(), hit.Start, hit.End)
		start, end = t.Origin(start, end)
		found(Finding{
			Rule: rule.ID, Tier: rule.Tier, Reason: rule.Reason + remedy,
			Length: max(1, end-start), start: start, vague: rule.Vague,
		})
	}
}

// remedy ends every reason.
const remedy = " Replace it by a reference to your vault, and rotate it if it was ever shared."

// unframed leaves out the space and the quotes that some patterns take in with
// a secret.
func unframed(text string, start, end int) (int, int) {
	for end-start > 1 && isFrame(text[start]) {
		start++
	}
	for end-start > 1 && isFrame(text[end-1]) {
		end--
	}
	return start, end
}

func isFrame(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', '"', '\'', '`':
		return true
	}
	return false
}
