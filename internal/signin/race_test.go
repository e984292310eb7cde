package signin_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/signin"
	"github.com/teammem/teammemd/server/store"
)

var renewals = flag.Int("renewals", 200, "rounds of two processes that renew one sign-in at once")

// The environment that makes this binary a process of the race.
const (
	racerDir = "SIGNIN_RACER_DIR"
	racerURL = "SIGNIN_RACER_URL"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(racerDir); dir != "" {
		race(dir, os.Getenv(racerURL))
		return
	}
	os.Exit(m.Run())
}

// race is one of the processes: for each line it looks what is stored, says so,
// waits for the next line, renews what it saw, and says whether what it has then
// works.
func race(dir, server string) {
	k := signin.NewKeeper(signin.Options{Credentials: credentialsIn(dir)})
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		kept, err := k.Kept(server)
		if err != nil || kept.SignIn == nil {
			fmt.Println("nothing is stored")
			continue
		}
		fmt.Println("ready")
		if !in.Scan() {
			return
		}
		if err := k.Renew(context.Background(), server, kept.SignIn.Access); err != nil {
			fmt.Println("renewing:", err)
			continue
		}
		token, err := k.Token(context.Background(), server)
		switch {
		case err != nil:
			fmt.Println("reading:", err)
		case token == kept.SignIn.Access || !good(context.Background(), server, token):
			fmt.Println("the token does not work")
		default:
			fmt.Println("works")
		}
	}
}

type racer struct {
	testing.TB

	in  io.WriteCloser
	out *bufio.Scanner
}

func startRacer(w *world) *racer {
	w.Helper()
	program, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	cmd := exec.CommandContext(w.Context(), program)
	cmd.Env = append(os.Environ(), racerDir+"="+w.dir, racerURL+"="+w.url)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		w.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	return &racer{w, in, bufio.NewScanner(out)}
}

func (r *racer) say() {
	r.Helper()
	if _, err := io.WriteString(r.in, "\n"); err != nil {
		r.Fatal(err)
	}
}

func (r *racer) hear(want string) {
	r.Helper()
	if !r.out.Scan() || r.out.Text() != want {
		r.Fatalf("a process said %q, want %q", r.out.Text(), want)
	}
}

// TestProcessesRenewAtOnce lets two processes renew one sign-in at once, round
// after round: one of them asks the server, both have a token that works, and no
// refresh token is ever sent twice.
func TestProcessesRenewAtOnce(t *testing.T) {
	rounds := *renewals
	if testing.Short() {
		rounds = min(rounds, 50)
	}
	w := newWorld(t)
	w.signIn(w.keeper(nil))
	both := []*racer{startRacer(w), startRacer(w)}
	begun := time.Now()
	for range rounds {
		for _, r := range both {
			r.say()
		}
		for _, r := range both {
			r.hear("ready")
		}
		for _, r := range both {
			r.say()
		}
		for _, r := range both {
			r.hear("works")
		}
		w.advance(time.Hour)
	}
	tokens, most := w.sent()
	if tokens != rounds || most != 1 || w.audited(store.ActionReuse) != 0 {
		t.Errorf("%d rounds sent %d refresh tokens, one of them %d times; %d reuses", rounds, tokens, most, w.audited(store.ActionReuse))
	}
	t.Logf("FIGURE two processes renewed one sign-in at once %d times in %s: %d requests, no sign-in ended", rounds, time.Since(begun).Round(time.Millisecond), tokens)
}

// TestStolenRefreshToken: a copy of an earlier refresh token that is used ends the
// sign-in, is audited, and the owner hears it once and sends nothing more.
func TestStolenRefreshToken(t *testing.T) {
	w := newWorld(t)
	k := w.keeper(nil)
	w.signIn(k)
	stolen := w.stored().Refresh
	w.advance(time.Hour)
	if err := k.Renew(t.Context(), w.url, w.stored().Access); err != nil {
		t.Fatal(err)
	}
	access := w.stored().Access
	if !good(t.Context(), w.url, access) {
		t.Fatal("the renewed token does not work")
	}
	w.advance(time.Minute)
	if _, err := w.server().Refresh(t.Context(), stolen); !errors.Is(err, api.ErrSignedOut) {
		t.Errorf("the thief: %v", err)
	}
	if w.audited(store.ActionReuse) != 1 || good(t.Context(), w.url, access) {
		t.Errorf("%d reuses are audited", w.audited(store.ActionReuse))
	}
	if err := k.Renew(t.Context(), w.url, access); !errors.Is(err, api.ErrSignedOut) {
		t.Errorf("the owner: %v", err)
	}
	before, _ := w.sent()
	for range 3 {
		if _, err := w.keeper(nil).Token(t.Context(), w.url); !errors.Is(err, api.ErrSignedOut) || !strings.Contains(err.Error(), "ended") {
			t.Errorf("afterwards: %v", err)
		}
	}
	if after, _ := w.sent(); after != before {
		t.Error("a token of an ended sign-in was sent")
	}
	if text, err := os.ReadFile(credentialsFile(w.dir)); err != nil || strings.Contains(string(text), access) {
		t.Errorf("the ended token is still stored: %v", err)
	}
}
