package memdir_test

import (
	"context"
	"errors"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/memdir"
)

var errDisk = errors.New("no space left")

func failingSave(o *memdir.Options) {
	o.Save = func(context.Context, api.SavedCopy) (string, error) { return "", errDisk }
}
