package simtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
)

// saver is a program of a person in the midst of a save. It outlives our
// process, and it writes to the file that it opened, wherever that is by now.
type saver struct {
	kind  Kind
	key   api.Key
	text  text
	fsync bool
	file  *inode
	part  int
	at    time.Time // of the next part
}

// save lets every saver do what is due. The machine may be dead: people go on.
func (m *machine) save() {
	for _, s := range m.savers {
		for s.file != nil && !s.at.After(m.w.now) {
			m.goOn(s)
		}
	}
	if len(m.savers) > 0 {
		m.savers = slices.DeleteFunc(m.savers, func(s *saver) bool { return s.file == nil })
	}
}

// write is a person's save of a new content.
func (m *machine) write(kind Kind, key api.Key, content text, fsync bool) {
	if m.root != present || m.isSaving(key) {
		return
	}
	m.w.note(m.name+" begins to save", content.s)
	s := &saver{kind: kind, key: key, text: content, fsync: fsync}
	name := key.String()
	old := m.disk.shown[team][name]
	m.replaced(key)
	switch {
	case kind == SaveAtomic:
		f := newFile()
		f.write(content, m.clock(), m.w.now)
		if fsync {
			f.sync()
		}
		m.disk.relink(link{team, name, f})
		m.settled(s)
		return
	case kind == SaveVim && old != nil:
		m.disk.relink(link{team, name, nil}, link{team, name + "~", old})
		s.file = old
	default:
		if old == nil {
			old = newFile()
			m.disk.relink(link{team, name, old})
		}
		s.file = old
		old.writers++
		old.ours = false
		old.write(noText, m.clock(), m.w.now)
	}
	s.at = m.w.now.Add(m.w.below(60 * time.Millisecond))
	if kind == SavePlain {
		s.at = m.w.now.Add(m.w.below(2 * time.Millisecond))
	}
	m.savers = append(m.savers, s)
	m.changed()
}

// goOn does the next part of a save.
func (m *machine) goOn(s *saver) {
	s.part++
	wall, now := m.clock(), m.w.now
	switch {
	case s.kind == SaveVim && s.part == 1 && s.file.writers == 0:
		name := s.key.String()
		if m.root != present || m.disk.shown[team][name] != nil {
			s.file = nil // no directory, or a file has come back: the person is asked, and lets it be
			return
		}
		f := newFile()
		f.write(s.text, wall, now)
		m.disk.relink(link{team, name, f})
		s.file = f
		m.settled(s)
	case s.kind == SaveVim && s.file.writers == 0:
		if name := s.key.String() + "~"; m.disk.shown[team][name] != nil {
			m.disk.relink(link{team, name, nil})
		}
		s.file = nil
		m.changed()
		return
	case s.kind == SaveTorn && s.part == 1:
		s.file.write(textOf(s.text.s[:len(s.text.s)/2]), wall, now)
		m.changed()
	default:
		s.file.write(s.text, wall, now)
		s.file.writers--
		m.settled(s)
		s.file = nil
		return
	}
	s.at = now.Add(m.w.below(60 * time.Millisecond))
}

// settled is the end of a save: from here on the text is owed.
func (m *machine) settled(s *saver) {
	f := s.file
	if s.kind == SaveAtomic {
		f = m.disk.shown[team][s.key.String()]
	}
	if s.fsync && f != nil {
		f.sync()
		if m.root == present {
			m.disk.syncDir(team)
		}
	}
	m.w.note(m.name+" has saved", s.text.s)
	m.w.whole[s.text.s] = true
	if m.reaches(f) {
		m.w.owed = append(m.w.owed, debt{m.id, s.key, s.text})
	}
	m.changed()
}

// reaches reports whether a file has a name, or only the program that writes it.
func (m *machine) reaches(f *inode) bool {
	for _, files := range []map[string]*inode{m.disk.shown[team], m.disk.shown[staging], m.hidden} {
		for _, other := range files {
			if other == f {
				return true
			}
		}
	}
	return false
}

// changed is what the tree's watcher and the referee see.
func (m *machine) changed() {
	m.edits++
	m.touched()
}

func (m *machine) isSaving(key api.Key) bool {
	return slices.ContainsFunc(m.savers, func(s *saver) bool { return s.key == key })
}

// replaced forgets the debt for what a person overwrites with open eyes.
func (m *machine) replaced(key api.Key) {
	f := m.disk.shown[team][key.String()]
	if f == nil {
		return
	}
	m.w.owed = slices.DeleteFunc(m.w.owed, func(d debt) bool {
		if d.key != key || d.text != f.text {
			return false
		}
		// What a restored server lost may be in other trees alone: whoever has the
		// last of it may replace it.
		return d.client == m.id || m.w.restores > 0 && !m.w.findsBeside(d, f)
	})
}

// compose makes the text of a save, from what is there and the operation.
func (m *machine) compose(op Op, key api.Key) text {
	w := m.w
	old := ""
	if f := m.disk.shown[team][key.String()]; f != nil {
		old = f.text.s
	}
	w.texts++
	line := fmt.Sprintf("text %d of client %d\n", w.texts, m.id)
	switch draw := op.Arg % 100; {
	case draw < 6: // back to an older text, as a checkout does
		if past := w.server.history[key]; len(past) > 0 {
			return past[op.Arg/100%len(past)]
		}
	case draw < 10: // saved again as it was
		if old != "" {
			return textOf(old)
		}
	case draw < 15:
		line = "key " + secretMark + " " + line
	case draw < 17:
		line = strings.Repeat(line, 16+op.Arg/30)
	case w.history.Big:
		line += strings.Repeat("x", 50_000+op.Arg*40)
	case draw < 50: // an edit of what is there
		if len(old) > 300 || strings.Contains(old, secretMark) {
			break
		}
		lines := strings.SplitAfter(old, "\n")
		at := op.Arg / 100 % len(lines)
		lines[at] = line
		return textOf(strings.Join(lines, ""))
	}
	return textOf(line)
}
