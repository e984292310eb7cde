package core

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// proposal is a request whose parts were checked as far as that goes without
// state. Faulty entries are in refused and nowhere else.
type proposal struct {
	puts    []store.Put // sorted by key
	retire  []api.Key   // sorted, each once
	expect  map[api.Key]expectation
	refused refusal
}

// expectation is one precondition on a key: that it has the content sum, that it
// is the tombstone of a version, or, with both zero, that it is neither.
type expectation struct {
	sum  api.Checksum
	tomb uint64
}

const tombPrefix = "tombstone:"

// parseExpectation reads a precondition as it travels.
func parseExpectation(s string) (expectation, error) {
	if s == "" {
		return expectation{}, nil
	}
	if digits, ok := strings.CutPrefix(s, tombPrefix); ok {
		version, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || version == 0 {
			return expectation{}, api.Errorf(api.ErrBadRequest, "an expectation of a tombstone is tombstone:<version>")
		}
		return expectation{tomb: version}, nil
	}
	sum, err := api.ParseChecksum(s)
	if err != nil {
		return expectation{}, api.Errorf(api.ErrBadRequest, "an expectation is sha256:<hex>, tombstone:<version> or empty")
	}
	return expectation{sum: sum}, nil
}

// String returns the expectation as it travels.
func (e expectation) String() string {
	if e.tomb != 0 {
		return tombPrefix + strconv.FormatUint(e.tomb, 10)
	}
	return e.sum.String()
}

// check judges a request by itself. The error is for requests that make no
// sense; what is wrong with single entries goes to the proposal's refusal.
func check(request api.PushRequest, maxBytes int) (*proposal, error) {
	p := &proposal{expect: make(map[api.Key]expectation, len(request.Expect))}
	for name, content := range request.Entries {
		key, ok := p.checkEntry(name, content, maxBytes)
		if ok {
			p.puts = append(p.puts, store.Put{Key: key, Content: content, Sum: api.SumString(content)})
		}
	}
	for _, name := range request.SoftDeleteKeys {
		if _, both := request.Entries[name]; both {
			return nil, api.Errorf(api.ErrBadRequest, "a key is both in entries and in soft_delete_keys")
		}
		if key, ok := p.checkKey(name); ok {
			p.retire = append(p.retire, key)
		}
	}
	for name, s := range request.Expect {
		e, err := parseExpectation(s)
		if err != nil {
			return nil, err
		}
		if p.refused.keys[name] {
			continue // its entry is refused already
		}
		if key, ok := p.checkKey(name); ok {
			p.expect[key] = e
		}
	}
	slices.SortFunc(p.puts, func(a, b store.Put) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(p.retire, api.Key.Compare)
	p.retire = slices.Compact(p.retire)
	return p, nil
}

func (p *proposal) checkKey(name string) (api.Key, bool) {
	key, err := api.ParseKey(name)
	if err != nil {
		p.refused.addReason(api.ErrKeyInvalid, name, strings.TrimPrefix(err.Error(), api.ErrKeyInvalid.Error()+": "))
		return api.Key{}, false
	}
	return key, true
}

func (p *proposal) checkEntry(name, content string, maxBytes int) (api.Key, bool) {
	key, ok := p.checkKey(name)
	if len(content) > maxBytes {
		p.refused.addReason(api.ErrEntryTooLarge, name,
			fmt.Sprintf("the content has %d bytes; at most %d are kept", len(content), maxBytes))
		return api.Key{}, false
	}
	if !utf8.ValidString(content) || strings.ContainsRune(content, 0) {
		p.refused.addReason(api.ErrRefused, name, "the content is not text: it has a NUL or is not UTF-8")
		return api.Key{}, false
	}
	return key, ok
}
