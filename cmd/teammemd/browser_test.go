package main

import "testing"

func TestBrowserIsOpenedWhereItIsSeen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		what, goos string
		uid        int
		env        map[string]string
		want       bool
	}{
		{"a desktop", "linux", 1000, map[string]string{"DISPLAY": ":0"}, true},
		{"another desktop", "linux", 1000, map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, true},
		{"a server", "linux", 1000, nil, false},
		{"SSH without a display", "linux", 1000, map[string]string{"SSH_CONNECTION": "a"}, false},
		{"SSH with one", "linux", 1000, map[string]string{"SSH_CONNECTION": "a", "DISPLAY": "localhost:10.0"}, true},
		{"root", "linux", 0, map[string]string{"DISPLAY": ":0"}, false},
		{"a Mac", "darwin", 501, nil, true},
		{"a Mac over SSH", "darwin", 501, map[string]string{"SSH_CONNECTION": "a"}, false},
		{"root on a Mac", "darwin", 0, nil, false},
		{"Windows", "windows", -1, nil, true},
		{"Windows over SSH", "windows", -1, map[string]string{"SSH_CONNECTION": "a"}, false},
	}
	for _, tt := range tests {
		if got := browserLikely(tt.goos, tt.uid, func(name string) string { return tt.env[name] }); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, got, tt.want)
		}
	}
}
