package corpus

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/teammem/teammemd/scanner/samples"
)

//go:embed notes/*.txt
var noteFiles embed.FS

//go:embed negatives/*.txt
var negativeFiles embed.FS

// Note is a note with one secret, which must be stopped.
type Note struct {
	Category, Name string
	// Template marks the secret.
	Template Template
}

// Make returns the text of the note.
func (n Note) Make(s *samples.Source) Made { return n.Template.Make(s) }

// Negative is a text without any secret that a person would stop.
type Negative struct {
	Category, Name string
	Template       Template
}

// Text returns the text.
func (n Negative) Text(s *samples.Source) string { return n.Template.Make(s).Text }

// Notes returns all notes: those of the files, then the vendors' tokens in
// their frames.
func Notes() []Note {
	var notes []Note
	read(noteFiles, func(category, name, text string) {
		notes = append(notes, Note{category, name, Template(text)})
	})
	return append(notes, framed()...)
}

// Negatives returns all negatives.
func Negatives() []Negative {
	var negatives []Negative
	read(negativeFiles, func(category, name, text string) {
		negatives = append(negatives, Negative{category, name, Template(text)})
	})
	return negatives
}

// read calls add for every entry of every file, in the order of the files.
func read(files embed.FS, add func(category, name, text string)) {
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		for part := range strings.SplitSeq("\n"+string(text), "\n== ") {
			title, body, _ := strings.Cut(part, "\n")
			if title == "" {
				continue
			}
			category, name, ok := strings.Cut(title, ": ")
			if !ok || strings.TrimSpace(body) == "" {
				panic("corpus: " + path + ": no entry: " + title)
			}
			add(category, name, strings.TrimRight(body, "\n")+"\n")
		}
		return nil
	})
	if err != nil {
		panic(err)
	}
}
