package upstream

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/internal/atomicfile"
)

const keyBytes = 32

var (
	errKeyFile = errors.New("the key file must hold 32 bytes in base64")
	errKeyOpen = errors.New("others may read the key file; chmod 600")
	errSeal    = errors.New("what an issuer gave cannot be opened: it was sealed with another key, or for somebody else")
)

// Sealer seals the tokens of issuers with AES-256-GCM: who has the database
// alone has none of them.
type Sealer struct{ aead cipher.AEAD }

// NewSealer returns a Sealer with a key of 32 bytes.
func NewSealer(key []byte) (*Sealer, error) {
	if len(key) != keyBytes {
		return nil, errKeyFile
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead}, nil
}

// LoadSealer reads the key from a file, which it makes, with mode 0600, if there
// is none. It refuses one that others may read.
func LoadSealer(file string) (*Sealer, error) {
	key, err := readKey(file)
	if errors.Is(err, fs.ErrNotExist) {
		fresh := make([]byte, keyBytes)
		_, _ = rand.Read(fresh) // never fails: crypto/rand ends the process instead
		text := base64.StdEncoding.EncodeToString(fresh) + "\n"
		if err := atomicfile.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("writing the key file %q: %w", file, err)
		}
		key, err = readKey(file)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the key file %q: %w", file, err)
	}
	return NewSealer(key)
}

func readKey(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > 1024 {
		return nil, errKeyFile
	}
	if !private(info) {
		return nil, errKeyOpen
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(raw)))
	if err != nil || len(key) != keyBytes {
		return nil, errKeyFile
	}
	return key, nil
}

// owner is what sealed tokens are bound to: moved to another row they do not
// open.
func owner(issuer, subject string) []byte { return []byte(issuer + "\x00" + subject) }

// Seal seals the token of a person.
func (s *Sealer) Seal(token *oauth2.Token, issuer, subject string) ([]byte, error) {
	plain, err := json.Marshal(token)
	if err != nil {
		return nil, fmt.Errorf("encoding a token: %w", err)
	}
	nonce := make([]byte, s.aead.NonceSize())
	_, _ = rand.Read(nonce)
	return s.aead.Seal(nonce, nonce, plain, owner(issuer, subject)), nil
}

// Open opens what [Sealer.Seal] made.
func (s *Sealer) Open(sealed []byte, issuer, subject string) (*oauth2.Token, error) {
	n := s.aead.NonceSize()
	if len(sealed) < n {
		return nil, errSeal
	}
	plain, err := s.aead.Open(nil, sealed[:n], sealed[n:], owner(issuer, subject))
	if err != nil {
		return nil, errSeal
	}
	var token oauth2.Token
	if err := json.Unmarshal(plain, &token); err != nil {
		return nil, errSeal
	}
	return &token, nil
}
