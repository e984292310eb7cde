package memdir

import (
	"errors"
	"os"
)

// lockDir reports that directories cannot be locked here.
func lockDir(*os.File) error { return errors.ErrUnsupported }
