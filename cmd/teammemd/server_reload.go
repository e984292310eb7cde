package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/teammem/teammemd/internal/config"
)

// Reload puts a new configuration into effect, all of it or none, and returns
// the keys that differ and wait for a restart. The certificate is read again
// even where its files have kept their names. Calls must not overlap.
func (e *embedded) Reload(ctx context.Context, c config.Server) (waiting []string, err error) {
	old := e.config
	c, waiting = carryOver(old, c)
	// What is kept and what is new must fit together as well.
	if err := checkExposure(c); err != nil {
		return nil, err
	}
	if err := checkPolicy(c); err != nil {
		return nil, err
	}
	next, err := e.server(c)
	if err != nil {
		return nil, err
	}
	if e.cert != nil {
		if err := e.cert.load(c); err != nil {
			return nil, err
		}
	}
	if served(old) != served(c) {
		if err := e.front.swap(ctx, next); err != nil {
			return nil, err
		}
	}
	if e.policy != nil {
		if err := e.policy.Reload(); err != nil {
			return nil, err
		}
	}
	if err := e.lendTokens(c); err != nil {
		return nil, err
	}
	e.config = c
	e.retention.Store(&c.Retention)
	return waiting, nil
}

// carryOver keeps what cannot change while the server runs, and names it.
func carryOver(old, c config.Server) (config.Server, []string) {
	var waiting []string
	keep := func(key string, differs bool) bool {
		if differs {
			waiting = append(waiting, key)
		}
		return differs
	}
	if keep("listen", old.Listen != c.Listen) {
		c.Listen = old.Listen
	}
	if keep("data", old.Data != c.Data) {
		c.Data = old.Data
	}
	if keep("database.url", old.Database.URL != c.Database.URL) {
		c.Database.URL = old.Database.URL
	}
	if keep("tls_cert", (old.TLSCert == "") != (c.TLSCert == "")) {
		c.TLSCert, c.TLSKey = old.TLSCert, old.TLSKey
	}
	if keep("drain_delay", old.DrainDelay != c.DrainDelay) {
		c.DrainDelay = old.DrainDelay
	}
	if keep("log_format", old.LogFormat != c.LogFormat) {
		c.LogFormat = old.LogFormat
	}
	if keep("sign_in.key_file", old.SignIn.KeyFile != c.SignIn.KeyFile) {
		c.SignIn.KeyFile = old.SignIn.KeyFile
	}
	if keep("sign_in.forge.kind", old.SignIn.Forge.Kind == "" && c.SignIn.Forge.Kind != "") {
		c.SignIn.Forge = old.SignIn.Forge
	}
	if keep("metrics_listen", old.MetricsListen != c.MetricsListen) {
		c.MetricsListen = old.MetricsListen
	}
	forge, kept := c.SignIn.Forge, old.SignIn.Forge
	if keep("sign_in.forge.url", kept.Kind != "" && (forge.Kind != kept.Kind || forge.URL != kept.URL)) {
		c.SignIn.Forge = kept
	}
	if keep("access", old.Access != c.Access) {
		c.Access = old.Access
	}
	if keep("limits.max_entries", old.Limits.MaxEntries != c.Limits.MaxEntries) {
		c.Limits.MaxEntries = old.Limits.MaxEntries
	}
	if keep("limits.search_index_bytes", old.Limits.SearchIndexBytes != c.Limits.SearchIndexBytes) {
		c.Limits.SearchIndexBytes = old.Limits.SearchIndexBytes
	}
	return c, waiting
}

// settings are what the HTTP side is made of.
type settings struct {
	proxies string
	retire  bool
	access  bool
	limits  config.Limits
	signIn  string
}

func served(c config.Server) settings {
	proxies := slices.Sorted(slices.Values(c.TrustedProxies))
	return settings{strings.Join(proxies, ","), c.WritersMayRetire, c.AccessLog, c.Limits, signInText(c.SignIn)}
}

// signInText differs where signing in does, also by a secret in its file. It is
// compared, and never leaves this function's callers.
func signInText(s config.SignIn) string {
	forge, _ := s.Forge.Secret() // one that cannot be read fails elsewhere
	oidc, _ := s.OIDC.Secret()
	return fmt.Sprintf("%q", []any{s, forge, oidc})
}

// reloadOnHangup reads the configuration again at each SIGHUP until ctx ends. A
// faulty one changes nothing.
func (e *embedded) reloadOnHangup(ctx context.Context, hangups <-chan os.Signal, load func() (config.Server, error), applied func(config.Server)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hangups:
		}
		c, err := load()
		var waiting []string
		if err == nil {
			waiting, err = e.Reload(ctx, c)
		}
		if e.metrics != nil {
			e.metrics.Reloaded(err == nil)
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // a clean stop; the reload that it cut short is part of it
		case err != nil:
			e.log.ErrorContext(ctx, "configuration was not reloaded, the old one stays", "error", oneLine(err.Error()))
			continue
		case len(waiting) > 0:
			e.log.WarnContext(ctx, "configuration has changes that wait for a restart", "keys", strings.Join(waiting, ","))
		}
		applied(c)
		e.log.InfoContext(ctx, "configuration reloaded")
	}
}

// hangups returns the SIGHUPs of this process and a function that ends them.
func hangups() (<-chan os.Signal, func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}
