package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/etc"
	"github.com/teammem/teammemd/internal/config"
)

func write(tb testing.TB, file, text string) string {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
	return file
}

func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func TestClientDefaults(t *testing.T) {
	got, err := config.LoadClient(config.Input{File: filepath.Join(t.TempDir(), "absent.toml"), Getenv: env(nil)})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Client{
		Keyring:  config.KeyringAuto,
		Debounce: config.Duration(2 * time.Second), MaxWait: config.Duration(10 * time.Second), Poll: config.Duration(30 * time.Second),
		OnConflict: "server-wins", Extensions: []string{".md", ".txt"}, Ignore: []string{}, LogLevel: "info", LogFormat: "auto",
	}
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, config.Client{}.WithDefaults()); diff != "" {
		t.Errorf("zero value (-want +got):\n%s", diff)
	}
}

func TestServerDefaults(t *testing.T) {
	got, err := config.LoadServer(config.Input{})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Server{
		Listen: "127.0.0.1:8787", Data: "/var/lib/teammemd", TrustedProxies: []string{}, LogLevel: "info", LogFormat: "auto",
		Limits: config.Limits{
			MaxEntries: 20_000, RatePerSecond: 10_000, Burst: 50_000, Streams: 1_000, UploadBytesPerSecond: 16 << 20, UploadBurstBytes: 256 << 20,
			SearchIndexBytes: 512 << 20,
		},
		SignIn: config.SignIn{
			Local: true, Forge: config.Forge{Scopes: []string{}}, OIDC: config.OIDC{Scopes: []string{}, Title: "Single sign-on", GroupsClaim: "groups"},
			Exchange: config.Exchange{Issuer: "https://token.actions.githubusercontent.com", Policies: []string{}},
		},
		Access: config.Access{Forge: "auto"},
	}
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, config.Server{}.WithDefaults()); diff != "" {
		t.Errorf("zero value (-want +got):\n%s", diff)
	}
}

// uncommented returns the shipped file with every key switched on.
func uncommented(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "#"); ok && !strings.HasPrefix(rest, " ") && strings.TrimSpace(rest) != "" {
			line = rest
		}
		out = append(out, line)
	}
	return strings.Join(out, "")
}

func TestShippedFilesShowEveryKeyWithItsDefault(t *testing.T) {
	dir := t.TempDir()
	t.Run("client", func(t *testing.T) {
		for name, text := range map[string]string{"as shipped": etc.Client, "uncommented": uncommented(etc.Client)} {
			got, err := config.LoadClient(config.Input{File: write(t, filepath.Join(dir, "c.toml"), text), Required: true})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(config.Client{}.WithDefaults(), got.Config); diff != "" {
				t.Errorf("%s (-default +got):\n%s", name, diff)
			}
			checkSources(t, name, got.Rows(), "token")
		}
	})
	t.Run("server", func(t *testing.T) {
		for name, text := range map[string]string{"as shipped": etc.Server, "uncommented": uncommented(etc.Server)} {
			got, err := config.LoadServer(config.Input{File: write(t, filepath.Join(dir, "s.toml"), text), Required: true})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(config.Server{}.WithDefaults(), got.Config); diff != "" {
				t.Errorf("%s (-default +got):\n%s", name, diff)
			}
			checkSources(t, name, got.Rows(), "sign_in.forge.client_secret", "sign_in.oidc.client_secret")
		}
	})
}

// checkSources demands that every key stands in the uncommented file, and none
// in the one as shipped.
func checkSources(t *testing.T, name string, rows []config.Row, nowhere ...string) {
	t.Helper()
	for _, row := range rows {
		if slices.Contains(nowhere, row.Key) {
			continue
		}
		if fromFile := strings.Contains(row.Source, ".toml:"); fromFile != (name == "uncommented") {
			t.Errorf("%s: %s comes from %s", name, row.Key, row.Source)
		}
	}
}

