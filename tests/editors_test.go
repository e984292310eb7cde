package tests

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/statedir"
)

// editor saves one file again and again, by the system calls of a real one. It
// notes which of its own texts it replaced itself: every other one must be found
// again.
type editor struct {
	name     string
	path     string
	save     func(e *editor, text string) error
	saves    int
	replaced map[string]bool
	texts    []string
}

// styles are the editors, each with the calls that strace shows of it when it
// saves an existing file with its default settings.
var styles = map[string]func(*editor, string) error{
	"vim":       saveLikeVim,
	"jetbrains": saveLikeJetBrains,
	"emacs":     saveLikeEmacs,
	"vscode":    saveLikeVSCode,
}

// beside is a name in the directory of the file.
func (e *editor) beside(name string) string { return filepath.Join(filepath.Dir(e.path), name) }

// note records that the editor replaced what the file at name holds.
func (e *editor) note(name string) error {
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	e.replaced[string(text)] = true
	return err
}

// aside renames the file, and reports false where there is none: it has been
// displaced a moment ago.
func (e *editor) aside(to string) error {
	err := os.Rename(e.path, to)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(err, e.note(to))
}

// overwrite opens the file, truncates it and writes it in two steps.
func (e *editor) overwrite(text string) error {
	f, err := os.OpenFile(e.path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	old, err := io.ReadAll(f)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		e.replaced[string(old)] = true
		_, err = f.WriteAt([]byte(text[:len(text)/2]), 0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(text[len(text)/2:]), int64(len(text)/2))
	}
	return errors.Join(err, f.Close())
}

// saveLikeVim: swap file, probe of the directory, the old file aside, a new one,
// the old one away.
func saveLikeVim(e *editor, text string) error {
	swap, probe, backup := e.beside("."+filepath.Base(e.path)+".swp"), e.beside("4913"), e.path+"~"
	return errors.Join(
		os.WriteFile(swap, []byte("b0VIM 9.0"), 0o600),
		os.WriteFile(probe, nil, 0o644), os.Remove(probe),
		e.aside(backup), e.overwrite(text), removeIfThere(backup), os.Remove(swap),
	)
}

// saveLikeJetBrains: the new text under one name, the old file under another,
// and then in its place.
func saveLikeJetBrains(e *editor, text string) error {
	fresh, old := e.path+"___jb_tmp___", e.path+"___jb_old___"
	return errors.Join(
		os.WriteFile(fresh, []byte(text), 0o644),
		e.aside(old), e.note(e.path), os.Rename(fresh, e.path), removeIfThere(old),
	)
}

// saveLikeEmacs: a lock that leads nowhere, an autosave, the old file as a backup
// that stays (the first save of a visit), or in place (all later ones).
func saveLikeEmacs(e *editor, text string) error {
	base := filepath.Base(e.path)
	lock, autosave := e.beside(".#"+base), e.beside("#"+base+"#")
	_ = os.Symlink("ada@laptop.4711:1700000000", lock) // not every system has links
	err := os.WriteFile(autosave, []byte(text[:len(text)/2]), 0o600)
	if e.saves%2 == 0 {
		err = errors.Join(err, e.aside(e.path+"~"))
	}
	return errors.Join(err, e.overwrite(text), os.Remove(autosave), removeIfThere(lock))
}

// saveLikeVSCode: in place.
func saveLikeVSCode(e *editor, text string) error { return e.overwrite(text) }

