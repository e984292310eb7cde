package bench

import (
	"testing"
)

func TestFirstLine(t *testing.T) {
	f := newFirstLine()
	line := f.line
	for _, part := range []string{"listen", "ing http://", "x\nmore\n", "and more\n"} {
		if n, err := f.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if got := <-line; got != "listening http://x" {
		t.Errorf("%q", got)
	}
}
