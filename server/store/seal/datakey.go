package seal

import (
	"crypto/cipher"
	"encoding/binary"
	"slices"
)

// MaxVersions is how many versions of a repo one data key may serve; see the
// package documentation.
const MaxVersions = 1 << 17

// Spent reports whether a data key that a repo's version since was the first to
// use must not seal what version makes.
func Spent(since, version uint64) bool { return version >= since+MaxVersions }

// DataKey seals and opens the contents of one repo. It is immutable and safe for
// concurrent use.
type DataKey struct {
	number int64
	aead   cipher.AEAD
	prefix []byte // of what contents are bound to
}

func newDataKey(repo, number int64, key []byte) (*DataKey, error) {
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	// Clipped, so that whoever appends to it has a copy.
	return &DataKey{number: number, aead: aead, prefix: slices.Clip(place("teammemd content", repo, number))}, nil
}

// place begins what something of a repo and a data key's number is bound to.
func place(what string, repo, number int64) []byte {
	out := append([]byte(what), 0)
	out = binary.BigEndian.AppendUint64(out, uint64(repo))
	return binary.BigEndian.AppendUint64(out, uint64(number))
}

// Number is the key's in its repo; numbers begin at 1 and grow.
func (k *DataKey) Number() int64 { return k.number }

// Seal seals a content, which has this SHA-256.
func (k *DataKey) Seal(sum [32]byte, content string) []byte {
	return sealTo(k.aead, content, append(k.prefix, sum[:]...))
}

// Open returns the content with this SHA-256, or [ErrDamaged]. sealed is used up: it
// is written over.
func (k *DataKey) Open(sum [32]byte, sealed []byte) (string, error) {
	plain, err := open(k.aead, sealed, append(k.prefix, sum[:]...))
	return string(plain), err
}