func TestPrecedence(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "c.toml"), "server = \"https://file.example\"\nlog_level = \"warn\"\ndebounce = \"1s\"\n")
	vars := map[string]string{"TEAMMEMD_URL": "https://env.example", "TEAMMEMD_LOG": "debug", "TEAMMEMD_TOKEN": "t0ken"}
	got, err := config.LoadClient(config.Input{
		File: file, Getenv: env(vars), Flags: map[string]string{"server": "https://flag.example", "max_wait": "3s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, row := range got.Rows() {
		sources[row.Key] = row.Value + " from " + row.Source
	}
	for key, want := range map[string]string{
		"server": `"https://flag.example" from --server`, "log_level": `"debug" from TEAMMEMD_LOG`, "debounce": `"1s" from ` + file + ":3",
		"max_wait": `"3s" from --max-wait`, "poll": `"30s" from default`, "token": "(set) from TEAMMEMD_TOKEN",
		"extensions": `[".md", ".txt"] from default`,
	} {
		if sources[key] != want {
			t.Errorf("%s: got %s, want %s", key, sources[key], want)
		}
	}
	var shown strings.Builder
	if err := got.Show(&shown); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(shown.String(), vars["TEAMMEMD_TOKEN"]) || !strings.Contains(shown.String(), "token = (set)") {
		t.Errorf("the token is not redacted:\n%s", shown.String())
	}
}

func TestServerEnvironment(t *testing.T) {
	dir := t.TempDir()
	got, err := config.LoadServer(config.Input{Getenv: env(map[string]string{
		"TEAMMEMD_SERVER_LISTEN":             "0.0.0.0:80",
		"TEAMMEMD_SERVER_TRUSTED_PROXIES":    "10.0.0.0/8, ::1",
		"TEAMMEMD_SERVER_WRITERS_MAY_RETIRE": "true",
		"TEAMMEMD_SERVER_LIMITS_BURST":       "7",
		"TEAMMEMD_SERVER_DATABASE_URL_FILE":  write(t, filepath.Join(dir, "url"), "postgres://db/teammemd\n"),
		"TEAMMEMD_SERVER_DATA_FILE":          write(t, filepath.Join(dir, "data"), "  /srv/data\n"),
	})})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Server{
		Listen: "0.0.0.0:80", Data: "/srv/data", TrustedProxies: []string{"10.0.0.0/8", "::1"}, WritersMayRetire: true, Limits: config.Limits{Burst: 7},
		Database: config.Database{URL: "postgres://db/teammemd"},
	}.WithDefaults()
	if diff := cmp.Diff(want, got.Config); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	secret := strings.Join([]string{"hunter", "2", "hunter"}, "")
	file := write(t, filepath.Join(t.TempDir(), "c.toml"), strings.Join([]string{
		`debonce = "2s"`,           // 1
		`max_wait = 5`,             // 2
		`# fine`,                   // 3
		`extensions = [".md", 1]`,  // 4
		`token = "` + secret + `"`, // 5
		`zzz.yyy = true`,           // 6
		`[limitz]`,                 // 7
		`whatever = 1`,             // 8
	}, "\n"))
	_, err := config.LoadClient(config.Input{File: file, Getenv: env(map[string]string{"TEAMMEMD_LOG": "info"}), Flags: map[string]string{"poll": "soon"}})
	var problems config.ProblemErrors
	if !errors.As(err, &problems) || !errors.Is(err, api.ErrConfig) {
		t.Fatalf("got %v", err)
	}
	want := strings.Join([]string{
		file + `:1: unknown key "debonce", did you mean debounce?`,
		`line 2: max_wait: a duration such as "2s" or "100ms" is wanted`,
		`line 4: extensions: a list of texts such as ["a", "b"] is wanted`,
		`line 5: token does not belong into a file; set TEAMMEMD_TOKEN`,
		`line 6: unknown key "zzz.yyy"`,
		`line 7: unknown table "limitz"`,
		`--poll: a duration such as "2s" or "100ms" is wanted`,
	}, "\n")
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(err.Error(), secret) {
		t.Error("a token shows in an error")
	}
}

func TestValuesThatAreRefused(t *testing.T) {
	clients := map[string]string{
		`debounce = "0s"`:                               ":1: debounce: ",
		"debounce = \"3s\"\nmax_wait = \"1s\"":          ":2: max_wait: ",
		`poll = "1ms"`:                                  ":1: poll: ",
		`on_conflict = "mine"`:                          ":1: on_conflict: ",
		`extensions = []`:                               ":1: extensions: ",
		`extensions = ["md"]`:                           ":1: extensions: ",
		`extensions = ["*.md"]`:                         ":1: extensions: ",
		`ignore = ["[a"]`:                               ":1: ignore: ",
		`log_level = "loud"`:                            ":1: log_level: ",
		`log_format = "xml"`:                            ":1: log_format: ",
		`server = "memory.example"`:                     ":1: server: ",
		`server = "https://ada:pw@memory.example"`:      ":1: server: ",
		`server = "ftp://memory.example"`:               ":1: server: ",
		"debounce = \"1s\"\ndebounce = \"2s\"":          ":2: ",
		"debounce = ":                                   ":1: ",
		"server = \"a\n\"":                              ":1: ",
		"[[debounce]]":                                  ":1: unknown table",
		"\xff":                                          ": it is not UTF-8",
		"log_level = 3":                                 ":1: log_level: ",
		"# one\n\nlimits = { burst = 1 }":               `:3: unknown key "limits"`,
		"ignore = \"a\"":                                ":1: ignore: ",
		"token_file = true":                             ":1: token_file: ",
		"debounce = 1979-05-27":                         ":1: debounce: ",
		"poll = \"1 fortnight\"":                        ":1: poll: ",
		"server = \"https://memory.example/?q=secret\"": ":1: server: ",
	}
	for text, want := range clients {
		file := write(t, filepath.Join(t.TempDir(), "c.toml"), text)
		_, err := config.LoadClient(config.Input{File: file})
		if !errors.Is(err, api.ErrConfig) || !strings.HasPrefix(err.Error(), file+want) {
			t.Errorf("%q: got %v, want %s...", text, err, want)
		}
	}
	servers := map[string]string{
		`listen = "8787"`:                            ":1: listen: ",
		`listen = "127.0.0.1:http"`:                  ":1: listen: the port",
		`listen = "127.0.0.1:70000"`:                 ":1: listen: the port",
		`listen = "0.0.0.0:8787"`:                    ":1: listen: this address is reachable",
		`listen = ":8787"`:                           ":1: listen: this address is reachable",
		`listen = "[::]:8787"`:                       ":1: listen: this address is reachable",
		`listen = "memory.example:8787"`:             ":1: listen: this address is reachable",
		`tls_cert = "cert.pem"`:                      ":1: tls_cert: ",
		`data = ""`:                                  ":1: data: ",
		`trusted_proxies = ["proxy.example"]`:        ":1: trusted_proxies: ",
		"[limits]\nmax_entries = 0":                  ":2: limits.max_entries: ",
		"[limits]\nmax_entries = 20001":              ":2: limits.max_entries: ",
		"[limits]\nrate_per_second = -2":             ":2: limits.rate_per_second: ",
		"[limits]\nburst = 0":                        ":2: limits.burst: ",
		"[limits]\nbursts = 1":                       `:2: unknown key "limits.bursts", did you mean limits.burst?`,
		"[limit]\nburst = 1":                         `:1: unknown table "limit", did you mean limits?`,
		"writers_may_retire = \"yes\"":               ":1: writers_may_retire: ",
		"limits = { burst = 5, max_entries = \"\" }": ":1: limits.max_entries: ",
	}
	for text, want := range servers {
		file := write(t, filepath.Join(t.TempDir(), "s.toml"), text)
		_, err := config.LoadServer(config.Input{File: file})
		if !errors.Is(err, api.ErrConfig) || !strings.HasPrefix(err.Error(), file+want) {
			t.Errorf("%q: got %v, want %s...", text, err, want)
		}
	}
}

func TestWaysOfConflictThatAreAccepted(t *testing.T) {
	for _, want := range []string{config.ServerWins, config.Merge} {
		file := write(t, filepath.Join(t.TempDir(), "c.toml"), "on_conflict = \""+want+"\"\n")
		got, err := config.LoadClient(config.Input{File: file})
		if err != nil || got.Config.OnConflict != want {
			t.Errorf("%q: got %q, %v", want, got.Config.OnConflict, err)
		}
	}
}

func TestListenAddressesThatAreAccepted(t *testing.T) {
	for _, text := range []string{
		`listen = "127.0.0.1:0"`, `listen = "localhost:8787"`, `listen = "[::1]:8787"`, `listen = "127.1.2.3:80"`,
		"listen = \"0.0.0.0:443\"\ntls_cert = \"c\"\ntls_key = \"k\"", "listen = \":80\"\ntrusted_proxies = [\"10.0.0.1\"]",
		"limits = { burst = 5 }", "limits.burst = 1_000", "[limits]\nrate_per_second = -1",
	} {
		if _, err := config.LoadServer(config.Input{File: write(t, filepath.Join(t.TempDir(), "s.toml"), text)}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	big := write(t, filepath.Join(dir, "big.toml"), strings.Repeat("# much\n", 200_000))
	for file, required := range map[string]bool{filepath.Join(dir, "absent"): true, dir: false, big: false} {
		_, err := config.LoadClient(config.Input{File: file, Required: required})
		if !errors.Is(err, api.ErrConfig) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: got %v", file, err)
		}
	}
	secret := strings.Join([]string{"tok", "en-value"}, "")
	_, err := config.LoadServer(config.Input{Getenv: env(map[string]string{
		"TEAMMEMD_SERVER_LISTEN": "127.0.0.1:1", "TEAMMEMD_SERVER_LISTEN_FILE": write(t, filepath.Join(dir, "l"), secret),
		"TEAMMEMD_SERVER_TLS_KEY_FILE": filepath.Join(dir, "absent"), "TEAMMEMD_SERVER_DATA_FILE": write(t, filepath.Join(dir, "e"), " \n"),
		"TEAMMEMD_SERVER_LIMITS_BURST": secret,
	})})
	if err == nil || strings.Count(err.Error(), "\n") != 3 || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
}

func TestCanonicalServer(t *testing.T) {
	for raw, want := range map[string]string{
		"https://Memory.Example/": "https://memory.example", "HTTPS://memory.example:443": "https://memory.example",
		"http://127.0.0.1:8787": "http://127.0.0.1:8787", " http://a:80/x/ ": "http://a/x", "http://a:443": "http://a:443",
		"http://[::1]:8787/": "http://[::1]:8787",
	} {
		if got, err := config.CanonicalServer(raw); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", raw, got, err, want)
		}
	}
}

func TestDurationsPrintShort(t *testing.T) {
	for want, d := range map[string]time.Duration{"2s": 2 * time.Second, "1m": time.Minute, "1h": time.Hour, "1h30m": 90 * time.Minute, "100ms": 100 * time.Millisecond, "1m5s": 65 * time.Second} {
		if got := config.Duration(d).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(uncommented(etc.Client))
	f.Add(uncommented(etc.Server))
	f.Add("a.b.c = {d = [1, {e = 2}]}\n[[x]]\n")
	f.Add("extensions = [ # c\n '.md', ]")
	f.Fuzz(func(t *testing.T, text string) {
		file := write(t, filepath.Join(t.TempDir(), "f.toml"), text)
		if _, err := config.LoadClient(config.Input{File: file}); err != nil && !errors.Is(err, api.ErrConfig) {
			t.Fatalf("client: %v", err)
		}
		if _, err := config.LoadServer(config.Input{File: file}); err != nil && !errors.Is(err, api.ErrConfig) {
			t.Fatalf("server: %v", err)
		}
	})
}
