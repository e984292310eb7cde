package memdir

import (
	"errors"
	"fmt"
	"os"

	"github.com/teammem/teammemd/internal/atomicfile"
)

// Capabilities say what the root's file system allows.
type Capabilities struct {
	// Exchange: files are placed by an exchange of names. Without it a file is
	// absent for a moment while it is replaced.
	Exchange bool
	// Writers: it can be told whether a program has a file open for writing.
	Writers bool
	// Staging is the directory that is used for files on their way.
	Staging string
	// Beside: Staging is beside the root, because the preferred directory is on
	// another file system.
	Beside bool
}

// Capabilities tries out what the file system can do, with files in the
// staging directory only.
func (t *Tree) Capabilities() (Capabilities, error) {
	root, err := t.openRoot()
	if err != nil {
		return Capabilities{}, err
	}
	defer root.release()
	s, err := t.openStaging(root)
	if err != nil {
		return Capabilities{}, err
	}
	defer s.close()
	c := Capabilities{Staging: s.path, Beside: s.beside}
	if err := s.probe(&c); err != nil {
		return Capabilities{}, fmt.Errorf("trying out the file system: %w", err)
	}
	c.Exchange = c.Exchange && !t.noExchange
	return c, nil
}

func (s *staging) probe(c *Capabilities) (err error) {
	names := [2]string{beingWritten + randomPart(), beingWritten + randomPart()}
	for _, name := range names {
		defer func() { err = errors.Join(err, s.remove(name)) }()
		if err := s.root.WriteFile(name, nil, 0o600); err != nil {
			return err
		}
	}
	err = atomicfile.Exchange(s.file, names[0], s.file, names[1])
	if err != nil && !errors.Is(err, atomicfile.ErrNoExchange) {
		return err
	}
	c.Exchange = err == nil
	f, err := s.root.OpenFile(names[0], os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	_, err = atomicfile.HasWriter(f)
	c.Writers = err == nil
	return f.Close()
}
