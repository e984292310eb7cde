package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/scanner"
)

// rulesName knows the name of the scanner's rules without loading them, which
// costs tens of milliseconds and megabytes: the rules are a part of the program,
// so the same program has the same ones. It notes the name down beside what tells
// this program from another.
type rulesName struct {
	scanner *scanner.Scanner
	file    string

	mu     sync.Mutex
	name   string // guarded by mu; "" until it is known
	loaded bool   // the name is the scanner's own word; guarded by mu
}

// newRulesName keeps its note in dir.
func newRulesName(sc *scanner.Scanner, dir string) *rulesName {
	return &rulesName{scanner: sc, file: filepath.Join(dir, "rules.json")}
}

// rulesNote is the file.
type rulesNote struct {
	Program string `json:"program"`
	Rules   string `json:"rules"`
}

// get returns the name, "" for rules that do not load.
func (n *rulesName) get() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.name != "" {
		return n.name
	}
	program := programStamp()
	var note rulesNote
	if text, err := os.ReadFile(n.file); err == nil && json.Unmarshal(text, &note) == nil && program != "" && note.Program == program {
		n.name = note.Rules
		return n.name
	}
	n.name = n.scanner.RuleSet()
	n.loaded = true
	n.note(rulesNote{program, n.name})
	return n.name
}

// confirm replaces what was read in a file by the scanner's own word. It is for
// whoever has scanned, so that the rules are loaded anyway.
func (n *rulesName) confirm() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.loaded {
		return
	}
	n.loaded = true
	if name := n.scanner.RuleSet(); name != n.name {
		n.name = name
		n.note(rulesNote{programStamp(), name})
	}
}

// note writes the note. Without one the rules are loaded next time.
func (n *rulesName) note(note rulesNote) {
	if note.Program == "" || note.Rules == "" {
		return
	}
	if text, err := json.Marshal(note); err == nil && os.MkdirAll(filepath.Dir(n.file), 0o700) == nil {
		_ = atomicfile.WriteFile(n.file, append(text, '\n'), 0o600)
	}
}

// programStamp tells this program from another, "" where that cannot be told.
var programStamp = sync.OnceValue(func() string {
	path := "/proc/self/exe" // the file that runs, also where another took its place
	if runtime.GOOS != "linux" {
		var err error
		if path, err = os.Executable(); err != nil {
			return ""
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", versionText(), info.Size(), info.ModTime().UnixNano())
})
