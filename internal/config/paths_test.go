package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

func TestPaths(t *testing.T) {
	tests := []struct {
		name string
		goos string
		env  map[string]string
		want config.Paths
	}{
		{"home alone", "linux", map[string]string{"HOME": "/home/ada"}, config.Paths{
			ConfigFile: "/home/ada/.config/teammemd/config.toml", ConfigDir: "/home/ada/.config/teammemd",
			StateDir: "/home/ada/.local/state/teammemd", DataDir: "/home/ada/.local/share/teammemd", RuntimeDir: "/home/ada/.local/state/teammemd/run",
		}},
		{"all of XDG, no home", "linux", map[string]string{
			"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_DATA_HOME": "/d", "XDG_RUNTIME_DIR": "/run/user/7",
		}, config.Paths{
			ConfigFile: "/c/teammemd/config.toml", ConfigDir: "/c/teammemd", StateDir: "/s/teammemd", DataDir: "/d/teammemd", RuntimeDir: "/run/user/7/teammemd",
		}},
		{"relative values are ignored", "darwin", map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "c", "XDG_RUNTIME_DIR": "r"}, config.Paths{
			ConfigFile: "/h/.config/teammemd/config.toml", ConfigDir: "/h/.config/teammemd",
			StateDir: "/h/.local/state/teammemd", DataDir: "/h/.local/share/teammemd", RuntimeDir: "/h/.local/state/teammemd/run",
		}},
		{"ours", "linux", map[string]string{"HOME": "/h", "TEAMMEMD_CONFIG": "/etc/tm/mine.toml", "TEAMMEMD_STATE_DIR": "/var/tm"}, config.Paths{
			ConfigFile: "/etc/tm/mine.toml", ConfigDir: "/etc/tm", StateDir: "/var/tm", DataDir: "/h/.local/share/teammemd", RuntimeDir: "/var/tm/run",
		}},
		{"windows", "windows", map[string]string{"USERPROFILE": "/u", "APPDATA": "/u/roaming", "LOCALAPPDATA": "/u/local"}, config.Paths{
			ConfigFile: "/u/roaming/teammemd/config.toml", ConfigDir: "/u/roaming/teammemd", StateDir: "/u/local/teammemd", DataDir: "/u/local/teammemd", RuntimeDir: "/u/local/teammemd/run",
		}},
	}
	for _, tt := range tests {
		got, err := config.PathsFor(tt.goos, env(tt.env))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		for _, p := range []*string{&got.ConfigFile, &got.ConfigDir, &got.StateDir, &got.DataDir, &got.RuntimeDir} {
			*p = filepath.ToSlash(*p)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestPathsWithoutAHome(t *testing.T) {
	for _, vars := range []map[string]string{nil, {"HOME": "relative"}, {"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"}} {
		if _, err := config.FindPaths(env(vars)); !errors.Is(err, api.ErrConfig) || !strings.Contains(err.Error(), "set HOME") {
			t.Errorf("%v: got %v", vars, err)
		}
	}
}

func TestSocketsOfTwoStatesDiffer(t *testing.T) {
	find := func(state string) config.Paths {
		p, err := config.FindPaths(env(map[string]string{"HOME": "/h", "XDG_RUNTIME_DIR": "/r", "TEAMMEMD_STATE_DIR": state}))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b := find("/a"), find("/b")
	if a.Socket() == b.Socket() || a.Socket() != find("/a").Socket() || filepath.Dir(a.Socket()) != a.RuntimeDir {
		t.Errorf("sockets: %s and %s", a.Socket(), b.Socket())
	}
}
