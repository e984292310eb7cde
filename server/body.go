package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/teammem/teammemd/api"
)

const (
	// maxSmallBody bounds the bodies of POST requests, in bytes.
	maxSmallBody = 16 << 10
	// maxDrained is how much of a body that is too large is read away, so that
	// clients that send first and listen later get the answer.
	maxDrained = 16 << 20
)

// readBody reads a whole body of at most limit bytes.
func (c *call) readBody(limit int64) ([]byte, error) {
	if coding := c.r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, api.Errorf(api.ErrBadRequest, "the body must not be compressed")
	}
	if c.r.ContentLength > limit {
		return nil, c.tooLarge(limit)
	}
	var buf bytes.Buffer
	buf.Grow(int(max(c.r.ContentLength, 0)) + bytes.MinRead)
	if _, err := buf.ReadFrom(io.LimitReader(c.r.Body, limit+1)); err != nil {
		return nil, api.Errorf(api.ErrBadRequest, "the body ended early")
	}
	if int64(buf.Len()) > limit {
		return nil, c.tooLarge(limit)
	}
	return buf.Bytes(), nil
}

func (c *call) tooLarge(limit int64) error {
	_, _ = io.CopyN(io.Discard, c.r.Body, maxDrained)
	e := api.Errorf(api.ErrBodyTooLarge, "a body has at most %d bytes; send less at a time", limit)
	e.Details.MaxBytes = int(limit)
	return e
}

// readAbout reads a small body into v, and finds out what its caller may do in the
// repo that it names, which repo points to.
func (c *call) readAbout(v any, repo *api.Repo) (place, error) {
	if err := c.readJSON(v); err != nil {
		return place{}, err
	}
	if repo.IsZero() {
		return place{}, api.Errorf(api.ErrRepoInvalid, "the member repo is missing")
	}
	return c.access(*repo)
}

// readJSON reads a small body into v, a pointer to a struct.
func (c *call) readJSON(v any) error {
	raw, err := c.readBody(maxSmallBody)
	if err != nil {
		return err
	}
	if !isText(raw) {
		return api.Errorf(api.ErrBadRequest, "the body is not UTF-8")
	}
	return decode(raw, v)
}

// decode reads exactly one JSON object. Unknown members are left alone.
func decode(raw []byte, v any) error {
	if trimmed := bytes.TrimLeft(raw, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return api.Errorf(api.ErrBadRequest, "the body is not a JSON object")
	}
	err := json.Unmarshal(raw, v)
	if err == nil {
		return nil
	}
	if errors.Is(err, api.ErrRepoInvalid) {
		return explain(api.ErrRepoInvalid, err)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return api.Errorf(api.ErrBadRequest, "the body is not JSON: it goes wrong at byte %d", syntax.Offset)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return api.Errorf(api.ErrBadRequest, "a member of the body has the wrong type, at byte %d", kind.Offset)
	}
	return api.Errorf(api.ErrBadRequest, "the body is not what is asked for here")
}

// pushBody is [api.PushRequest] with nulls told from empty texts: a null must
// not blank an entry or loosen a precondition.
type pushBody struct {
	Entries        map[string]*string `json:"entries"`
	SoftDeleteKeys []*string          `json:"soft_delete_keys"`
	Expect         map[string]*string `json:"expect"`
	Allowed        []api.Allowed      `json:"allowed"`
}

// notText stands for a content that JSON cannot carry; core refuses it by name.
const notText = "\xff"

// readPush reads the body of a PUT. Go's decoder would replace bytes that are
// not UTF-8, and halves of surrogate pairs, by U+FFFD: such contents are marked
// instead, so that they are refused by name, with whatever else is wrong.
func (c *call) readPush() (api.PushRequest, error) {
	raw, err := c.readBody(api.MaxBodyBytes)
	if err != nil {
		return api.PushRequest{}, err
	}
	var body pushBody
	if err := decode(raw, &body); err != nil {
		return api.PushRequest{}, err
	}
	request, ok := body.request()
	if !ok {
		return api.PushRequest{}, api.Errorf(api.ErrBadRequest, "null is neither a content, nor a key, nor an expectation")
	}
	if isText(raw) {
		return request, nil
	}
	mangled, err := mangledEntries(raw)
	if err != nil {
		return api.PushRequest{}, err
	}
	for _, key := range mangled {
		request.Entries[key] = notText
	}
	return request, nil
}

func (b *pushBody) request() (r api.PushRequest, ok bool) {
	r = api.PushRequest{Entries: make(map[string]string, len(b.Entries)), Allowed: b.Allowed}
	for key, content := range b.Entries {
		if content == nil {
			return r, false
		}
		r.Entries[key] = *content
	}
	for _, key := range b.SoftDeleteKeys {
		if key == nil {
			return r, false
		}
		r.SoftDeleteKeys = append(r.SoftDeleteKeys, *key)
	}
	if len(b.Expect) > 0 {
		r.Expect = make(map[string]string, len(b.Expect))
	}
	for key, want := range b.Expect {
		if want == nil {
			return r, false
		}
		r.Expect[key] = *want
	}
	return r, true
}

// mangledEntries returns the keys whose contents are not text. It is an error if
// there is none: then it is something else in the body.
func mangledEntries(raw []byte) ([]string, error) {
	var body struct {
		Entries map[string]json.RawMessage `json:"entries"`
	}
	if err := decode(raw, &body); err != nil {
		return nil, err
	}
	var keys []string
	for key, content := range body.Entries {
		if !isText(content) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, api.Errorf(api.ErrBadRequest, "the body is not UTF-8, or has half of a surrogate pair, outside of contents")
	}
	return keys, nil
}

// isText reports whether JSON is UTF-8 and its escapes make whole characters.
func isText(raw []byte) bool {
	if !utf8.Valid(raw) {
		return false
	}
	for i := bytes.IndexByte(raw, '\\'); i >= 0 && i < len(raw); {
		if raw[i] != '\\' {
			next := bytes.IndexByte(raw[i:], '\\')
			if next < 0 {
				return true
			}
			i += next
		}
		switch unit := escapedUnit(raw[i:]); {
		case unit < 0xd800 || unit > 0xdfff:
			i += 2
		case unit >= 0xdc00: // a second half without its first
			return false
		default:
			if low := escapedUnit(raw[min(i+6, len(raw)):]); low < 0xdc00 || low > 0xdfff {
				return false
			}
			i += 12
		}
	}
	return true
}

// escapedUnit returns the UTF-16 unit of an escape (\u and four digits) at the start of raw, or -1.
func escapedUnit(raw []byte) int {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	unit := 0
	for _, c := range raw[2:6] {
		switch {
		case '0' <= c && c <= '9':
			unit = unit<<4 | int(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			unit = unit<<4 | int(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return unit
}
