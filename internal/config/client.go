package config

import (
	"log/slog"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// The values of [Client].OnConflict.
const (
	ServerWins = "server-wins"
	Merge      = "merge"
)

// The values of [Client].Keyring.
const (
	KeyringAuto = "auto"
	KeyringOff  = "off"
)

// Client is the configuration of the daemon and of the command line. The zero
// value of a field means its default; [Client.WithDefaults] fills them in.
type Client struct {
	// Server is the URL of the server that init and join suggest.
	Server string `toml:"server" env:"TEAMMEMD_URL"`
	// Token is the bearer token, from the environment alone; it wins over every
	// stored token.
	Token string `toml:"token" env:"TEAMMEMD_TOKEN" config:"secret,nofile"`
	// TokenFile is a file with the bearer token, for roots without one of their
	// own.
	TokenFile string `toml:"token_file"`
	// Keyring says where sign-ins are kept: "auto" in the system's keyring where
	// there is one, "off" in a file that only the user can read.
	Keyring string `toml:"keyring" env:"TEAMMEMD_KEYRING"`
	// Debounce is how long a file must have been quiet before it is sent.
	Debounce Duration `toml:"debounce"`
	// MaxWait is the longest that constant writing can delay sending.
	MaxWait Duration `toml:"max_wait"`
	// Poll is how often the server is asked when it offers no events.
	Poll Duration `toml:"poll"`
	// OnConflict says what wins when both sides changed: "server-wins" keeps
	// the local text among the saved copies, "merge" joins edits that do not
	// overlap, and leaves the rest to the server.
	OnConflict string `toml:"on_conflict"`
	// Extensions are the endings of the files that take part.
	Extensions []string `toml:"extensions"`
	// Ignore are patterns of keys that take no part, such as "drafts/*".
	Ignore []string `toml:"ignore"`
	// LogLevel is debug, info, warn or error.
	LogLevel string `toml:"log_level" env:"TEAMMEMD_LOG"`
	// LogFormat is text, json, or auto: text on a terminal, else json.
	LogFormat string `toml:"log_format"`
}

func clientDefaults() *Client {
	return &Client{
		Keyring:    KeyringAuto,
		Debounce:   Duration(2 * time.Second),
		MaxWait:    Duration(10 * time.Second),
		Poll:       Duration(30 * time.Second),
		OnConflict: ServerWins,
		Extensions: []string{".md", ".txt"},
		Ignore:     []string{},
		LogLevel:   "info",
		LogFormat:  "auto",
	}
}

// WithDefaults returns c with every zero field at its default.
func (c Client) WithDefaults() Client {
	fillZero(&c, clientDefaults())
	return c
}

// fillZero gives the zero fields of a struct those of another.
func fillZero(ptr, defaults any) {
	from := keysOf(defaults)
	for i, k := range keysOf(ptr) {
		if k.value.IsZero() {
			k.value.Set(from[i].value)
		}
	}
}

// LoadClient returns the client's effective configuration. The error is a
// [ProblemErrors] and wraps [api.ErrConfig]; what is returned beside it is fit to
// be shown, not to be used.
func LoadClient(in Input) (Effective[Client], error) {
	var c Client
	rows, err := load(&c, in, rules{defaults: clientDefaults(), check: func() []fault { return c.faults() }})
	return Effective[Client]{Config: c, rows: rows}, err
}

func (c Client) faults() []fault {
	var out []fault
	bad := func(key, text string) { out = append(out, fault{key, text}) }
	if c.Server != "" {
		if _, err := CanonicalServer(c.Server); err != nil {
			bad("server", err.Error())
		}
	}
	if c.Keyring != KeyringAuto && c.Keyring != KeyringOff {
		bad("keyring", `it must be "auto" or "off"`)
	}
	if c.Debounce <= 0 {
		bad("debounce", "it must be longer than 0")
	}
	if c.MaxWait < c.Debounce {
		bad("max_wait", "it must not be shorter than debounce")
	}
	if c.Poll < Duration(time.Second) {
		bad("poll", "it must be at least 1s")
	}
	if c.OnConflict != ServerWins && c.OnConflict != Merge {
		bad("on_conflict", `it must be "server-wins" or "merge"`)
	}
	if len(c.Extensions) == 0 {
		bad("extensions", "the list is empty, so that no file would take part")
	}
	for _, ext := range c.Extensions {
		if len(ext) < 2 || ext[0] != '.' || strings.ContainsAny(ext, `/\*?`) {
			bad("extensions", "each must be a dot and letters, such as \".md\"")
			break
		}
	}
	for _, pattern := range c.Ignore {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			bad("ignore", "one of the patterns is malformed")
			break
		}
	}
	return append(out, logFaults(c.LogLevel, c.LogFormat)...)
}

func logFaults(level, format string) []fault {
	var out []fault
	if _, ok := Level(level); !ok {
		out = append(out, fault{"log_level", "it must be debug, info, warn or error"})
	}
	if !slices.Contains([]string{"auto", "text", "json"}, format) {
		out = append(out, fault{"log_format", "it must be auto, text or json"})
	}
	return out
}

// Level returns the slog level of a log_level.
func Level(name string) (slog.Level, bool) {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	level, ok := levels[name]
	return level, ok
}

// CanonicalServer returns a server's URL in the one spelling under which tokens
// are kept: lower-case scheme and host, no default port, no slash at its end.
// An error does not repeat the URL, which may hold a password.
func CanonicalServer(raw string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Host == "" || u.Hostname() == "" {
		return "", errServerURL
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", errServerURL
	}
	if u.User != nil {
		return "", errServerUser
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", errServerQuery
	}
	u.Host = strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; strings.HasSuffix(u.Host, port) {
		u.Host = strings.TrimSuffix(u.Host, port)
	}
	return u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/"), nil
}
