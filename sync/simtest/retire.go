package simtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/teammem/teammemd/api"
)

// Retire moves a file out of the tree into the saved copies.
func (t tree) Retire(_ context.Context, key api.Key, known []api.Checksum) error {
	if err := t.between(); err != nil {
		return err
	}
	t.referee.retiring(t.machine, key)
	if err := t.retire(key, known); err != nil {
		return fmt.Errorf("retiring %q: %w", key, err)
	}
	return nil
}

func (t tree) retire(key api.Key, known []api.Checksum) error {
	name := key.String()
	if t.root != present {
		return api.ErrRootMissing
	}
	f := t.disk.shown[team][name]
	switch {
	case f == nil:
		return nil
	case !slices.Contains(known, f.text.sum):
		return api.ErrUnsettled
	}
	if err := t.between(); err != nil {
		return err
	}
	if f = t.disk.shown[team][name]; f == nil || t.root != present {
		return nil
	}
	out := t.stagedName(label{kind: 'd', key: key})
	t.change(link{team, name, nil}, link{staging, out, f})
	err := t.saveRetired(key, out, known)
	if err == nil {
		err = t.syncTeam()
	}
	switch {
	case t.dead:
		return errDead
	case err == nil:
		t.discard(out)
		return nil
	}
	return t.putBack(key, out, err)
}

func (t tree) saveRetired(key api.Key, name string, known []api.Checksum) error {
	f, err := t.rest(name)
	switch {
	case err != nil:
		return err
	case f.writers > 0, !slices.Contains(known, f.text.sum):
		return api.ErrUnsettled
	}
	_, err = t.keep(key, f.text, "retired")
	return err
}

// putBack returns a file to the tree, or saves it where its place is taken.
func (t tree) putBack(key api.Key, name string, cause error) error {
	f := t.disk.shown[staging][name]
	if t.root == present && t.disk.shown[team][key.String()] == nil {
		t.change(link{staging, name, nil}, link{team, key.String(), f})
		return errors.Join(cause, t.syncTeam())
	}
	t.keepOrLeave(&move{Placement: api.Placement{Key: key}, out: &api.Placed{}, staged: name})
	return cause
}

// recover clears what a crash left in the staging directory.
func (m *machine) recover() error {
	m.leftovers = false
	t := tree{m}
	var errs []error
	for _, name := range sortedNames(m.disk.shown[staging]) {
		if err := m.between(); err != nil {
			return err
		}
		if m.labels[name].kind == 'w' {
			t.discard(name)
			continue
		}
		errs = append(errs, t.recoverFile(name, m.labels[name]))
	}
	err := errors.Join(errs...)
	m.leftovers = err != nil
	return err
}

func (t tree) recoverFile(name string, l label) error {
	f := t.disk.shown[staging][name]
	if l.kind == 'd' && t.root == present && t.disk.shown[team][l.key.String()] == nil {
		t.change(link{staging, name, nil}, link{team, l.key.String(), f})
		return t.syncTeam()
	}
	f, err := t.rest(name)
	if err != nil {
		return err
	}
	if f.writers > 0 {
		return fmt.Errorf("a displaced file of %q stays: %w", l.key, api.ErrUnsettled)
	}
	if f.text.sum != l.sum && !t.state.knows(l.key, f.text.sum) {
		if _, err := t.keep(l.key, f.text, "displaced"); err != nil {
			return err
		}
	}
	if err := t.between(); err != nil {
		return err
	}
	t.discard(name)
	return nil
}
