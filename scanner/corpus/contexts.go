package corpus

import (
	"slices"
	"strings"
)

// Context is one way in which a value stands in a note.
type Context struct {
	Name string
	// Whole contexts keep the value as one unbroken run of its own characters;
	// the others break, escape or encode it.
	Whole bool
	// Glued contexts keep it so, and go on with what may belong to it as well: a
	// full stop and a letter. They are measured, and nothing is asked of them.
	Glued bool
	// OneLine contexts take values without a newline only.
	OneLine bool
	// Wrap returns a text around the value.
	Wrap func(value string) string
}

// The names of the plainest contexts.
const (
	BareLine = "bare line"
	KeyValue = "key=value"
	Fence    = "fenced code"
)

// Contexts returns all contexts.
func Contexts() []Context {
	return slices.Concat(markdownContexts, textContexts, codeContexts, brokenContexts)
}

// inline is a context of one line in a note of several: format has % where the
// value goes.
func inline(name, format string) Context {
	return Context{Name: name, Whole: true, OneLine: true, Wrap: func(value string) string {
		return "# Deploy\n\nHow we ship the kestrel service.\n\n" + put(format, value) + "\n\nAsk Ada when it fails.\n"
	}}
}

// bare is a context of one line whose format is the whole text.
func bare(name, format string) Context {
	return Context{Name: name, Whole: true, OneLine: true, Wrap: func(value string) string { return put(format, value) }}
}

// block is a context of any number of lines: each line of the value takes the
// place of % in line.
func block(name, before, line, after string) Context {
	return Context{Name: name, Whole: true, Wrap: func(value string) string {
		var made strings.Builder
		made.WriteString(before)
		for part := range strings.SplitSeq(value, "\n") {
			made.WriteString(put(line, part) + "\n")
		}
		return made.String() + after
	}}
}

// put replaces the only % of format. A % of its own is written as %%.
func put(format, value string) string {
	before, after, found := strings.Cut(strings.ReplaceAll(format, "%%", "\x01"), "%")
	if !found || strings.Contains(after, "%") {
		panic("corpus: a format takes one value: " + format)
	}
	percent := strings.NewReplacer("\x01", "%")
	return percent.Replace(before) + value + percent.Replace(after)
}
