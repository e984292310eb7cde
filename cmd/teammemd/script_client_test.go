package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/scanner/samples"
)

// withClientCommands adds the commands that scripts about the client need:
//
//	checkout DIR [URL]            make a git checkout, with a remote origin
//	plant RULE FILE               write a sample of a rule where FILE says {{RULE}}
//	hides RULE NAME...            expect no sample of the rule in stdout, stderr, files or below directories
//	start NAME PROGRAM ARG...     run it beside the script; its output goes to NAME.out and NAME.err
//	signal NAME HUP|INT|TERM|KILL
//	ended NAME CODE               wait for its end and expect the exit code
//	halt                          end the daemon that a detached up left
//	await FILE REGEXP             wait until a file matches
//	until REGEXP PROGRAM ARG...   run it again and again until its output matches
//	keys NAME PATH KEY...         expect exactly these members of an object in JSON
//	json NAME PATH VALUE          expect a value in JSON; a PATH is a.0.b, or . for all
//	like NAME PATH REGEXP         expect a string in JSON to match
//	take VAR NAME PATH [REGEXP]   keep a value of JSON, or its first group, in a variable
//	mode FILE PERM                expect a file's permissions
//	answer approve|deny FILE MAINTAINER
//	                              answer in a browser the sign-in whose code FILE shows, as a
//	                              person with a join code of the token in the file MAINTAINER
//	revoke FILE                   end the sign-ins of a credentials file at the server
//	damage PATTERN                cut the one file that matches in half
func withClientCommands(cmds map[string]scriptCommand) map[string]scriptCommand {
	maps.Copy(cmds, map[string]scriptCommand{
		"checkout": scriptCheckout,
		"plant":    scriptPlant,
		"hides":    scriptHides,
		"start":    scriptStart,
		"signal":   scriptSignal,
		"ended":    scriptEnded,
		"halt":     scriptHalt,
		"await":    scriptAwait,
		"until":    scriptUntil,
		"keys":     scriptKeys,
		"json":     scriptJSON,
		"like":     scriptLike,
		"take":     scriptTake,
		"mode":     scriptMode,
		"damage":   scriptDamage,
		"answer":   scriptAnswer,
		"revoke":   scriptRevoke,
	})
	return cmds
}

func scriptCheckout(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "checkout DIR [URL]")
	dir := filepath.Join(ts.MkAbs(args[0]), ".git")
	for _, sub := range []string{"objects", "refs"} {
		ts.Check(os.MkdirAll(filepath.Join(dir, sub), 0o700))
	}
	settings := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	if len(args) > 1 {
		settings += "[remote \"origin\"]\n\turl = " + args[1] + "\n"
	}
	ts.Check(os.WriteFile(filepath.Join(dir, "config"), []byte(settings), 0o600))
	ts.Check(os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
}

// sampleOf is the value that scripts plant for a rule.
func sampleOf(ts *testscript.TestScript, rule string) string {
	family, ok := samples.Find(rule)
	if !ok {
		ts.Fatalf("there is no family %s", rule)
	}
	return family.Sample()
}

func scriptPlant(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "plant RULE FILE")
	text, mark := ts.ReadFile(args[1]), "{{"+args[0]+"}}"
	if !strings.Contains(text, mark) {
		ts.Fatalf("%s has no %s", args[1], mark)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.ReplaceAll(text, mark, sampleOf(ts, args[0]))), 0o600))
}

func scriptHides(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "hides RULE NAME...")
	for line := range strings.SplitSeq(sampleOf(ts, args[0]), "\n") {
		if len(line) < 16 {
			continue // the markers of a key, not its value
		}
		for _, name := range args[1:] {
			for file, text := range textsOf(ts, name) {
				if strings.Contains(text, line) {
					ts.Fatalf("a value of %s is in %s", args[0], file)
				}
			}
		}
	}
}

// textsOf reads a stream, a file, or every file below a directory.
func textsOf(ts *testscript.TestScript, name string) map[string]string {
	info, err := os.Stat(ts.MkAbs(name))
	if err != nil || !info.IsDir() {
		return map[string]string{name: ts.ReadFile(name)}
	}
	texts := map[string]string{}
	ts.Check(filepath.WalkDir(ts.MkAbs(name), func(file string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(file)
		texts[file] = string(text)
		return err
	}))
	return texts
}

type childrenValue struct{}

// children are the processes that one script started.
type children struct {
	t      testing.TB
	byName map[string]*child
}

type child struct {
	cmd   *exec.Cmd
	ended chan error
}

func childOf(ts *testscript.TestScript, name string) *child {
	c := childrenOf(ts).byName[name]
	if c == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return c
}

func scriptStart(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "start NAME PROGRAM ARG...")
	all := childrenOf(ts)
	open := func(suffix string) *os.File {
		f, err := os.Create(ts.MkAbs(args[0] + suffix))
		ts.Check(err)
		return f
	}
	out, talk := open(".out"), open(".err")
	defer out.Close()
	defer talk.Close()
	cmd := exec.CommandContext(all.t.Context(), args[1], args[2:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), out, talk
	// What scripts set and the program reads: the script's whole environment is
	// not to be had.
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "TEAMMEMD_TOKEN", "TEAMMEMD_KEYRING", "TEAMMEMD_STATE_DIR", "NO_COLOR", "TEAMMEMD_LOG", "GORACE"} {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	ts.Check(cmd.Start())
	c := &child{cmd, make(chan error, 1)}
	all.byName[args[0]] = c
	go func() { c.ended <- cmd.Wait() }()
	ts.Defer(func() { _ = cmd.Process.Kill() })
}