func removeIfThere(name string) error {
	if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// work saves n times, at a pace at which the daemon finds the file now quiet, now
// under its hands.
func (e *editor) work(n int, random *rand.Rand) error {
	for ; e.saves < n; e.saves++ {
		text := fmt.Sprintf("save %d by %s\n%s", e.saves, e.name, strings.Repeat("All of this is plain prose.\n", random.IntN(100)))
		e.texts = append(e.texts, text)
		if err := e.save(e, text); err != nil {
			return fmt.Errorf("%s, save %d: %w", e.name, e.saves, err)
		}
		time.Sleep(time.Duration(10+random.IntN(180)) * time.Millisecond)
	}
	return nil
}

// TestF07EditorsRaceTheServer lets four editors save two hundred times each,
// while the same keys change on the server: no text is lost, and none of the
// files that editors put beside their own becomes a key.
func TestF07EditorsRaceTheServer(t *testing.T) {
	t.Parallel()
	saves := 200
	if testing.Short() {
		saves = 30
	}
	server := newCompanion(t)
	token := server.token("ada", team, "writer")
	m := newMachine(t, "ada")
	m.config("debounce = \"100ms\"\nmax_wait = \"400ms\"\n")
	m.enroll(server.url, token, team)
	if err := os.MkdirAll(m.team, 0o700); err != nil {
		t.Fatal(err)
	}
	daemon := m.daemon()
	var editors []*editor
	for name, save := range styles {
		editors = append(editors, &editor{name: name, path: filepath.Join(m.team, name+".md"), save: save, replaced: make(map[string]bool)})
	}
	done := make(chan error, len(editors))
	var working sync.WaitGroup
	for i, e := range editors {
		working.Go(func() { done <- e.work(saves, rand.New(rand.NewPCG(7, uint64(i)))) })
	}
	finished := make(chan struct{})
	go func() { working.Wait(); close(finished) }()
	changes := 0
	for racing := true; racing; changes++ {
		select {
		case <-finished:
			racing = false
		case <-time.After(250 * time.Millisecond):
		}
		entries := make(map[string]string)
		for _, e := range editors {
			entries[e.name+".md"] = fmt.Sprintf("change %d of %s on the server\n", changes, e.name)
		}
		if a := server.push(token, team, entries); a.status != 200 {
			t.Fatalf("change %d: status %d", changes, a.status)
		}
	}
	for range editors {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	await(t, time.Minute, "the daemon to be in step", func() bool { r := m.status(); return r.State == "in-sync" && r.Pending == 0 })
	if code := daemon.stop(); code != 0 {
		t.Errorf("the daemon ended with %d", code)
	}
	full, _ := server.get(token, team)
	left := treeOf(t, m.team)
	sameTree(t, "the machine and the server", left.without("emacs.md~"), full.Content.Entries)
	if len(full.Content.Entries) != len(editors) {
		t.Errorf("%d keys on the server, want %d", len(full.Content.Entries), len(editors))
	}
	copies := copiesOf(t, m)
	for _, e := range editors {
		e.account(t, left, server.history(token, team, e.name+".md"), copies)
	}
	t.Logf("%d changes on the server, %d saved copies", changes, len(copies))
}

// account finds every text of an editor again.
func (e *editor) account(t *testing.T, left tree, history map[api.Checksum]bool, copies []string) {
	t.Helper()
	lost, byItself, inHistory, inCopies := 0, 0, 0, 0
	for i, text := range e.texts {
		switch {
		case left[e.name+".md"] == text, e.replaced[text]:
			byItself++
		case history[api.SumString(text)]:
			inHistory++
		case slices.Contains(copies, text):
			inCopies++
		default:
			lost++
			t.Logf("%s: save %d is lost", e.name, i)
		}
	}
	if lost > 0 || len(e.texts) == 0 {
		t.Errorf("%s: %d of %d saves lost", e.name, lost, len(e.texts))
	}
	t.Logf("%s: %d saves, %d in place or replaced by itself, %d more in history, %d more among the saved copies", e.name, len(e.texts), byItself, inHistory, inCopies)
}

// copiesOf returns the contents of all saved copies of a machine on which
// nothing runs.
func copiesOf(t *testing.T, m *machine) []string {
	t.Helper()
	roots, err := filepath.Glob(filepath.Join(m.state(), "roots", "*"))
	if err != nil || len(roots) == 0 {
		t.Fatalf("no roots in %q: %v", m.state(), err)
	}
	var texts []string
	for _, root := range roots {
		dir, err := statedir.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		copies, err := dir.Copies()
		for _, c := range copies {
			_, text, readErr := dir.ReadCopy(c.ID)
			texts, err = append(texts, text), errors.Join(err, readErr)
		}
		if err = errors.Join(err, dir.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

// TestF10TornSaves truncates and writes a file in slow steps for a minute, under
// a daemon: the server only ever has whole versions.
func TestF10TornSaves(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]struct {
		config string
		lasts  time.Duration
	}{
		"default waits": {"", time.Minute},
		"short waits":   {"debounce = \"100ms\"\nmax_wait = \"500ms\"\n", 15 * time.Second},
	} {
		lasts := how.lasts
		if testing.Short() {
			lasts = 15 * time.Second // longer than an edit waits at most
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newCompanion(t)
			token := server.token("ada", team, "writer")
			m := newMachine(t, "ada")
			m.config(how.config)
			m.enroll(server.url, token, team)
			saver := tornSaver{path: m.write("torn.md", "begin\n"), random: rand.New(rand.NewPCG(10, 1)), whole: map[api.Checksum]bool{api.SumString("begin\n"): true}}
			m.daemon()
			for begun := time.Now(); time.Since(begun) < lasts; {
				if err := saver.save(); err != nil {
					t.Fatal(err)
				}
			}
			await(t, time.Minute, "the last version to arrive", func() bool {
				full, _ := server.get(token, team)
				return full.Content.Entries["torn.md"] == saver.last
			})
			versions := server.history(token, team, "torn.md")
			for sum := range versions {
				if !saver.whole[sum] {
					t.Errorf("the server had a version that nobody saved: %s", sum)
				}
			}
			// The first and the last, and some while it was being written.
			if least := 2 + int(lasts/(30*time.Second)); len(versions) < least {
				t.Errorf("%d versions arrived: too few for a proof", len(versions))
			}
			t.Logf("%d saves, %d versions on the server, all whole", len(saver.whole), len(versions))
		})
	}
}

// tornSaver saves one version after the other, and rests in the middle of each.
type tornSaver struct {
	path   string
	random *rand.Rand
	whole  map[api.Checksum]bool
	last   string
}

func (s *tornSaver) save() error {
	text := fmt.Sprintf("<%d>\n%s</%d>\n", len(s.whole), sized(2000+s.random.IntN(8000)), len(s.whole))
	s.whole[api.SumString(text)], s.last = true, text
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	s.rest(200)
	_, err = f.WriteString(text[:len(text)/2])
	s.rest(200)
	_, err2 := f.WriteString(text[len(text)/2:])
	err = errors.Join(err, err2, f.Close())
	s.rest(300)
	return err
}

// rest waits up to some milliseconds.
func (s *tornSaver) rest(most int) {
	time.Sleep(time.Duration(s.random.IntN(most)) * time.Millisecond)
}
