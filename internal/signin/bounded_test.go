package signin

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestKeyringThatHangs: one that waits for a person who is not there is given up.
func TestKeyringThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unlocked := make(chan struct{})
		defer close(unlocked)
		begun := time.Now()
		_, err := bounded(func() (string, error) { <-unlocked; return "late", nil })
		if took := time.Since(begun); !errors.Is(err, errSlowKeyring) || took != keyringTime {
			t.Errorf("after %s: %v", took, err)
		}
		if text, err := bounded(func() (string, error) { return "there", nil }); text != "there" || err != nil {
			t.Errorf("got %q, %v", text, err)
		}
	})
}
