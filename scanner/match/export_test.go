package match

// Reserved returns how many states the automaton has room for, and how many it
// has.
func (m *Matcher) Reserved() (room, states int) {
	return cap(m.keywords.found), len(m.keywords.found)
}
