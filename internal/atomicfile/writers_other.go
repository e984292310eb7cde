//go:build !linux

package atomicfile

import (
	"errors"
	"os"
)

// HasWriter reports whether any process has the file open for writing. Here
// nobody can tell: it returns [errors.ErrUnsupported].
func HasWriter(*os.File) (bool, error) { return false, errors.ErrUnsupported }
