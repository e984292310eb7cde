package view

import "strings"

// columns joins words that were wrapped inside a cell of a table: the parts stand
// in the same column of two rows, with other cells between them, which are
// dropped. Of each two rows it takes the column that looks most random.
func columns(e *edit) {
	above, joinedTo := -1, -1
	for start := 0; start < len(e.src); {
		end := strings.IndexByte(e.src[start:], '\n') + start
		if end < start {
			end = len(e.src)
		}
		if at := runAfter(e.src, start, maxMargin, blank); at == end || e.src[at] != '|' {
			above = -1
		} else {
			if above >= 0 {
				joinedTo = e.joinRows(above, start, end, joinedTo)
			}
			above = start
		}
		start = end + 1
	}
}

// joinRows joins the parts of a word in the row src[above:start-1] and the one
// below it, src[start:end]. It returns where the lower part begins. joinedTo is
// where that of the upper row began.
func (e *edit) joinRows(above, start, end, joinedTo int) int {
	var from, to, best int
	for up, down := above, start; up < start-1 && down < end; {
		a, b := cell(e.src[:start-1], up), cell(e.src[:end], down)
		up, down = a.next, b.next
		left, right := e.src[a.start:a.end], e.src[b.start:b.end]
		random := changesOfKind(left) + changesOfKind(right)
		if left == "" || right == "" || random <= best || a.end < e.done || !oneWord(left, right, a.start == joinedTo) {
			continue
		}
		if runAfter(left, 0, len(left), token) == len(left) && runAfter(right, 0, len(right), token) == len(right) {
			from, to, best = a.end, b.start, random
		}
	}
	if best == 0 {
		return -1
	}
	e.drop(from, to)
	return to
}

// span is what a cell of a table says, and where the next cell begins.
type span struct{ start, end, next int }

// cell returns the cell of row that begins at i, without space and marks around
// what it says.
func cell(row string, i int) span {
	end := strings.IndexByte(row[i:], '|') + i
	if end < i {
		end = len(row)
	}
	const frame = " \t\r`*\"'"
	said := strings.TrimLeft(row[i:end], frame)
	start := end - len(said)
	return span{start, start + len(strings.TrimRight(said, frame)), end + 1}
}
