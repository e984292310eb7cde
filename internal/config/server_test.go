package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

// TestServerFaults sets one key wrong at a time, and then within its bounds.
func TestServerFaults(t *testing.T) {
	tests := []struct{ text, want string }{
		{`metrics_listen = "9787"`, "host:port"},
		{`metrics_listen = "127.0.0.1:70000"`, "from 0 to 65535"},
		{`metrics_listen = "0.0.0.0:9787"`, "metrics_beyond_loopback"},
		{`metrics_listen = ":9787"`, "metrics_beyond_loopback"},
		{`metrics_listen = "127.0.0.1:8787"`, "a port of their own"},
		{`metrics_listen = "127.0.0.1:9787"`, ""},
		{`metrics_listen = "127.0.0.1:0"`, ""},
		{"metrics_listen = \"0.0.0.0:9787\"\nmetrics_beyond_loopback = true", ""},
		{`access_log = "on"`, "true or false"},
		{`access_log = true`, ""},
		{`drain_delay = "-1s"`, "from 0s to 1m"},
		{`drain_delay = "61s"`, "from 0s to 1m"},
		{`drain_delay = "1m"`, ""},
		{"[limits]\nstreams = -1", "at least 1"},
		{"[limits]\nsearch_index_bytes = 1000", "at least 1048576"},
		{"[retention]\nmax_age_days = -1", "at least 0"},
		{"[retention]\nkeep_versions = -1", "at least 0"},
		{"[retention]\nmax_age_days = 365\nkeep_versions = 10", ""},
		{"[limits]\nupload_bytes_per_second = -2", "-1 for no limit"},
		{"[limits]\nupload_bytes_per_second = -1", ""},
		{"[limits]\nupload_burst_bytes = 1000", "the largest body"},
		{"[limits]\nupload_burst_bytes = 2097152", ""},
	}
	for _, tt := range tests {
		file := write(t, filepath.Join(t.TempDir(), "s.toml"), tt.text)
		_, err := config.LoadServer(config.Input{File: file, Required: true})
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.text, err)
		case tt.want != "" && (!errors.Is(err, api.ErrConfig) || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want one with %q", tt.text, err, tt.want)
		}
	}
}
