package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/scanner"
)

func TestCarryOver(t *testing.T) {
	old := config.Server{Listen: "127.0.0.1:1", Data: "a", LogFormat: "json", LogLevel: "info"}.WithDefaults()
	with := func(change func(*config.Server)) config.Server {
		c := old
		change(&c)
		return c
	}
	tests := []struct {
		name    string
		next    config.Server
		want    config.Server
		waiting []string
	}{
		{"nothing new", old, old, nil},
		{
			"all at once",
			with(func(c *config.Server) { c.WritersMayRetire, c.LogLevel, c.Limits.Burst = true, "debug", 7 }),
			with(func(c *config.Server) { c.WritersMayRetire, c.LogLevel, c.Limits.Burst = true, "debug", 7 }),
			nil,
		},
		{
			"what waits",
			with(func(c *config.Server) {
				c.Listen, c.Data, c.TLSCert, c.TLSKey, c.LogFormat, c.Limits.MaxEntries = "127.0.0.1:2", "b", "c", "d", "text", 5
				c.WritersMayRetire, c.Database.URL = true, "postgres://db/teammemd"
				c.MetricsListen, c.DrainDelay, c.Limits.SearchIndexBytes = "127.0.0.1:3", 1, 1<<21
			}),
			with(func(c *config.Server) { c.WritersMayRetire = true }),
			[]string{"listen", "data", "database.url", "tls_cert", "drain_delay", "log_format", "metrics_listen", "limits.max_entries", "limits.search_index_bytes"},
		},
		{
			"where access comes from",
			with(func(c *config.Server) {
				c.Access.PolicyFile, c.SignIn.Forge.Kind, c.Limits.Burst = "policy.toml", "github", 7
			}),
			with(func(c *config.Server) { c.Limits.Burst = 7 }),
			[]string{"sign_in.forge.kind", "access"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, waiting := carryOver(old, tt.next)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.waiting, waiting); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReloadIsExposedNever takes the proxies away from an address that stays
// open to other machines.
func TestReloadIsExposedNever(t *testing.T) {
	c := config.Server{Listen: "0.0.0.0:0", Data: t.TempDir(), TrustedProxies: []string{"10.0.0.1"}}.WithDefaults()
	e, err := newEmbedded(t.Context(), c, scanner.New(scanner.Options{}), slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	c.Listen, c.TrustedProxies = "127.0.0.1:0", nil
	if waiting, err := e.Reload(t.Context(), c); api.ExitCode(err) != api.ExitConfig {
		t.Errorf("%v, %v", waiting, err)
	}
}

func TestServerLogLevel(t *testing.T) {
	tests := []struct {
		name           string
		verbose, quiet bool
		level, then    string
		want           []string
	}{
		{"as configured", false, false, "info", "info", []string{"info", "warn", "info2", "warn2"}},
		{"changed", false, false, "warn", "debug", []string{"warn", "debug2", "info2", "warn2"}},
		{"verbose wins", true, false, "warn", "error", []string{"debug", "info", "warn", "debug2", "info2", "warn2"}},
		{"quiet wins", false, true, "debug", "info", []string{"warn", "warn2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			a := newApp(nil, nil, &out, func(string) string { return "" })
			a.verbose, a.quiet = tt.verbose, tt.quiet
			log, set := a.serverLog(config.Server{LogLevel: tt.level, LogFormat: "json"})
			inner := log.With("a", 1).WithGroup("g")
			inner.DebugContext(t.Context(), "debug")
			inner.InfoContext(t.Context(), "info")
			inner.WarnContext(t.Context(), "warn")
			set(config.Server{LogLevel: tt.then})
			inner.DebugContext(t.Context(), "debug2")
			inner.InfoContext(t.Context(), "info2")
			inner.WarnContext(t.Context(), "warn2")
			var got []string
			for line := range strings.Lines(out.String()) {
				_, after, _ := strings.Cut(line, `"msg":"`)
				msg, _, _ := strings.Cut(after, `"`)
				got = append(got, msg)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHealthURL(t *testing.T) {
	tests := []struct{ listen, cert, want string }{
		{"127.0.0.1:8787", "", "http://127.0.0.1:8787/readyz"},
		{":8787", "c", "https://127.0.0.1:8787/readyz"},
		{"0.0.0.0:1", "c", "https://127.0.0.1:1/readyz"},
		{"[::]:1", "c", "https://[::1]:1/readyz"},
		{"[::1]:1", "", "http://[::1]:1/readyz"},
		{"localhost:1", "", "http://localhost:1/readyz"},
		{"127.0.0.1:0", "", ""},
		{"nonsense", "", ""},
	}
	for _, tt := range tests {
		got, err := healthURL(config.Server{Listen: tt.listen, TLSCert: tt.cert})
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("healthURL(%q) = %q, %v, want %q", tt.listen, got, err, tt.want)
		}
		if err != nil && api.ExitCode(err) != api.ExitConfig {
			t.Errorf("healthURL(%q): exit %d", tt.listen, api.ExitCode(err))
		}
	}
}
