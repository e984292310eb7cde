package config

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/teammem/teammemd/api"
)

var (
	errServerURL   = errors.New("a server's URL looks like https://memory.example.com")
	errServerUser  = errors.New("a server's URL must not hold a user or a password")
	errServerQuery = errors.New("a server's URL must not have a query or a fragment")
)

// serverEnv begins the variable of every key of the server:
// TEAMMEMD_SERVER_LIMITS_BURST.
const serverEnv = "TEAMMEMD_SERVER_"

// Server is the configuration of the companion server. The zero value of a
// field means its default; [Server.WithDefaults] fills them in.
type Server struct {
	// Listen is the address, host:port; port 0 picks a free one.
	Listen string `toml:"listen"`
	// Data is the directory of the database.
	Data string `toml:"data"`
	// TLSCert and TLSKey are PEM files; both or neither.
	TLSCert string `toml:"tls_cert"`
	// TLSKey is the certificate's private key.
	TLSKey string `toml:"tls_key"`
	// TrustedProxies are the addresses or networks of proxies that end TLS in
	// front of the server and whose forwarding headers are believed.
	TrustedProxies []string `toml:"trusted_proxies"`
	// WritersMayRetire lets writers, not only maintainers, retire a key.
	WritersMayRetire bool `toml:"writers_may_retire"`
	// LogLevel is debug, info, warn or error.
	LogLevel string `toml:"log_level"`
	// LogFormat is text, json, or auto: text on a terminal, else json.
	LogFormat string `toml:"log_format"`
	// Limits bound what one client can ask for.
	Limits Limits `toml:"limits"`
	// SignIn says how people sign in.
	SignIn SignIn `toml:"sign_in"`
	// Access says where it is looked up what signed-in people may.
	Access Access `toml:"access"`
	// Database says where the data are kept instead of in the data directory.
	Database Database `toml:"database"`
}

// Database is the address of a PostgreSQL database.
type Database struct {
	// URL is postgres://user:password@host,host/name?..., or keywords and values as
	// libpq takes them; "" means SQLite in the data directory.
	URL string `toml:"url" config:"secret"`
}

// Limits bound what one client can ask for.
type Limits struct {
	// MaxEntries is the largest number of live entries in one repo.
	MaxEntries int `toml:"max_entries"`
	// RatePerSecond is how many requests one token may make each second on
	// average; -1 for no limit.
	RatePerSecond int `toml:"rate_per_second"`
	// Burst is how many requests one token may make at once.
	Burst int `toml:"burst"`
}

func serverDefaults() *Server {
	return &Server{
		Listen:         "127.0.0.1:8787",
		Data:           "/var/lib/teammemd",
		TrustedProxies: []string{},
		LogLevel:       "info",
		LogFormat:      "auto",
		Limits:         Limits{MaxEntries: api.MaxEntries, RatePerSecond: 10_000, Burst: 50_000},
		SignIn:         signInDefaults(),
		Access:         accessDefaults(),
	}
}

// WithDefaults returns s with every zero field at its default.
func (s Server) WithDefaults() Server {
	fillZero(&s, serverDefaults())
	return s
}

// LoadServer returns the server's effective configuration. Every key can be set
// by TEAMMEMD_SERVER_<SECTION>_<KEY>, or by a file that the same name with _FILE
// gives. The error is a [ProblemErrors] and wraps [api.ErrConfig].
func LoadServer(in Input) (Effective[Server], error) {
	var s Server
	rows, err := load(&s, in, rules{defaults: serverDefaults(), prefix: serverEnv, check: func() []fault { return s.faults() }})
	return Effective[Server]{Config: s, rows: rows}, err
}

func (s Server) faults() []fault {
	var out []fault
	bad := func(key, text string) { out = append(out, fault{key, text}) }
	host, port, err := net.SplitHostPort(s.Listen)
	if err != nil {
		bad("listen", "it must be host:port, such as 127.0.0.1:8787")
	} else if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		bad("listen", "the port must be a number from 0 to 65535")
	}
	if s.Data == "" {
		bad("data", "it must name a directory")
	}
	if (s.TLSCert == "") != (s.TLSKey == "") {
		bad("tls_cert", "tls_cert and tls_key go together: set both or neither")
	}
	for _, proxy := range s.TrustedProxies {
		if _, err := Network(proxy); err != nil {
			bad("trusted_proxies", "each must be an address or a network, such as 10.0.0.0/8")
			break
		}
	}
	if err == nil && !loopback(host) && s.TLSCert == "" && len(s.TrustedProxies) == 0 {
		bad("listen", "this address is reachable from other machines, and tokens would travel in the clear: set tls_cert and tls_key, or trusted_proxies when a proxy ends TLS, or listen on 127.0.0.1")
	}
	if n := s.Limits.MaxEntries; n < 1 || n > api.MaxEntries {
		bad("limits.max_entries", "it must be from 1 to "+strconv.Itoa(api.MaxEntries))
	}
	if r := s.Limits.RatePerSecond; r < 1 && r != -1 {
		bad("limits.rate_per_second", "it must be at least 1, or -1 for no limit")
	}
	if s.Limits.Burst < 1 {
		bad("limits.burst", "it must be at least 1")
	}
	out = append(out, s.SignIn.faults()...)
	out = append(out, s.Access.faults()...)
	if u := s.Database.URL; u != "" && !strings.HasPrefix(u, "postgres://") && !strings.HasPrefix(u, "postgresql://") && !strings.Contains(u, "=") {
		bad("database.url", "it must be postgres://user@host/name, or keywords and values such as host=a dbname=b")
	}
	return append(out, logFaults(s.LogLevel, s.LogFormat)...)
}

// loopback reports whether host is this machine alone.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// Network reads an address or a network of trusted_proxies.
func Network(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	return prefix.Masked(), nil
}
