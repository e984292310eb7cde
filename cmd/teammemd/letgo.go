package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/sync/memdir"
	"github.com/teammem/teammemd/sync/statedir"
)

// letGo moves the text that is here under a retired key to the saved copies: a
// person has said that it may go, so it need not be one that the server knows.
func (m machine) letGo(ctx context.Context, root config.Root, key api.Key) error {
	state, err := statedir.Open(m.paths.RootState(root.ID))
	if err != nil {
		return err
	}
	tree, err := memdir.Open(memdir.Options{
		Root: root.Dir, Staging: filepath.Join(state.Path(), "forget"), Save: state.Save,
		Extensions: m.client.Config.Extensions, Ignore: m.client.Config.Ignore,
	})
	if err != nil {
		return err
	}
	here, err := tree.Load(ctx, key, api.Reading{Twice: true})
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, api.ErrRootMissing):
		return nil
	case err == nil:
		err = tree.Retire(ctx, key, []api.Checksum{here.Sum})
	}
	if err != nil {
		return fmt.Errorf("moving %s to the saved copies: %w", key, err)
	}
	return nil
}
