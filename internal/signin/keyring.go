package signin

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/teammem/teammemd/internal/config"
)

// Keyring keeps small secrets for the user, by name. Its methods end within a few
// seconds.
type Keyring interface {
	Get(name string) (string, error)
	Set(name, secret string) error
	Delete(name string) error
}

const (
	keyringService = "teammemd"
	// keyringTime bounds one question: a locked keyring may wait for a person who
	// is not there.
	keyringTime = 3 * time.Second
)

var errSlowKeyring = errors.New("the keyring does not answer")

// SystemKeyring returns the system's keyring, nil where there is none or where it
// is switched off.
func SystemKeyring(setting string, getenv func(string) string) Keyring {
	if setting == config.KeyringOff || !keyringLikely(runtime.GOOS, getenv) {
		return nil
	}
	return systemKeyring{}
}

// keyringLikely reports whether it makes sense to ask. Without a session bus the
// library would start one.
func keyringLikely(goos string, getenv func(string) string) bool {
	if goos == "darwin" || goos == "windows" {
		return true
	}
	if getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	dir := getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		return false
	}
	info, err := os.Stat(filepath.Join(dir, "bus"))
	return err == nil && info.Mode()&os.ModeSocket != 0
}

type systemKeyring struct{}

func (systemKeyring) Get(name string) (string, error) {
	return bounded(func() (string, error) { return keyring.Get(keyringService, name) })
}

func (systemKeyring) Set(name, secret string) error {
	_, err := bounded(func() (string, error) { return "", keyring.Set(keyringService, name, secret) })
	return err
}

func (systemKeyring) Delete(name string) error {
	_, err := bounded(func() (string, error) { return "", keyring.Delete(keyringService, name) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

// bounded gives up on ask after a while; what it waits for cannot be ended.
func bounded(ask func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		text, err := ask()
		got <- answer{text, err}
	}()
	timer := time.NewTimer(keyringTime)
	defer timer.Stop()
	select {
	case a := <-got:
		return a.text, a.err
	case <-timer.C:
		return "", errSlowKeyring
	}
}

// store puts the secrets of a sign-in where they belong and leaves in l what the
// file is to have. A keyring that fails is no reason to lose them.
func store(k Keyring, name string, l *config.Login, s config.Secrets) {
	l.Secrets, l.Keyring = s, false
	if k == nil {
		return
	}
	text, err := json.Marshal(s)
	if err != nil || k.Set(name, string(text)) != nil {
		return
	}
	l.Keyring, l.Secrets = true, config.Secrets{Expires: s.Expires}
}

// load returns the secrets of a sign-in.
func load(k Keyring, name string, l config.Login) (s config.Secrets, err error) {
	if !l.Keyring {
		return l.Secrets, nil
	}
	if k == nil {
		return s, errNoKeyring
	}
	text, err := k.Get(name)
	if err != nil || json.Unmarshal([]byte(text), &s) != nil {
		return config.Secrets{}, errNoKeyring
	}
	return s, nil
}
