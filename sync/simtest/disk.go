package simtest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
)

// text is a content and its checksum.
type text struct {
	s   string
	sum api.Checksum
}

func textOf(s string) text { return text{s, api.SumString(s)} }

// noText is an empty content.
var noText = textOf("")

// inode is a file. What it shows and what would survive a loss of power differ
// until it is synced.
type inode struct {
	text    text
	disk    text // what is durable; of a file that was never synced, nothing
	dirty   bool
	changed time.Time // by the clock of the wall
	since   time.Time // by the clock of the world
	gen     int       // grows with each change
	writers int       // programs that have it open for writing
	ours    bool      // written by the engine
}

// dir names one of the directories of a disk.
type dir int

// The directories that matter.
const (
	team dir = iota
	staging
	dirs
)

// link is one entry of a directory; to nil takes it away.
type link struct {
	dir  dir
	name string
	to   *inode
}

// disk is the file system of one machine. Changes of names enter its journal in
// order and are durable once a directory is synced; contents are durable once
// their file is synced; nothing else survives a loss of power for certain.
type disk struct {
	shown   [dirs]map[string]*inode
	durable [dirs]map[string]*inode
	journal [][]link // changes of names that are not durable, each atomic
	written int      // bytes that the engine wrote
}

func newDisk() *disk {
	d := &disk{}
	for i := range dirs {
		d.shown[i], d.durable[i] = map[string]*inode{}, map[string]*inode{}
	}
	return d
}

// relink changes names, all or none.
func (d *disk) relink(links ...link) {
	put(&d.shown, links)
	d.journal = append(d.journal, links)
}

func put(in *[dirs]map[string]*inode, links []link) {
	for _, l := range links {
		if l.to == nil {
			delete(in[l.dir], l.name)
			continue
		}
		in[l.dir][l.name] = l.to
	}
}

// syncDir makes a directory durable, and with it whatever the journal has in
// front of its last change.
func (d *disk) syncDir(which dir) {
	n := 0
	for i, links := range d.journal {
		if slices.ContainsFunc(links, func(l link) bool { return l.dir == which }) {
			n = i + 1
		}
	}
	d.settleJournal(n)
}

func (d *disk) settleJournal(n int) {
	for _, links := range d.journal[:n] {
		put(&d.durable, links)
	}
	d.journal = append(d.journal[:0], d.journal[n:]...)
}

// writeBack is what a system does on its own after half a minute.
func (d *disk) writeBack() {
	d.settleJournal(len(d.journal))
	for i := range dirs {
		for _, f := range d.shown[i] {
			f.sync()
		}
	}
}

func newFile() *inode { return &inode{text: noText, disk: noText} }

func (f *inode) write(t text, wall, now time.Time) {
	f.text, f.dirty = t, true
	f.changed, f.since = wall, now
	f.gen++
}

func (f *inode) sync() { f.disk, f.dirty = f.text, false }

// isDurable reports whether the file would survive with what it shows.
func (d *disk) isDurable(which dir, name string) bool {
	f := d.durable[which][name]
	return f != nil && f == d.shown[which][name] && !f.dirty
}

// survives reports whether a content is in a synced file however much of the
// journal a loss of power leaves.
func (d *disk) survives(content text) bool {
	var files [dirs]map[string]*inode
	for i := range dirs {
		files[i] = maps.Clone(d.durable[i])
	}
	for n := 0; ; n++ {
		if !holds(files, content) {
			return false
		}
		if n == len(d.journal) {
			return true
		}
		put(&files, d.journal[n])
	}
}

func holds(files [dirs]map[string]*inode, content text) bool {
	for i := range dirs {
		for name, f := range files[i] {
			if !f.dirty && f.text == content && !strings.HasSuffix(name, "~") {
				return true
			}
		}
	}
	return false
}

// crash loses what was not synced: of the names a tail of the journal, of each
// dirty file everything, a part, or by luck nothing.
func (d *disk) crash(r *rand.Rand, wall time.Time) {
	if len(d.journal) > 0 {
		d.settleJournal(r.IntN(len(d.journal) + 1))
		d.journal = d.journal[:0]
	}
	for i := range dirs {
		d.shown[i] = maps.Clone(d.durable[i])
		for _, name := range sortedNames(d.shown[i]) {
			f := d.shown[i][name]
			f.writers = 0
			if !f.dirty {
				continue
			}
			switch r.IntN(3) {
			case 0:
				f.text = f.disk
			case 1:
				f.text = textOf(f.text.s[:r.IntN(len(f.text.s)+1)])
			}
			f.sync()
			f.changed = wall
			f.gen++
		}
	}
}

func sortedNames(files map[string]*inode) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
