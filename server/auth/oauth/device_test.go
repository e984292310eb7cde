package oauth_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
)

func TestDevice(t *testing.T) {
	w := newWorld(t)
	d := w.begin()
	if len(d.UserCode) != 9 || strings.Trim(d.UserCode, "BCDFGHJKLMNPQRSTVWXZ-") != "" || d.VerificationURI != w.url+"/device" || d.Interval != 5 {
		t.Errorf("%+v", d)
	}
	w.wantRefusal("poll", w.poll(d), 400, "authorization_pending")
	b := w.browser()
	w.wantPage(b.get(strings.TrimPrefix(d.VerificationURIComplete, w.url)), 200, "Sign in")
	b.joined("Ada")
	page := b.get(strings.TrimPrefix(d.VerificationURIComplete, w.url))
	w.wantPage(page, 200, "Sign in this device?")
	if !strings.Contains(page.body, "ada&#39;s laptop") || !strings.Contains(page.body, d.UserCode) {
		t.Errorf("the page does not say what is asked:\n%s", page.body)
	}
	w.wantPage(b.answer(page, api.PathDevice, "approve"), 200, "Signed in")
	got := w.wantTokens("approved", w.poll(d)) // too early, and approved
	if got.Expires != 3600 || !strings.HasPrefix(got.Access, "tm_") || !strings.HasPrefix(got.Refresh, "tmr_") {
		t.Errorf("%+v", got)
	}
	w.works(got.Access)
	w.wantRefusal("the code again", w.poll(d), 400, "invalid_grant")
	w.wantPage(b.answer(page, api.PathDevice, "approve"), 400, "Sign in a device")
	if w.audited("sign-in") != 1 || w.audited("join") != 1 {
		t.Errorf("audited: %+v", w.audits)
	}
	for _, secret := range []string{got.Access, got.Refresh, d.DeviceCode, d.UserCode} {
		if strings.Contains(w.log.String(), secret) {
			t.Error("the log holds a secret")
		}
	}
}

// TestDevicePeer lets golang.org/x/oauth2 wait for the approval.
func TestDevicePeer(t *testing.T) {
	w := newWorld(t)
	b := w.browser().joined("Ada")
	d := w.begin()
	b.answer(b.get("/device?user_code="+d.UserCode), api.PathDevice, "approve")
	d.Interval = 1
	token, err := w.config().DeviceAccessToken(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	w.works(token.AccessToken)
	token.Expiry = time.Now().Add(-time.Hour)
	fresh, err := w.config().TokenSource(t.Context(), token).Token()
	if err != nil || fresh.RefreshToken == token.RefreshToken {
		t.Fatalf("refreshing: %v", err)
	}
	w.works(fresh.AccessToken)
}

// TestDeviceDeniedPeer is how golang.org/x/oauth2 is told of a no.
func TestDeviceDeniedPeer(t *testing.T) {
	w := newWorld(t)
	b := w.browser().joined("Ada")
	d := w.begin()
	w.wantPage(b.answer(b.get("/device?user_code="+d.UserCode), api.PathDevice, "deny"), 200, "Denied")
	d.Interval = 1
	_, err := w.config().DeviceAccessToken(t.Context(), d)
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); !ok || refused.ErrorCode != "access_denied" {
		t.Errorf("denied: %v", err)
	}
	w.wantRefusal("after the no", w.poll(d), 400, "invalid_grant")
}

func TestDeviceIsPolled(t *testing.T) {
	w := newWorld(t)
	d := w.begin()
	steps := []struct {
		after time.Duration
		want  string
	}{
		{0, "authorization_pending"},
		{5 * time.Second, "authorization_pending"},
		{4 * time.Second, "authorization_pending"}, // the way of the answer was longer
		{3 * time.Second, "slow_down"},             // now 10
		{8 * time.Second, "slow_down"},             // now 15
		{15 * time.Second, "authorization_pending"},
		{13 * time.Second, "slow_down"}, // now 20
		{20 * time.Second, "authorization_pending"},
	}
	for i, step := range steps {
		w.clock.Advance(step.after)
		if got := w.poll(d); !strings.Contains(got.body, `"`+step.want+`"`) {
			t.Fatalf("step %d: %s, want %s", i, got.body, step.want)
		}
	}
	w.clock.Advance(10*time.Minute - 68*time.Second)
	w.wantRefusal("at its end", w.poll(d), 400, "expired_token")
	b := w.browser().joined("Ada")
	w.wantPage(b.get("/device?user_code="+d.UserCode), 400, "Sign in a device")
}
