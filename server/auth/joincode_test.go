package auth_test

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

var codeForm = regexp.MustCompile(`^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$`)

// wrongCode is well formed and, but for a chance of one in 2^40, nobody's.
const wrongCode = "0000-0000"

func newCode(t *testing.T, a *auth.Auth, name string) string {
	t.Helper()
	answer, err := a.NewJoinCode(t.Context(), repo(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if !codeForm.MatchString(answer.Code) {
		t.Fatalf("a code does not match %s: %q", codeForm, answer.Code)
	}
	return answer.Code
}

func TestRedeem(t *testing.T) {
	spellings := map[string]func(string) string{
		"as shown":    func(s string) string { return s },
		"no dash":     func(s string) string { return strings.ReplaceAll(s, "-", "") },
		"lower case":  strings.ToLower,
		"spaces":      func(s string) string { return " " + strings.ReplaceAll(s, "-", " ") + "\n" },
		"look-alikes": func(s string) string { return strings.NewReplacer("0", "o", "1", "l").Replace(s) },
	}
	for name, spell := range spellings {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			a := auth.New(sqlitetest.Serve(t, t.TempDir()), auth.Options{})
			joined, err := a.Redeem(ctx, spell(newCode(t, a, "acme/api")), "ada's\x1b[31m laptop")
			if err != nil {
				t.Fatal(err)
			}
			grant, err := a.Authenticate(ctx, joined.Secret)
			if err != nil {
				t.Fatal(err)
			}
			if grant.Name != "ada's[31m laptop" {
				t.Errorf("the token is named %q", grant.Name)
			}
			if got := grant.Role(repo(t, "acme/api")); got != api.Writer || joined.Role != api.Writer {
				t.Errorf("role = %v and %v, want writer", got, joined.Role)
			}
			if got := grant.Role(repo(t, "acme/web")); got != api.NoRole {
				t.Errorf("the token reaches into another repo as %v", got)
			}
		})
	}
}

func TestRedeemOnce(t *testing.T) {
	a := auth.New(sqlitetest.Serve(t, t.TempDir()), auth.Options{})
	code := newCode(t, a, "acme/api")
	var won, lost atomic.Int32
	var wg sync.WaitGroup
	for range auth.CodeTries { // more wrong tries would burn it
		wg.Go(func() {
			_, err := a.Redeem(t.Context(), code, "")
			switch {
			case err == nil:
				won.Add(1)
			case errors.Is(err, api.ErrForbidden):
				lost.Add(1)
			default:
				t.Errorf("Redeem = %v", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || lost.Load() != auth.CodeTries-1 {
		t.Errorf("%d callers got a token and %d were refused, want 1 and %d", won.Load(), lost.Load(), auth.CodeTries-1)
	}
	if list, err := a.List(t.Context()); err != nil || len(list) != 1 || list[0].Name != "joined" {
		t.Errorf("tokens = %v, %v; want one, named joined", list, err)
	}
}

func TestCodeBurns(t *testing.T) {
	for _, wrong := range []int{auth.CodeTries - 1, auth.CodeTries} {
		a := auth.New(sqlitetest.Serve(t, t.TempDir()), auth.Options{})
		code := newCode(t, a, "acme/api")
		for range wrong {
			if _, err := a.Redeem(t.Context(), wrongCode, "x"); !errors.Is(err, api.ErrForbidden) {
				t.Fatalf("a wrong code = %v, want forbidden", err)
			}
		}
		_, err := a.Redeem(t.Context(), code, "x")
		if burnt := err != nil; burnt != (wrong >= auth.CodeTries) {
			t.Errorf("after %d wrong tries the right code = %v", wrong, err)
		}
	}
}

func TestCodeExpires(t *testing.T) {
	clk := newClock()
	a := auth.New(sqlitetest.Serve(t, t.TempDir()), auth.Options{Now: clk.Now})
	first, second := newCode(t, a, "acme/api"), newCode(t, a, "acme/api")
	clk.Advance(auth.CodeLife - time.Second)
	if _, err := a.Redeem(t.Context(), first, "x"); err != nil {
		t.Errorf("a second before its end: %v", err)
	}
	clk.Advance(time.Second)
	if _, err := a.Redeem(t.Context(), second, "x"); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("at its end: %v, want forbidden", err)
	}
}
