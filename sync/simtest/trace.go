package simtest

import (
	"fmt"
	"io"
	"slices"

	teamsync "github.com/teammem/teammemd/sync"
)

// Record writes down every operation, event, effect and answer, which costs more
// than the history itself. Call it before [World.Run]. Equal histories write
// equal bytes.
func (w *World) Record(to io.Writer) { w.trace = to }

// note adds one thing to the trace.
func (w *World) note(what string, thing any) {
	if w.trace == nil {
		return
	}
	fmt.Fprintf(w.trace, "%s %s ", w.now.Format("04:05.000000"), what)
	if viewed, ok := thing.(teamsync.Viewed); ok && viewed.View != nil {
		// By value: a pointer would print as an address.
		fmt.Fprintf(w.trace, "%T %+v %v\n", thing, *viewed.View, viewed.Err)
		return
	}
	if commit, ok := thing.(teamsync.Commit); ok && commit.Record.View != nil {
		fmt.Fprintf(w.trace, "%+v ", *commit.Record.View)
		commit.Record.View = nil
		thing = commit
	}
	if inspected, ok := thing.(teamsync.Inspected); ok {
		inspected.Files = slices.Clone(inspected.Files)
		for i := range inspected.Files {
			if base := inspected.Files[i].Base; base != nil {
				fmt.Fprintf(w.trace, "base %q ", *base)
				inspected.Files[i].Base = nil
			}
		}
		thing = inspected
	}
	fmt.Fprintf(w.trace, "%T %+v\n", thing, thing)
}
