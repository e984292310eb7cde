package view

// Parent returns what t was made from, and false when that is nothing.
func (t Text) Parent() (Text, bool) {
	if t.parent == nil {
		return Text{}, false
	}
	return *t.parent, true
}

// Source returns the bytes of the parent that made byte i.
func (t Text) Source(i int) (from, to int) { return t.source(i) }
