package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// The control sequences of ECMA-48 that a screen needs. None of them is a
// colour, so NO_COLOR is not asked.
const (
	cursorUp    = "\x1b[%dA" // so many lines
	eraseLine   = "\x1b[K"   // from the cursor to the end of the line
	eraseBelow  = "\x1b[J"   // from the cursor to the end of the screen
	returnErase = "\r" + eraseLine
)

// canRedraw reports whether what was written to a stream can be written over: a
// terminal, and not one that only ever goes on.
func (a *app) canRedraw(stream any) bool {
	return isTerminal(stream) && a.getenv("TERM") != "dumb"
}

// sizeOf returns the columns and lines of a terminal.
func sizeOf(stream any) (columns, lines int) {
	if file, ok := stream.(*os.File); ok {
		if columns, lines, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 && lines > 0 {
			return columns, lines
		}
	}
	return 80, 24
}

// screen shows one text in the place of the one before it. Each is written by
// one call, so that nothing flickers.
type screen struct {
	out   io.Writer
	size  func() (columns, lines int)
	shown int // lines of the text that is shown
}

// show puts text, of whole lines, in the place of the last one. What does not
// fit is cut: a line that wraps, or a screen that scrolls, could not be found
// again.
func (s *screen) show(text string) error {
	columns, height := s.size()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if most := max(height-1, 1); len(lines) > most {
		hidden := len(lines) - most + 1
		lines = append(lines[:most-1:most-1], fmt.Sprintf("... %d more lines", hidden))
	}
	var out bytes.Buffer
	if s.shown > 0 {
		fmt.Fprintf(&out, "\r"+cursorUp, s.shown)
	}
	for _, line := range lines {
		out.WriteString(cut(line, columns-1) + eraseLine + "\n")
	}
	out.WriteString(eraseBelow)
	s.shown = len(lines)
	_, err := s.out.Write(out.Bytes())
	return err
}

// cut shortens a line to so many characters. Characters that take two columns
// count as two.
func cut(line string, columns int) string {
	width := 0
	for i, r := range line {
		if width += widthOf(r); width > columns {
			return line[:i]
		}
	}
	return line
}

// widthOf is how many columns a character takes: two for those of East Asian
// scripts and for pictures, near enough, one for all others.
func widthOf(r rune) int {
	if utf8.RuneLen(r) >= 3 && (r >= 0x1100 && r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 && r <= 0x3fffd) {
		return 2
	}
	return 1
}
