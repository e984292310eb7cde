package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
)

// measure measures one contender after the other, each on a rig of its own that
// is gone when its turn is over.
func measure[T any](ctx context.Context, o Options, one func(context.Context, contender) ([]T, error)) (Report[T], error) {
	report := Report[T]{Machine: thisMachine(), Debounce: inMS(o.Debounce), Results: []T{}, Missing: []Missing{}}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	all := []contender{newTeam(o)}
	if o.Compare {
		peers, missing := findPeers()
		all, report.Missing = append(all, peers...), append(report.Missing, missing...)
	}
	for _, m := range report.Missing {
		o.Progress(fmt.Sprintf("%s is not installed; on Debian: apt-get install %s", m.Program, m.Package))
	}
	for _, c := range all {
		results, err := measureOne(ctx, o, c, one)
		if err != nil {
			return report, fmt.Errorf("measuring %s: %w", c.name(), err)
		}
		report.Results = append(report.Results, results...)
	}
	return report, nil
}

func measureOne[T any](ctx context.Context, o Options, c contender, one func(context.Context, contender) ([]T, error)) (results []T, err error) {
	r, err := newRig(o.TempDir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	o.Progress("measuring " + c.name())
	if err := c.begin(ctx, r); err != nil {
		return nil, err
	}
	return one(ctx, c)
}

// findPeers returns the programs to compare with that are installed here.
func findPeers() (peers []contender, absent []Missing) {
	if program, err := exec.LookPath("syncthing"); err == nil {
		peers = append(peers, &syncthing{program: program, delay: 10, most: 5}, &syncthing{program: program, delay: 1, most: 20})
	} else {
		absent = append(absent, Missing{"syncthing", "syncthing"})
	}
	if program, err := exec.LookPath("unison"); err == nil {
		peers = append(peers, &unison{program: program})
	} else {
		absent = append(absent, Missing{"unison", "unison"})
	}
	return peers, absent
}
