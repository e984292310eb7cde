package match

import "errors"

// Reserved returns how many states the automaton has room for, and how many it
// has.
func (m *Matcher) Reserved() (room, states int) {
	return cap(m.keywords.found), len(m.keywords.found)
}

// Ungate makes m search without what spares a search: the words that filters
// ask for, the beginnings of matches and the sieves.
func (m *Matcher) Ungate() error {
	if err := m.Compile(); err != nil {
		return err
	}
	for i := range m.rules {
		m.rules[i].words, m.rules[i].head = nil, nil
		m.rules[i].sieved.Do(func() {})
	}
	return nil
}

// Gate makes the sieves of all rules now, and returns how many have one and how
// many ask for words.
func (m *Matcher) Gate() (sieves, words int, err error) {
	if err := m.Compile(); err != nil {
		return 0, 0, err
	}
	for i := range m.rules {
		r := &m.rules[i]
		if len(r.words) > 0 {
			words++
		}
		if r.how != anchored {
			continue
		}
		if r.sieved.Do(r.makeSieve); r.sieve.Load() == nil {
			return 0, 0, errors.New("no sieve for " + r.ID)
		}
		sieves++
	}
	return sieves, words, nil
}