func scriptSignal(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "signal NAME HUP|INT|TERM|KILL")
	sig, ok := map[string]syscall.Signal{"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}[args[1]]
	if !ok {
		ts.Fatalf("no signal is called %s", args[1])
	}
	ts.Check(childOf(ts, args[0]).cmd.Process.Signal(sig))
}

func scriptEnded(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "ended NAME CODE")
	c := childOf(ts, args[0])
	err := <-c.ended
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Check(err)
	}
	if code := c.cmd.ProcessState.ExitCode(); code != number(ts, args[1]) {
		ts.Fatalf("exit code %d, want %s: %s", code, args[1], ts.ReadFile(args[0]+".err"))
	}
}

// scriptHalt asks a detached daemon to end and waits until its lock is free.
func scriptHalt(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 0, "halt")
	note := daemonLock(ts.Getenv("HOME")) + ".pid"
	text, err := os.ReadFile(note)
	ts.Check(err)
	process, err := os.FindProcess(number(ts, strings.TrimSpace(string(text))))
	ts.Check(err)
	ts.Check(process.Signal(syscall.SIGTERM))
	eventually(childrenOf(ts).t, "the end of the daemon", func() bool {
		_, err := os.Stat(note)
		return errors.Is(err, os.ErrNotExist)
	})
}

func daemonLock(home string) string { return filepath.Join(home, ".local/state/teammemd/daemon.lock") }

// endDetached ends the daemon that a failed script left behind: nobody else
// knows of it. The lock tells a running one from the note of one that was killed.
func endDetached(tb testing.TB, home string) {
	tb.Helper()
	text, err := os.ReadFile(daemonLock(home) + ".pid")
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	lease, lockErr := control.Lock(daemonLock(home))
	if lockErr == nil {
		if err := lease.Release(); err != nil {
			tb.Error(err)
		}
		return
	}
	id, convErr := strconv.Atoi(strings.TrimSpace(string(text)))
	if err := errors.Join(err, convErr); err != nil {
		tb.Error(err)
		return
	}
	if process, err := os.FindProcess(id); err == nil {
		_ = process.Kill() // it may just have ended by itself
	}
}

func childrenOf(ts *testscript.TestScript) *children {
	all, ok := ts.Value(childrenValue{}).(*children)
	if !ok {
		ts.Fatalf("nothing was set up")
	}
	return all
}

func scriptAwait(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "await FILE REGEXP")
	pattern := regexp.MustCompile("(?m)" + args[1])
	eventually(childrenOf(ts).t, args[1]+" in "+args[0], func() bool {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && pattern.Match(text)
	})
}

func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "until REGEXP PROGRAM ARG...")
	pattern := regexp.MustCompile("(?m)" + args[0])
	eventually(childrenOf(ts).t, args[0]+" from "+strings.Join(args[1:], " "), func() bool {
		_ = ts.Exec(args[1], args[2:]...) // its code is not the question
		return pattern.MatchString(ts.ReadFile("stdout"))
	})
}

// valueAt reads a value of a JSON text.
func valueAt(ts *testscript.TestScript, name, path string) any {
	var v any
	text := ts.ReadFile(name)
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		ts.Fatalf("%s is no JSON: %v: %q", name, err, text)
	}
	for step := range strings.SplitSeq(strings.Trim(path, "."), ".") {
		switch at := v.(type) {
		case map[string]any:
			if step != "" {
				v = at[step]
			}
		case []any:
			i := number(ts, step)
			if i >= len(at) {
				ts.Fatalf("%s of %s: there are %d", path, text, len(at))
			}
			v = at[i]
		default:
			ts.Fatalf("%s: there is nothing in %q", path, text)
		}
	}
	return v
}

func scriptKeys(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3, "keys NAME PATH KEY...")
	object, ok := valueAt(ts, args[0], args[1]).(map[string]any)
	if !ok {
		ts.Fatalf("%s is no object", args[1])
	}
	expected := slices.Sorted(slices.Values(args[2:]))
	if diff := cmp.Diff(expected, slices.Sorted(maps.Keys(object))); diff != "" {
		ts.Fatalf("members of %s: %s", args[1], diff)
	}
}

func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3, "json NAME PATH VALUE")
	var expected any
	found := valueAt(ts, args[0], args[1])
	_, isText := found.(string)
	if err := json.Unmarshal([]byte(args[2]), &expected); err != nil || isText {
		expected = args[2] // a text may look like a number: an id of digits alone
	}
	if diff := cmp.Diff(expected, found); diff != "" {
		ts.Fatalf("%s: %s", args[1], diff)
	}
}

func scriptLike(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3, "like NAME PATH REGEXP")
	text, ok := valueAt(ts, args[0], args[1]).(string)
	if !ok || !regexp.MustCompile(args[2]).MatchString(text) {
		ts.Fatalf("%s is %q, want %s", args[1], text, args[2])
	}
}

func scriptTake(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3, "take VAR NAME PATH")
	text, ok := valueAt(ts, args[1], args[2]).(string)
	if !ok {
		ts.Fatalf("%s is no string", args[2])
	}
	if len(args) > 3 {
		groups := regexp.MustCompile(args[3]).FindStringSubmatch(text)
		if len(groups) < 2 {
			ts.Fatalf("%q does not match %s", text, args[3])
		}
		text = groups[1]
	}
	ts.Setenv(args[0], text)
}

func scriptDamage(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "damage PATTERN")
	names, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(names) != 1 {
		ts.Fatalf("%d files match %s", len(names), args[0])
	}
	info, err := os.Stat(names[0])
	ts.Check(err)
	ts.Check(os.Truncate(names[0], info.Size()/2))
}

func scriptMode(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "mode FILE PERM")
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := info.Mode().Perm().String(); got != args[1] {
		ts.Fatalf("%s is %s, want %s", args[0], got, args[1])
	}
}
