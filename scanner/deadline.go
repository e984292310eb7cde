package scanner

import (
	"time"

	"github.com/teammem/teammemd/scanner/cputime"
)

// starved is how many times its span a deadline can last while the machine gives
// this process less of a processor than the span: a text is refused for what it
// costs, not for what else the machine does.
const starved = 15

// deadline ends a piece of work that costs too much. Its span counts as over
// when it has gone by on the clock and the process has used as much of the
// processor, or when the clock says [starved] times as much.
type deadline struct {
	span  time.Duration
	begun time.Time
	used  time.Duration // of the processor, at the beginning; 0 for not known
}

func begin(span time.Duration) deadline {
	return deadline{span, time.Now(), cputime.Used()}
}

func (d deadline) over() bool {
	gone := time.Since(d.begun)
	return gone >= d.span && (d.used == 0 || outlasted(d.span, gone, cputime.Used()-d.used))
}

// outlasted reports whether a span is over after gone on the clock, and used of
// the processor.
func outlasted(span, gone, used time.Duration) bool {
	return gone >= starved*span || gone >= span && used >= span
}
