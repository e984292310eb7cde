package config

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

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
	// AccessLog writes one line of JSON to standard error for each request.
	AccessLog bool `toml:"access_log"`
	// MetricsListen is the address of /metrics, host:port; "" for none.
	MetricsListen string `toml:"metrics_listen"`
	// MetricsBeyondLoopback lets MetricsListen be reachable from other machines, by
	// whoever can reach it.
	MetricsBeyondLoopback bool `toml:"metrics_beyond_loopback"`
	// DrainDelay is how long the server goes on answering after it was asked to stop,
	// with its readiness off, for load balancers that need the time to notice.
	DrainDelay Duration `toml:"drain_delay"`
	// Limits bound what one client can ask for.
	Limits Limits `toml:"limits"`
	// Retention says which contents of history may go.
	Retention Retention `toml:"retention"`
	// SignIn says how people sign in.
	SignIn SignIn `toml:"sign_in"`
	// Access says where it is looked up what signed-in people may.
	Access Access `toml:"access"`
	// Database says where the data are kept instead of in the data directory.
	Database Database `toml:"database"`
}

// Retention says which contents of old versions a server takes away, once a day.
// The zero value keeps all.
type Retention struct {
	// MaxAgeDays lets contents go that were replaced so many days ago; 0: none by
	// age.
	MaxAgeDays int `toml:"max_age_days"`
	// KeepVersions is how many versions of each key stay whatever their age; 0: by
	// age alone.
	KeepVersions int `toml:"keep_versions"`
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
	// Streams is how many event streams and long polls one token may hold open.
	Streams int `toml:"streams"`
	// UploadBytesPerSecond is how many bytes of bodies one token may send each second
	// on average; -1 for no limit.
	UploadBytesPerSecond int `toml:"upload_bytes_per_second"`
	// UploadBurstBytes is how many bytes of bodies one token may send at once.
	UploadBurstBytes int `toml:"upload_burst_bytes"`
	// SearchIndexBytes is how many bytes of memory the indexes for searching take in
	// all; of a repo that needs more, only the beginning of its entries is searched.
	SearchIndexBytes int `toml:"search_index_bytes"`
}

func serverDefaults() *Server {
	return &Server{
		Listen:         "127.0.0.1:8787",
		Data:           "/var/lib/teammemd",
		TrustedProxies: []string{},
		LogLevel:       "info",
		LogFormat:      "auto",
		Limits: Limits{
			MaxEntries: api.MaxEntries, RatePerSecond: 10_000, Burst: 50_000,
			Streams: 1_000, UploadBytesPerSecond: 16 << 20, UploadBurstBytes: 256 << 20,
			SearchIndexBytes: 512 << 20,
		},
		SignIn: signInDefaults(),
		Access: accessDefaults(),
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
	if s.DrainDelay < 0 || s.DrainDelay.Std() > maxDrainDelay {
		bad("drain_delay", "it must be from 0s to "+Duration(maxDrainDelay).String())
	}
	out = append(out, s.SignIn.faults()...)
	out = append(out, s.Access.faults()...)
	if u := s.Database.URL; u != "" && !strings.HasPrefix(u, "postgres://") && !strings.HasPrefix(u, "postgresql://") && !strings.Contains(u, "=") {
		bad("database.url", "it must be postgres://user@host/name, or keywords and values such as host=a dbname=b")
	}
	out = append(out, s.metricsFaults()...)
	out = append(out, s.Limits.faults()...)
	if s.Retention.MaxAgeDays < 0 {
		bad("retention.max_age_days", "it must be at least 0")
	}
	if s.Retention.KeepVersions < 0 {
		bad("retention.keep_versions", "it must be at least 0")
	}
	return append(out, logFaults(s.LogLevel, s.LogFormat)...)
}

// maxDrainDelay, and the time for requests in flight, stay within what supervisors
// allow for a stop.
const maxDrainDelay = time.Minute

func (s Server) metricsFaults() []fault {
	if s.MetricsListen == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(s.MetricsListen)
	if err != nil {
		return []fault{{"metrics_listen", "it must be host:port, such as 127.0.0.1:9787"}}
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return []fault{{"metrics_listen", "the port must be a number from 0 to 65535"}}
	}
	if !loopback(host) && !s.MetricsBeyondLoopback {
		return []fault{{"metrics_listen", "this address is reachable from other machines, and metrics are shown to whoever asks: listen on 127.0.0.1, or set metrics_beyond_loopback = true where a firewall or a network policy stands before it"}}
	}
	if s.MetricsListen == s.Listen && port != "0" {
		return []fault{{"metrics_listen", "it must differ from listen: metrics have a port of their own"}}
	}
	return nil
}

func (l Limits) faults() []fault {
	var out []fault
	if n := l.MaxEntries; n < 1 || n > api.MaxEntries {
		out = append(out, fault{"limits.max_entries", "it must be from 1 to " + strconv.Itoa(api.MaxEntries)})
	}
	rate := func(key string, n int) {
		if n < 1 && n != -1 {
			out = append(out, fault{key, "it must be at least 1, or -1 for no limit"})
		}
	}
	atLeastOne := func(key string, n int) {
		if n < 1 {
			out = append(out, fault{key, "it must be at least 1"})
		}
	}
	rate("limits.rate_per_second", l.RatePerSecond)
	atLeastOne("limits.burst", l.Burst)
	atLeastOne("limits.streams", l.Streams)
	rate("limits.upload_bytes_per_second", l.UploadBytesPerSecond)
	if l.UploadBurstBytes < api.MaxBodyBytes {
		out = append(out, fault{"limits.upload_burst_bytes", "it must be at least " + strconv.Itoa(api.MaxBodyBytes) + ", the largest body"})
	}
	if l.SearchIndexBytes < minSearchIndex {
		out = append(out, fault{"limits.search_index_bytes", "it must be at least " + strconv.Itoa(minSearchIndex)})
	}
	return out
}

// minSearchIndex is room for the index of some forty notes of 4 KB, in bytes.
const minSearchIndex = 1 << 20

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
