package simtest

import (
	"context"
	"io/fs"

	"github.com/teammem/teammemd/api"
)

// texts is the engine's Texts: nothing depends on them but merges.
type texts struct{ *machine }

// Keep stores the text of a base, unless the disk is full.
func (t texts) Keep(_ context.Context, sum api.Checksum, content string) error {
	if err := t.between(); err != nil {
		return err
	}
	if t.stateFull > 0 && !t.w.settling {
		return errNoSpace
	}
	t.machine.texts[sum] = content
	return nil
}

// Text returns what was kept.
func (t texts) Text(_ context.Context, sum api.Checksum) (string, error) {
	content, ok := t.machine.texts[sum]
	if !ok {
		return "", fs.ErrNotExist
	}
	return content, nil
}
