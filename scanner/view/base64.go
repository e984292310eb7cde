package view

import "strings"

// none marks a byte that is no digit.
const none = 0xFF

// sixBits are the values of the digits of base64, in both alphabets; fourBits
// those of hex.
var sixBits, fourBits = digits("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"), digits("0123456789abcdef")

func digits(alphabet string) (table [256]byte) {
	for i := range table {
		table[i] = none
	}
	for i := range len(alphabet) {
		c := alphabet[i]
		table[c] = byte(i)
		if len(alphabet) == 16 && c >= 'a' {
			table[c-'a'+'A'] = byte(i)
		}
	}
	if len(alphabet) == 64 {
		table['-'], table['_'] = 62, 63
	}
	return table
}

// separators split a run that is no text as a whole: it may be a path or a name
// with something encoded in it, in the one alphabet or the other.
var separators = [...]string{"/", "-_", "+/-_"}

// run decodes src[start:end], which are digits of base64, when that makes text,
// or else the parts of it at the first separators that leave one which does.
func (e *edit) run(start, end int) {
	if e.hex(start, end) || e.base64(start, end) {
		return
	}
	for _, separator := range separators {
		if e.parts(start, end, separator) {
			return
		}
	}
}

// parts decodes the parts of src[start:end] that make text, and reports whether
// there are any.
func (e *edit) parts(start, end int, separator string) (decoded bool) {
	for part := start; part < end; {
		next := strings.IndexAny(e.src[part:end], separator) + part
		if next < part {
			next = end
		}
		if next-part >= shortest && next-part < end-start && (e.hex(part, next) || e.base64(part, next)) {
			decoded = true
		}
		part = next + 1
	}
	return decoded
}

// hex decodes src[start:end] as hex when that is what it is, and makes text.
func (e *edit) hex(start, end int) bool {
	digits := start
	if e.src[start] == '0' && e.src[start+1]|0x20 == 'x' {
		digits += 2
	}
	if (end-digits)%2 != 0 {
		return false
	}
	var j judge
	for i := digits; i < end; i += 2 {
		high, low := fourBits[e.src[i]], fourBits[e.src[i+1]]
		if high == none || low == none {
			return false
		}
		j.see(high<<4 | low)
	}
	if !j.text() {
		return false
	}
	if digits > start {
		e.drop(start, digits)
	}
	e.open(digits)
	for i := digits; i < end; i += 2 {
		e.out = append(e.out, fourBits[e.src[i]]<<4|fourBits[e.src[i+1]])
	}
	e.shut(digits, end, (end-digits)/2, 4)
	return true
}

// base64 decodes src[start:end] when that makes text, and takes its padding.
func (e *edit) base64(start, end int) bool {
	var j judge
	bits, count := uint32(0), 0
	for i := start; i < end; i++ {
		bits = bits<<6 | uint32(sixBits[e.src[i]])
		if count += 6; count >= 8 {
			count -= 8
			j.see(byte(bits >> count))
		}
	}
	if !j.text() {
		return false
	}
	e.open(start)
	bits, count = 0, 0
	made, wide := 0, j.wide()
	for i := start; i < end; i++ {
		bits = bits<<6 | uint32(sixBits[e.src[i]])
		if count += 6; count >= 8 {
			count -= 8
			if b := byte(bits >> count); !wide || b != 0 {
				e.out = append(e.out, b)
				made++
			}
		}
	}
	for padding := 0; padding < 2 && end < len(e.src) && e.src[end] == '='; padding++ {
		end++
	}
	unit := int32(6)
	if wide {
		unit = 3 // of 16 bits, 8 are left
	}
	e.shut(start, end, made, unit)
	return true
}
