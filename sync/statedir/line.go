package statedir

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/teammem/teammemd/api"
)

// format is the journal's format, written in its first line. A reader refuses a
// higher one.
const format = 1

// line is one line of the journal: 8 hexadecimal digits of the CRC-32C of the
// JSON, a space, the JSON, a newline. Every line but the first is one commit,
// or a part of the state at the last compaction.
type line struct {
	Format int              `json:"format,omitempty"`
	View   *api.Position    `json:"view,omitempty"`
	Push   time.Time        `json:"push,omitzero"`
	Pull   time.Time        `json:"pull,omitzero"`
	Rules  string           `json:"rules,omitempty"`
	Bases  map[string]*base `json:"bases,omitempty"` // nil base: forgotten
}

// base is an [api.Base] with its checksums as bytes, which JSON carries in
// base64: a ring of 16 in one string loads several times faster than as a list.
type base struct {
	Sum  []byte `json:"s,omitempty"`
	Tomb uint64 `json:"t,omitempty"`
	Ring []byte `json:"r,omitempty"`
	Bad  []byte `json:"b,omitempty"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (l *line) empty() bool {
	return l.View == nil && l.Push.IsZero() && l.Pull.IsZero() && l.Rules == "" && len(l.Bases) == 0
}

// appendTo adds the encoded line to buf.
func (l *line) appendTo(buf []byte) ([]byte, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("encoding state: %w", err)
	}
	buf = fmt.Appendf(buf, "%08x ", crc32.Checksum(text, castagnoli))
	buf = append(buf, text...)
	return append(buf, '\n'), nil
}

// checkLine returns the JSON of an encoded line without its newline, or false
// for one that was damaged or not written whole.
func checkLine(text []byte) ([]byte, bool) {
	var sum [4]byte
	if len(text) < 9 || text[8] != ' ' {
		return nil, false
	}
	if _, err := hex.Decode(sum[:], text[:8]); err != nil {
		return nil, false
	}
	want := uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3])
	return text[9:], crc32.Checksum(text[9:], castagnoli) == want
}

// step is one decoded line.
type step struct {
	line
	bases []keyed
}

type keyed struct {
	key  api.Key
	base api.Base
}

func decodeStep(text []byte) (step, error) {
	var s step
	if err := json.Unmarshal(text, &s.line); err != nil {
		return step{}, err
	}
	s.bases = make([]keyed, 0, len(s.Bases))
	for name, b := range s.Bases {
		key, err := api.ParseKey(name)
		if err != nil {
			return step{}, err
		}
		decoded, err := b.decode()
		if err != nil {
			return step{}, err
		}
		s.bases = append(s.bases, keyed{key, decoded})
	}
	s.Bases = nil
	return s, nil
}

func (b *base) decode() (api.Base, error) {
	if b == nil {
		return api.Base{}, nil
	}
	sum, err1 := toSums(b.Sum)
	ring, err2 := toSums(b.Ring)
	bad, err3 := toSums(b.Bad)
	if err := errors.Join(err1, err2, err3); err != nil {
		return api.Base{}, err
	}
	return api.Base{Sum: first(sum), Tomb: b.Tomb, Ring: ring, Bad: first(bad)}, nil
}

func encodeBase(b api.Base) *base {
	if isZero(b) {
		return nil
	}
	encoded := &base{Tomb: b.Tomb}
	if !b.Sum.IsZero() {
		encoded.Sum = b.Sum[:]
	}
	for i := range b.Ring {
		encoded.Ring = append(encoded.Ring, b.Ring[i][:]...)
	}
	if !b.Bad.IsZero() {
		encoded.Bad = b.Bad[:]
	}
	return encoded
}

func toSums(raw []byte) ([]api.Checksum, error) {
	const size = len(api.Checksum{})
	if len(raw)%size != 0 {
		return nil, errors.New("a checksum of the wrong length")
	}
	if len(raw) == 0 {
		return nil, nil
	}
	sums := make([]api.Checksum, len(raw)/size)
	for i := range sums {
		sums[i] = api.Checksum(raw[i*size : (i+1)*size])
	}
	return sums, nil
}

func first(sums []api.Checksum) api.Checksum {
	if len(sums) == 0 {
		return api.Checksum{}
	}
	return sums[0]
}
