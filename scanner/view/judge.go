package view

// judge says whether decoded bytes are text.
type judge struct {
	count, printable int
	// run is the length of the last stretch of text, best that of the longest.
	run, best int
	// zeros counts NULs at odd places: text of 16-bit units is half of them.
	zeros int
}

func (j *judge) see(b byte) {
	j.count++
	if ' ' <= b && b < 0x7F || '\t' <= b && b <= '\r' {
		j.printable++
		j.run++
		j.best = max(j.best, j.run)
		return
	}
	j.run = 0
	if b == 0 && j.count%2 == 0 {
		j.zeros++
	}
}

// text reports whether at least 7 of 8 bytes are printable, or 16 in a row.
func (j *judge) text() bool {
	return j.best >= shortest || 8*j.printable >= 7*j.count || j.wide()
}

// wide reports whether every character is followed by a NUL, as PowerShell
// encodes its commands.
func (j *judge) wide() bool {
	return j.count >= shortest/2 && j.zeros == j.count/2 && j.printable == j.count-j.zeros
}
