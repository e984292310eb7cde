package view

// invisible reports whether r shows nothing: joiners, marks of direction,
// selectors of variants, soft hyphens, controls that are no space.
func invisible(r rune) bool {
	switch {
	case r < 0x80:
		return r < ' ' && (r < '\t' || r > '\r') || r == 0x7F
	case r < 0x2000:
		return r < 0xA0 && r != 0x85 || r == 0xAD || r == 0x34F || r == 0x61C || 0x180B <= r && r <= 0x180F
	case r < 0xE0000:
		return 0x200B <= r && r <= 0x200F || 0x202A <= r && r <= 0x202E || 0x2060 <= r && r <= 0x206F ||
			0xFE00 <= r && r <= 0xFE0F || r == 0xFEFF || 0xFFF9 <= r && r <= 0xFFFB
	}
	return r <= 0xE01EF
}

// place says where a character may be taken for the one of ASCII that it looks
// like.
type place int

const (
	nowhere place = iota
	inToken
	anywhere
)

// plain returns the character of ASCII that r looks like.
func plain(r rune) (c byte, where place) {
	switch {
	case r < 0x80:
	case r == 0xA0, 0x2000 <= r && r <= 0x200A, r == 0x202F, r == 0x205F, r == 0x3000:
		return ' ', anywhere
	case r == 0x85, r == 0x2028, r == 0x2029:
		return '\n', anywhere
	case 0x2010 <= r && r <= 0x2013, r == 0x2212, r == 0x2043, r == 0xFE58, r == 0xFE63:
		return '-', inToken
	case r == 0x2024:
		return '.', inToken
	case r == 0xFE4D, r == 0xFE4E, r == 0xFE4F, r == 0x203F:
		return '_', inToken
	case 0xFF01 <= r && r <= 0xFF5E:
		return byte(r - 0xFF01 + '!'), inToken
	case 0x1D400 <= r && r <= 0x1D6A3: // the mathematical alphabets
		at := byte((r - 0x1D400) % 52)
		if at < 26 {
			return 'A' + at, inToken
		}
		return 'a' + at - 26, inToken
	case 0x1D7CE <= r && r <= 0x1D7FF:
		return '0' + byte((r-0x1D7CE)%10), inToken
	}
	return 0, nowhere
}
