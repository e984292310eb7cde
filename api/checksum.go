package api

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const checksumPrefix = "sha256:"

// Checksum is the SHA-256 of an entry's UTF-8 bytes, or of a repo's state. The
// zero value means "none": no content hashes to it in practice.
type Checksum [sha256.Size]byte

// Sum returns the checksum of content.
func Sum(content []byte) Checksum { return sha256.Sum256(content) }

// SumString returns the checksum of content.
func SumString(content string) Checksum { return Sum([]byte(content)) }

// ParseChecksum reads "sha256:" and 64 lowercase hexadecimal digits. An error
// names no part of s, which may be any bytes.
func ParseChecksum(s string) (Checksum, error) {
	var sum Checksum
	digits, ok := strings.CutPrefix(s, checksumPrefix)
	if !ok || len(digits) != 2*len(sum) || strings.ToLower(digits) != digits {
		return Checksum{}, fmt.Errorf("%w: a checksum is sha256: and 64 lowercase hexadecimal digits", ErrBadRequest)
	}
	if _, err := hex.Decode(sum[:], []byte(digits)); err != nil {
		return Checksum{}, fmt.Errorf("%w: a checksum is sha256: and 64 lowercase hexadecimal digits", ErrBadRequest)
	}
	return sum, nil
}

// IsZero reports whether c is "none".
func (c Checksum) IsZero() bool { return c == Checksum{} }

// Hex returns the 64 lowercase hexadecimal digits without the prefix.
func (c Checksum) Hex() string { return hex.EncodeToString(c[:]) }

// String returns "sha256:<hex>", or "" for none.
func (c Checksum) String() string {
	if c.IsZero() {
		return ""
	}
	var buf [len(checksumPrefix) + 2*sha256.Size]byte
	copy(buf[:], checksumPrefix)
	hex.Encode(buf[len(checksumPrefix):], c[:])
	return string(buf[:])
}

// MarshalText encodes as [Checksum.String].
func (c Checksum) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText decodes what [Checksum.MarshalText] wrote.
func (c *Checksum) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = Checksum{}
		return nil
	}
	sum, err := ParseChecksum(string(text))
	if err != nil {
		return err
	}
	*c = sum
	return nil
}
