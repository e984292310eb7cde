package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
)

func TestParseRepo(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"acme/api": "acme/api", "Acme/API": "acme/api", "gitlab.com/a/b/c": "gitlab.com/a/b/c", "local/my-repo": "local/my-repo",
		"a/b.c_d~e+f": "a/b.c_d~e+f", "a/.github": "a/.github", "a/b..": "a/b..", "0/-": "0/-", "_/a.": "_/a.", "ünï/cödé": "ünï/cödé", "dev.azure.com/o/p/_git/r": "dev.azure.com/o/p/_git/r",
	}
	for in, want := range good {
		repo, err := api.ParseRepo(in)
		if err != nil || repo.String() != want {
			t.Errorf("ParseRepo(%q) = %q, %v, want %q", in, repo, err, want)
		}
	}
	for _, bad := range []string{"", "a", "/a/b", "a/b/", "a//b", "a/..", "./b", "../b", "a/./b", "a b/c", "a/b\x00", `a\b/c`, "a/b?c", "a/*", "a/b%2f", "a/b;c", strings.Repeat("a", 600) + "/b"} {
		if repo, err := api.ParseRepo(bad); !errors.Is(err, api.ErrRepoInvalid) {
			t.Errorf("ParseRepo(%.20q) = %q, %v, want %v", bad, repo, err, api.ErrRepoInvalid)
		}
	}
}

func TestChecksum(t *testing.T) {
	t.Parallel()
	sum := api.Sum([]byte("text"))
	if sum != api.SumString("text") || sum.IsZero() || len(sum.Hex()) != 64 {
		t.Errorf("Sum = %v", sum)
	}
	// From the standard's own example: the digest of "abc".
	if got := api.SumString("abc").String(); got != "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("SumString(abc) = %s", got)
	}
	text, err := json.Marshal(map[string]api.Checksum{"a": sum, "b": {}})
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]api.Checksum
	if err := json.Unmarshal(text, &back); err != nil || back["a"] != sum || !back["b"].IsZero() {
		t.Errorf("%s came back as %v, %v", text, back, err)
	}
	for _, bad := range []string{"", "sha256:", sum.Hex(), "sha256:" + strings.ToUpper(sum.Hex()), sum.String() + "0", "sha1:" + sum.Hex(), "sha256:" + strings.Repeat("g", 64)} {
		if _, err := api.ParseChecksum(bad); !errors.Is(err, api.ErrBadRequest) {
			t.Errorf("ParseChecksum(%q): %v", bad, err)
		}
	}
}

// TestErrorTable walks the one table: every row that travels comes back as
// itself, with its details, and says the same exit code on both sides.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	codes := map[string]bool{}
	for _, row := range api.Errors {
		if got := api.ExitCode(fmt.Errorf("doing: %w", row.Err)); got != row.Exit {
			t.Errorf("%v: exit code %d, want %d", row.Err, got, row.Exit)
		}
		if row.Status == 0 {
			continue
		}
		if codes[row.Code] {
			t.Errorf("error_code %q stands twice", row.Code)
		}
		codes[row.Code] = true
		details := api.Details{MaxEntries: 5, ReceivedEntries: 7, Findings: []api.Finding{{Key: "a.md", Line: 3, Rule: "r", Reason: "why"}}}
		status, body := api.Wire(fmt.Errorf("doing: %w", &api.Error{Err: row.Err, Message: "said", Details: details}))
		if status != row.Status || body.Error.Type != row.Type || body.Error.Details.ErrorCode != row.Code {
			t.Errorf("%v travels as %d %+v", row.Err, status, body)
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		var back api.ErrorBody
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		got := api.FromWire(status, back)
		details.ErrorCode = row.Code
		if !errors.Is(got, row.Err) || cmp.Diff(got.Details, details) != "" {
			t.Errorf("%v comes back as %v with %+v", row.Err, got, got.Details)
		}
	}
}

func TestWireKeepsInnerErrorsInside(t *testing.T) {
	t.Parallel()
	status, body := api.Wire(fmt.Errorf("reading /var/lib/x: %w", errors.New("disk on fire")))
	if status != http.StatusInternalServerError || strings.Contains(fmt.Sprint(body), "fire") {
		t.Errorf("an inner error travels: %d %+v", status, body)
	}
	status, body = api.Wire(api.ErrNoAccess)
	if status != http.StatusInternalServerError || body.Error.Details.ErrorCode != "internal" {
		t.Errorf("an error that never travels does: %d %+v", status, body)
	}
}

func TestFromWireByStatusAlone(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{
		400: api.ErrBadRequest, 401: api.ErrSignedOut, 403: api.ErrForbidden, 404: api.ErrNotFound, 409: api.ErrConflict, 412: api.ErrPrecondition,
		413: api.ErrBodyTooLarge, 418: api.ErrBadRequest, 422: api.ErrRefused, 429: api.ErrRateLimited, 500: api.ErrInternal, 502: api.ErrUnavailable, 503: api.ErrUnavailable, 302: api.ErrBadAnswer,
	} {
		if got := api.FromWire(status, api.ErrorBody{}); !errors.Is(got, want) {
			t.Errorf("status %d reads as %v, want %v", status, got, want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	order := []int{api.ExitConfig, api.ExitUsage, api.ExitSignIn, api.ExitNoAccess, api.ExitTempFail, api.ExitFailure, api.ExitHeld, api.ExitOK}
	for i, worse := range order {
		for _, better := range order[i:] {
			if api.WorseExit(worse, better) != worse || api.WorseExit(better, worse) != worse {
				t.Errorf("WorseExit(%d, %d) is not %d", worse, better, worse)
			}
		}
	}
	if got := api.ExitCode(errors.Join(api.ErrOffline, api.ErrHeld, api.ErrSignedOut)); got != api.ExitSignIn {
		t.Errorf("several conditions: %d, want %d", got, api.ExitSignIn)
	}
	if got := api.ExitCode(errors.New("other")); got != api.ExitFailure {
		t.Errorf("an unknown error: %d", got)
	}
	if got := api.ExitCode(nil); got != api.ExitOK {
		t.Errorf("no error: %d", got)
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	for role := api.Reader; role <= api.Admin; role++ {
		if got, err := api.ParseRole(role.String()); err != nil || got != role {
			t.Errorf("ParseRole(%q) = %v, %v", role, got, err)
		}
	}
	if api.Reader >= api.Writer || api.Writer >= api.Maintainer || api.Maintainer >= api.Admin {
		t.Error("roles are not ordered")
	}
	for _, bad := range []string{"", "none", "owner", "Reader"} {
		if _, err := api.ParseRole(bad); !errors.Is(err, api.ErrUsage) {
			t.Errorf("ParseRole(%q): %v", bad, err)
		}
	}
}
