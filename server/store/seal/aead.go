package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
)

const (
	// KeyBytes is the length of every key.
	KeyBytes = 32
	// Overhead is how much longer what is sealed is than its content, in bytes.
	Overhead = 1 + nonceBytes + tagBytes

	nonceBytes = 12
	tagBytes   = 16
	// form is the first byte of all that is sealed.
	form = 1
)

var (
	// ErrDamaged says that something sealed does not open: it was changed, cut,
	// moved from another place, or sealed with another key.
	ErrDamaged = errors.New("what is sealed does not open: it was changed, moved or swapped")
	// ErrNoKey says that the key file lacks a key that is needed, or that none is
	// named.
	ErrNoKey = errors.New("the key file lacks a key that contents are encrypted with")
)

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// sealTo seals text in one allocation.
func sealTo[T string | []byte](aead cipher.AEAD, text T, bound []byte) []byte {
	out := make([]byte, 1+nonceBytes, Overhead+len(text))
	out[0] = form
	_, _ = rand.Read(out[1:]) // never fails: crypto/rand ends the process instead
	whole := append(out, text...)
	return aead.Seal(out, out[1:], whole[len(out):], bound)
}

// open returns what was sealed, in the place of sealed.
func open(aead cipher.AEAD, sealed, bound []byte) ([]byte, error) {
	if len(sealed) < Overhead || sealed[0] != form {
		return nil, ErrDamaged
	}
	nonce, text := sealed[1:1+nonceBytes], sealed[1+nonceBytes:]
	plain, err := aead.Open(text[:0], nonce, text, bound)
	if err != nil {
		return nil, ErrDamaged
	}
	return plain, nil
}
