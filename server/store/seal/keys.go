package seal

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
)

var (
	errNoKeys = errors.New("it has no key")
	errLine   = errors.New("each line must be a name of letters, digits, '.', '_' or '-', a space, and 32 bytes in base64")
	errTwice  = errors.New("two keys have the same name")
)

// nameShape is how a master key may be called: at most 64 bytes.
var nameShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Keys are master keys. They are immutable and safe for concurrent use; nil has
// none, which is how a store without encryption has them.
type Keys struct{ all []master }

type master struct {
	name string
	aead cipher.AEAD
}

// Wrapped is a data key as a database keeps it.
type Wrapped struct {
	Master string // the name of the key that it is sealed with
	Sealed []byte
}

// Parse reads the text of a key file: one key a line, its name and 32 bytes in
// base64. Empty lines, and those that begin with #, are left out. No error quotes
// a line.
func Parse(text []byte) (*Keys, error) {
	k := &Keys{}
	for number, line := range bytes.Split(text, []byte("\n")) {
		fields := bytes.Fields(line)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		if err := k.add(fields); err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
	}
	if len(k.all) == 0 {
		return nil, errNoKeys
	}
	return k, nil
}

func (k *Keys) add(fields [][]byte) error {
	if len(fields) != 2 || !nameShape.Match(fields[0]) {
		return errLine
	}
	key, err := base64.StdEncoding.DecodeString(string(fields[1]))
	if err != nil || len(key) != KeyBytes {
		return errLine
	}
	name := string(fields[0])
	if k.find(name) != nil {
		return errTwice
	}
	aead, err := newAEAD(key)
	clear(key)
	k.all = append(k.all, master{name, aead})
	return err
}

// First is the name of the key that wraps, "" where there is none.
func (k *Keys) First() string {
	if k == nil {
		return ""
	}
	return k.all[0].name
}

// Plain returns a content that is kept as it is, which has this SHA-256. Where
// there are keys it is [ErrDamaged] if it has another: what was sealed and is called
// plain is not taken for a text.
func (k *Keys) Plain(sum [32]byte, content string) (string, error) {
	if k != nil && sha256.Sum256([]byte(content)) != sum {
		return "", ErrDamaged
	}
	return content, nil
}

func (k *Keys) find(name string) *master {
	if k == nil {
		return nil
	}
	for i := range k.all {
		if k.all[i].name == name {
			return &k.all[i]
		}
	}
	return nil
}

// NewDataKey makes a data key for a repo, and wraps it under the first key. k must
// not be nil.
func (k *Keys) NewDataKey(repo, number int64) (*DataKey, Wrapped, error) {
	raw := make([]byte, KeyBytes)
	defer clear(raw)
	_, _ = rand.Read(raw) // never fails
	key, err := newDataKey(repo, number, raw)
	return key, k.wrap(repo, number, raw), err
}

func (k *Keys) wrap(repo, number int64, raw []byte) Wrapped {
	first := &k.all[0]
	return Wrapped{Master: first.name, Sealed: sealTo(first.aead, raw, wrapping(repo, number, first.name))}
}

// wrapping is what a wrapped data key is bound to.
func wrapping(repo, number int64, name string) []byte {
	return append(place("teammemd data key", repo, number), name...)
}

// Unwrap returns the data key of a repo with this number: [ErrNoKey] where its
// master key is not there, [ErrDamaged] where it does not open.
func (k *Keys) Unwrap(repo, number int64, w Wrapped) (*DataKey, error) {
	raw, err := k.unwrap(repo, number, w)
	if err != nil {
		return nil, err
	}
	defer clear(raw)
	return newDataKey(repo, number, raw)
}

func (k *Keys) unwrap(repo, number int64, w Wrapped) ([]byte, error) {
	m := k.find(w.Master)
	switch {
	case k == nil:
		return nil, fmt.Errorf("%w: no key file is named, and %q is needed", ErrNoKey, w.Master)
	case m == nil:
		return nil, fmt.Errorf("%w: %q", ErrNoKey, w.Master)
	}
	raw, err := open(m.aead, bytes.Clone(w.Sealed), wrapping(repo, number, w.Master))
	if err == nil && len(raw) != KeyBytes {
		err = ErrDamaged
	}
	if err != nil {
		return nil, fmt.Errorf("the data key %d, under the key %q of the key file: %w", number, w.Master, err)
	}
	return raw, nil
}

// Rewrap wraps a data key under the first key. Errors are those of [Keys.Unwrap].
func (k *Keys) Rewrap(repo, number int64, w Wrapped) (Wrapped, error) {
	raw, err := k.unwrap(repo, number, w)
	if err != nil {
		return Wrapped{}, err
	}
	defer clear(raw)
	return k.wrap(repo, number, raw), nil
}
