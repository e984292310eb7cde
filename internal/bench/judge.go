package bench

// RaceResult adds up the races of one contender.
type RaceResult struct {
	Name       string  `json:"name"`
	Rounds     int     `json:"rounds"`
	Files      int     `json:"files"` // of all rounds
	Edits      int     `json:"edits"`
	Lost       int     `json:"lost"`       // edits that are in no directory and in no saved copy
	Equal      int     `json:"equal"`      // files that end the same on both sides
	Extra      int     `json:"extra"`      // files that nobody wrote, at the end of the worst round
	Copies     int     `json:"copies"`     // saved copies; 0 of a peer
	Restorable int     `json:"restorable"` // saved copies that came back
	Within     float64 `json:"within_ms"`  // the widest time from first edit to last
	Settled    float64 `json:"settled_ms"` // the longest time from last edit to rest
}

// AsPromised reports whether everything is as it must be of teammemd.
func (r RaceResult) AsPromised() bool {
	return r.Lost == 0 && r.Equal == r.Files && r.Extra == 0 && r.Copies == r.Edits-r.Files && r.Restorable == r.Copies
}

// outcome is what a round of a race came to.
type outcome struct {
	edits  [2][]string // by side, the text of each file's edit
	sides  [2]snapshot // at rest
	copies []savedCopy
}

// add judges one round. What it cannot judge, the times and what is restorable,
// it leaves as it is.
func (r *RaceResult) add(o outcome) {
	there, extra := make(map[string]bool), make(map[string]bool)
	for _, side := range o.sides {
		for key, text := range side {
			there[text], extra[key] = true, true
		}
	}
	for _, c := range o.copies {
		there[c.text] = true
	}
	for i := range o.edits[0] {
		delete(extra, noteKey(i))
		r.Files++
		if text, ok := o.sides[0][noteKey(i)]; ok && text == o.sides[1][noteKey(i)] {
			r.Equal++
		}
		for side := range o.edits {
			r.Edits++
			if !there[o.edits[side][i]] {
				r.Lost++
			}
		}
	}
	r.Extra, r.Copies = max(r.Extra, len(extra)), r.Copies+len(o.copies)
}
