package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
)

// inProcess runs a command line in this process, with an environment of its own.
func inProcess(t *testing.T, env map[string]string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, talk bytes.Buffer
	code = newApp(strings.NewReader(""), &out, &talk, func(name string) string { return env[name] }).run(t.Context(), args)
	return out.String(), talk.String(), code
}

// everyVerb lists the command lines of all verbs.
func everyVerb(cmd *cobra.Command) [][]string {
	var all [][]string
	for _, sub := range cmd.Commands() {
		all = append(all, strings.Fields(sub.CommandPath())[1:])
		all = append(all, everyVerb(sub)...)
	}
	return all
}

func TestEveryVerbKnowsItsUsage(t *testing.T) {
	verbs := everyVerb(newApp(nil, nil, nil, os.Getenv).rootCommand())
	if len(verbs) < 20 {
		t.Fatalf("only %d verbs", len(verbs))
	}
	home := map[string]string{"HOME": t.TempDir()}
	for _, verb := range verbs {
		t.Run(strings.Join(verb, " "), func(t *testing.T) {
			out, talk, code := inProcess(t, nil, append(verb, "--help")...)
			if code != api.ExitOK || talk != "" || !strings.Contains(out, "Usage:") {
				t.Errorf("--help: exit %d, stderr %q, stdout %q", code, talk, out)
			}
			for _, wrong := range [][]string{{"--no-such-flag"}, strings.Fields("a b c d e f g")} {
				if verb[0] == "scan" && wrong[0] == "a" {
					continue // takes any number
				}
				out, talk, code := inProcess(t, home, append(verb, wrong...)...)
				if code != api.ExitUsage || out != "" {
					t.Errorf("%v: exit %d, stdout %q, stderr %q", wrong, code, out, talk)
				}
				lines := strings.Split(strings.TrimSuffix(talk, "\n"), "\n")
				if len(lines) != 2 || !strings.HasPrefix(lines[0], "teammemd: ") || !strings.HasPrefix(lines[1], "hint: ") {
					t.Errorf("%v: %q", wrong, talk)
				}
			}
		})
	}
}

// fullAfter is a disk that is full after some bytes.
type fullAfter struct {
	left int
	err  error
	tell []byte
}

func (f *fullAfter) Write(p []byte) (int, error) {
	n := min(len(p), f.left)
	f.left -= n
	f.tell = append(f.tell, p[:n]...)
	if n < len(p) {
		return n, f.err
	}
	return n, nil
}

func TestResultsThatCannotBeWritten(t *testing.T) {
	home := map[string]string{"HOME": t.TempDir()}
	for _, args := range []string{"version", "version --json", "config show", "config show --json", "conflicts list", "status", "--help"} {
		for _, tt := range []struct {
			err  error
			talk string
		}{
			{syscall.ENOSPC, "teammemd: writing the result: no space left on device\n"},
			{&os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, ""},
		} {
			t.Run(fmt.Sprint(args, tt.err), func(t *testing.T) {
				disk := &fullAfter{left: 3, err: tt.err}
				var talk bytes.Buffer
				code := newApp(nil, disk, &talk, func(name string) string { return home[name] }).run(t.Context(), strings.Fields(args))
				if code != api.ExitFailure || talk.String() != tt.talk || len(disk.tell) != 3 {
					t.Errorf("exit %d, stderr %q, written %q", code, talk.String(), disk.tell)
				}
			})
		}
	}
}

func TestAFailureOutranksALostResult(t *testing.T) {
	for _, lost := range []error{syscall.ENOSPC, syscall.EPIPE} {
		var talk bytes.Buffer
		code := newApp(nil, &fullAfter{err: lost}, &talk, func(string) string { return "" }).run(t.Context(), []string{"status", "--json"})
		if code != api.ExitConfig || !strings.HasPrefix(talk.String(), "teammemd: configuration: ") {
			t.Errorf("%v: exit %d, %q", lost, code, talk.String())
		}
	}
}

func TestOneLine(t *testing.T) {
	joined := errors.Join(errors.New("one"), errors.New("two\r\nthree"))
	if got := oneLine(joined.Error()); got != "one; two; three" {
		t.Errorf("%q", got)
	}
}
