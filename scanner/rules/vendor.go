package rules

import (
	stdbase64 "encoding/base64"
	"slices"
	"strings"

	"github.com/teammem/teammemd/scanner/samples"
)

// token completes r, the rule of one vendor's token: parts make the shortest
// token that the rule finds. Where r says nothing else, the token consists of
// letters, digits and underscores, and needs 3 bits a byte.
func token(r Rule, parts ...part) Rule {
	if r.Alphabet == "" {
		r.Alphabet = `\w`
	}
	return anywhere(r, parts...)
}

// anywhere is token for a pattern that says itself what may stand around the
// secret, such as an address or a token that may be longer than any bound.
func anywhere(r Rule, parts ...part) Rule {
	return vendor(r, "", parts)
}

// labelled is for a secret without a prefix of its own: it counts beside one of
// names, a regular expression in lower case, and a word such as key or token.
// value is the shape of the secret, and parts make the shortest one.
func labelled(r Rule, label, names, value string, parts ...part) Rule {
	r.Pattern = `(?i:` + names + `)[\w .-]{0,24}?(?i:key|token|secret|pat|pass|auth|cred)[\w.-]{0,12}?` +
		`(?:[\s"'` + "`" + `*_()\[\]{}:=|,>→-]|is|to|was|set){1,10}(` + value + `)` + Terminator(`\w-`)
	r.Group = 1
	return vendor(r, label, parts)
}

// vendor gives r its tier, floor and samples. The samples stand after label,
// unless that is empty.
func vendor(r Rule, label string, parts []part) Rule {
	r.Tier = Block1
	if r.Entropy == 0 {
		r.Entropy = 3
	}
	r.Filters = append([]Filter{notPlaceholder}, r.Filters...)
	r.Hits = func(s *samples.Source) []string {
		if label == "" {
			return []string{sample(s, parts, random), sample(s, parts, random)}
		}
		return []string{
			label + "=" + sample(s, parts, random),
			"- **" + label + "**: `" + sample(s, parts, random) + "`",
			label + " is " + sample(s, parts, random) + ".",
		}
	}
	r.Misses = func(s *samples.Source) []string {
		before := label
		if label != "" {
			before += "="
		}
		return []string{
			before + sample(s, shorter(parts), random),
			before + sample(s, parts, crossed),
			before + sample(s, parts, counted),
		}
	}
	return r
}

// drawnFront returns r, of whose secret only the first length bytes are drawn: what
// follows may well be the same character over and over.
func drawnFront(length int, r Rule) Rule {
	r.Filters[0] = Filter{Name: "vendor-drawn-front-1", Keep: func(m Match) bool {
		m.SecretEnd = min(m.SecretEnd, m.SecretStart+length)
		return notPlaceholder.Keep(m)
	}}
	return r
}

// shorter returns parts without the last random character.
func shorter(parts []part) []part {
	cut := slices.Clone(parts)
	for i, p := range slices.Backward(parts) {
		switch p := p.(type) {
		case run:
			p.length--
			cut[i] = p
			return cut
		case blend:
			cut[i] = p - 1
			return cut
		case uuid:
			cut[i] = run{samples.Hex, 8}
			return cut
		}
	}
	return cut
}

// part is one stretch of a sample.
type part interface {
	draw(s *samples.Source, f fill) string
}

// fill says what stands where a secret has random characters.
type fill int

const (
	random  fill = iota
	crossed      // xxxx, or another character where x is none of the alphabet's
	counted      // 012345, abcdef
)

// text is a fixed part. It is cut in the source, so that no file of ours looks
// like a secret.
type text string

func (t text) draw(*samples.Source, fill) string { return string(t) }

// oneOf is a fixed part that differs.
type oneOf []string

func (o oneOf) draw(s *samples.Source, _ fill) string { return o[s.IntN(len(o))] }

// run is a random part.
type run struct {
	alphabet string
	length   int
}

func (r run) draw(s *samples.Source, f fill) string {
	switch f {
	case crossed:
		if strings.Contains(r.alphabet, "x") {
			return strings.Repeat("x", r.length)
		}
		return strings.Repeat(r.alphabet[len(r.alphabet)-1:], r.length)
	case counted:
		return strings.Repeat(r.alphabet, r.length/len(r.alphabet)+1)[:r.length]
	}
	return s.Text(r.alphabet, r.length)
}

// blend is a run of letters and digits that is never without a digit, a small
// and a capital letter.
type blend int

func (b blend) draw(s *samples.Source, f fill) string {
	if f != random {
		return run{samples.Alnum, int(b)}.draw(s, f)
	}
	return s.Text(samples.Digits, 1) + s.Text(samples.Lower, 1) + s.Text(samples.Upper, 1) + s.Text(samples.Alnum, int(b)-3)
}

func alnum(length int) part  { return run{samples.Alnum, length} }
func base64(length int) part { return run{samples.Base64, length} }
func digits(length int) part { return run{samples.Digits, length} }
func hex(length int) part    { return run{samples.Hex, length} }
func lower(length int) part  { return run{samples.Digits + samples.Lower, length} }
func upper(length int) part  { return run{samples.Digits + samples.Upper, length} }
func word(length int) part   { return run{samples.Alnum + "_-", length} }

// uuid is the part of 36 characters that many vendors make do with.
type uuid struct{}

// uuidPattern is its shape.
const uuidPattern = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

func (uuid) draw(s *samples.Source, f fill) string {
	drawn := run{samples.Hex, 32}.draw(s, f)
	return drawn[:8] + "-" + drawn[8:12] + "-" + drawn[12:16] + "-" + drawn[16:20] + "-" + drawn[20:]
}

// botNumber is the number of a Discord bot, in base64.
type botNumber struct{}

func (botNumber) draw(s *samples.Source, f fill) string {
	number := "1" + run{samples.Digits, 17}.draw(s, f)
	return stdbase64.RawURLEncoding.EncodeToString([]byte(number))
}

// sample puts parts together.
func sample(s *samples.Source, parts []part, f fill) string {
	var made strings.Builder
	for _, p := range parts {
		made.WriteString(p.draw(s, f))
	}
	return made.String()
}
