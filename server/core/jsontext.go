package core

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/teammem/teammemd/api"
)

// jsonWriter appends JSON without reflection and without HTML escaping. Heads
// are sorted already, and at ten thousand keys a map and a marshaller would cost
// ten times as much as the bytes themselves.
type jsonWriter struct {
	buf   []byte
	first bool // nothing was written yet in the innermost object or array
}

func (w *jsonWriter) open(bracket byte) {
	w.buf = append(w.buf, bracket)
	w.first = true
}

func (w *jsonWriter) close(bracket byte) {
	w.buf = append(w.buf, bracket)
	w.first = false
}

// comma separates members.
func (w *jsonWriter) comma() {
	if !w.first {
		w.buf = append(w.buf, ',')
	}
	w.first = false
}

func (w *jsonWriter) name(s string) {
	w.comma()
	w.buf = appendString(w.buf, s)
	w.buf = append(w.buf, ':')
}

func (w *jsonWriter) str(name, value string) {
	w.name(name)
	w.buf = appendString(w.buf, value)
}

func (w *jsonWriter) num(name string, value uint64) {
	w.name(name)
	w.buf = strconv.AppendUint(w.buf, value, 10)
}

func (w *jsonWriter) sum(name string, value api.Checksum) { w.str(name, value.String()) }

func (w *jsonWriter) time(name string, value time.Time) {
	w.name(name)
	w.buf = append(w.buf, '"')
	w.buf = value.UTC().AppendFormat(w.buf, time.RFC3339Nano)
	w.buf = append(w.buf, '"')
}

func (w *jsonWriter) object(name string) {
	w.name(name)
	w.open('{')
}

// appendString appends s as a JSON string. s is valid UTF-8.
func appendString(buf []byte, s string) []byte {
	buf = append(buf, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			buf = append(buf, s[start:i]...)
			buf = appendEscape(buf, c)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			// Never stored; a reader must still get JSON.
			buf = append(append(buf, s[start:i]...), "\ufffd"...)
			start = i + n
		}
		i += n
	}
	buf = append(buf, s[start:]...)
	return append(buf, '"')
}

func appendEscape(buf []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(buf, '\\', c)
	case '\n':
		return append(buf, '\\', 'n')
	case '\r':
		return append(buf, '\\', 'r')
	case '\t':
		return append(buf, '\\', 't')
	}
	return append(buf, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// Marshal returns v as JSON without HTML escaping, ending in a line feed.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
