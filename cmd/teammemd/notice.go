package main

import (
	"time"

	"github.com/teammem/teammemd/internal/control"
	teamsync "github.com/teammem/teammemd/sync"
)

// deletionNotice is told when a file that was deleted here came back for the
// first time: it is meant so, and there is another way.
const deletionNotice = "a file that is deleted here comes back, since others may need it; 'teammemd forget KEY' retires it for the whole team"

// notices returns what a person has to be told about a report, and was not told
// before. A notice that cannot be noted down is kept for another time: it is not
// worth a failure.
func (r *openRoot) notices(report teamsync.Report) []string {
	if report.Total.Restored == 0 {
		return nil
	}
	if first, err := r.state.FirstTime("deletion-restored", time.Now()); err != nil || !first {
		return nil
	}
	return []string{deletionNotice}
}

func (a *app) printNotices(r control.RootReport) {
	for _, notice := range r.Notices {
		a.sayf("teammemd: %s\n", notice)
	}
}
