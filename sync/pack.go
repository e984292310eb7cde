package sync

import (
	"unicode/utf8"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// emptyBody is the encoded size of a PUT without entries, in bytes.
const emptyBody = len(`{"entries":{},"expect":{}}`)

// EncodedSize returns how many bytes one entry adds to a PUT body: its member
// of "entries" and its member of "expect", with their commas.
func EncodedSize(o api.Outgoing) int {
	key := jsonSize(o.Key.String())
	return key + len(`:`) + jsonSize(o.Content) + len(`,`) +
		key + len(`:`) + jsonSize(o.Expect) + len(`,`) + allowedSize(key, o)
}

// allowedSize is what the findings that a person let pass add: their members of
// "allowed", and that member itself, which is counted for each entry.
func allowedSize(key int, o api.Outgoing) int {
	if len(o.Allowed) == 0 {
		return 0
	}
	size := len(`,"allowed":[]`)
	for rule, reason := range o.Allowed {
		size += len(`{"key":,"rule":,"reason":},`) + key + jsonSize(rule) + jsonSize(reason)
	}
	return size
}

// Pack takes the longest run from the front of entries whose PUT body stays
// within limit bytes, but at least one entry, which may be larger alone. Rest
// shares the array of entries.
func Pack(entries []api.Outgoing, limit int) (batch, rest []api.Outgoing) {
	if planted.In(planted.BatchUnbounded) {
		return entries, nil
	}
	size := emptyBody
	for i, o := range entries {
		size += EncodedSize(o)
		if size > limit && i > 0 {
			return entries[:i:i], entries[i:]
		}
	}
	return entries, nil
}

// jsonSize is the size in bytes of s as encoding/json writes it without HTML
// escaping, quotes included. s is valid UTF-8.
func jsonSize(s string) int {
	size := len(`""`)
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			i += n
			if r == '\u2028' || r == '\u2029' || r == utf8.RuneError && n == 1 {
				n = len(`\u2028`)
			}
			size += n
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f':
			size += len(`\n`)
		case c < ' ':
			size += len(`\u0000`)
		default:
			size++
		}
	}
	return size
}
