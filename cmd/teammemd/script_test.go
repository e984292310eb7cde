package main

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
)

// TestScripts runs testdata/script. Besides testscript's own commands there are
//
//	exits CODE PROGRAM ARG...   run it and expect the exit code
//	lines NAME COUNT            expect so many lines in stdout, stderr or a file
//	database                    let the server be one on PostgreSQL, in a new schema
//	serve ARG...                start a server on a free port; sets $URL and $ADDR
//	get STATUS PATH [FILE]      ask the server, with the token on FILE's last line
//	put STATUS PATH FILE BODY   send the file BODY
//	becomes STATUS PATH [FILE]  ask until the status is this
//	hangup COUNT TEXT           send SIGHUP and wait until the log has TEXT so often
//	spoil FILE TEXT             write over every TEXT in a file
//	stop                        send SIGTERM and expect a clean end; log in server.log
//
// and those of script_client_test.go.
func TestScripts(t *testing.T) {
	hook, err := filepath.Abs("../../etc/pre-commit/teammemd")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("HOOK", hook)
			env.Setenv("TEAMMEMD_KEYRING", "off") // that of whoever runs the tests is theirs
			one, ok := env.T().(testing.TB)
			if !ok {
				return errors.New("a script's test is no testing.TB")
			}
			env.Defer(func() { endDetached(one, env.WorkDir) })
			env.Values[serverValue{}] = &scriptServer{t: one}
			env.Values[childrenValue{}] = &children{t: one, byName: map[string]*child{}}
			return nil
		},
		Cmds: withClientCommands(map[string]scriptCommand{
			"exits":    scriptExits,
			"lines":    scriptLines,
			"database": scriptDatabase,
			"serve":    scriptServe,
			"get":      scriptGet,
			"put":      scriptPut,
			"becomes":  scriptBecomes,
			"hangup":   scriptHangup,
			"stop":     scriptStop,
			"spoil":    scriptSpoil,
		}),
	})
}

type serverValue struct{}

type scriptCommand = func(ts *testscript.TestScript, neg bool, args []string)

// scriptServer is the server of one script.
type scriptServer struct {
	t       testing.TB
	process *process
}

func serverOf(ts *testscript.TestScript) *process {
	s, ok := ts.Value(serverValue{}).(*scriptServer)
	if !ok || s.process == nil {
		ts.Fatalf("no server was started")
	}
	return s.process
}

func want(ts *testscript.TestScript, neg bool, args []string, least int, usage string) {
	if neg || len(args) < least {
		ts.Fatalf("usage: %s", usage)
	}
}

func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "exits CODE PROGRAM ARG...")
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != number(ts, args[0]) {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func scriptLines(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "lines NAME COUNT")
	text := ts.ReadFile(args[0])
	if got := strings.Count(text, "\n"); got != number(ts, args[1]) || text != "" && !strings.HasSuffix(text, "\n") {
		ts.Fatalf("%d lines, want %s: %q", got, args[1], text)
	}
}

func scriptSpoil(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "spoil FILE TEXT")
	before := ts.ReadFile(args[0])
	after := strings.ReplaceAll(before, args[1], strings.Repeat("x", len(args[1])))
	if before == after {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(after), 0o600))
}

// databaseVariable names the database for the server and its verbs.
const databaseVariable = "TEAMMEMD_SERVER_DATABASE_URL"

func scriptDatabase(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 0, "database")
	s, ok := ts.Value(serverValue{}).(*scriptServer)
	if !ok {
		ts.Fatalf("no server was set up")
	}
	ts.Setenv(databaseVariable, pgtest.Schema(s.t))
}

func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 0, "serve ARG...")
	if runtime.GOOS == "windows" {
		ts.Fatalf("windows has no SIGTERM: skip the script")
	}
	s, ok := ts.Value(serverValue{}).(*scriptServer)
	if !ok {
		ts.Fatalf("no server was set up")
	}
	for i := range args {
		if strings.HasPrefix(args[i], "@") {
			args[i] = ts.MkAbs(args[i][1:])
		}
	}
	if dsn := ts.Getenv(databaseVariable); dsn != "" {
		args = append(args, withEnvironment, databaseVariable+"="+dsn)
	}
	s.process = startServer(s.t, args...)
	ts.Setenv("URL", s.process.url)
	ts.Setenv("ADDR", strings.TrimPrefix(s.process.url, "http://"))
}

// secretIn returns the last line of a file, the empty text for no file.
func secretIn(ts *testscript.TestScript, files []string) string {
	if len(files) == 0 {
		return ""
	}
	all := strings.Split(strings.TrimSpace(ts.ReadFile(files[0])), "\n")
	return all[len(all)-1]
}

func scriptGet(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "get STATUS PATH [FILE]")
	expect(ts, http.MethodGet, args[0], args[1], secretIn(ts, args[2:]), "")
}

func scriptPut(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 4, "put STATUS PATH FILE BODY")
	expect(ts, http.MethodPut, args[0], args[1], secretIn(ts, args[2:3]), ts.ReadFile(args[3]))
}

func expect(ts *testscript.TestScript, method, status, path, secret, body string) {
	got, err := serverOf(ts).try(method, path, secret, body)
	ts.Check(err)
	if got.status != number(ts, status) {
		ts.Fatalf("status %d, want %s: %s", got.status, status, got.body)
	}
	_, err = ts.Stdout().Write([]byte(got.body))
	ts.Check(err)
}

func scriptBecomes(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "becomes STATUS PATH [FILE]")
	p, secret, status := serverOf(ts), secretIn(ts, args[2:]), number(ts, args[0])
	eventually(p.t, "status "+args[0], func() bool {
		got, err := p.try(http.MethodGet, args[1], secret, "")
		ts.Check(err)
		return got.status == status
	})
}

func scriptHangup(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 2, "hangup COUNT TEXT")
	p := serverOf(ts)
	p.signal(syscall.SIGHUP)
	p.log.await(p.t, args[1], number(ts, args[0]))
}

func scriptStop(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 0, "stop")
	p := serverOf(ts)
	p.stop()
	ts.Check(os.WriteFile(ts.MkAbs("server.log"), []byte(p.log.String()), 0o600))
}
