package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
)

// mayOpenBrowser reports whether a person sits before a browser on this machine.
func (a *app) mayOpenBrowser() bool {
	return isTerminal(a.in) && isTerminal(a.err) && browserLikely(runtime.GOOS, os.Geteuid(), a.getenv)
}

// browserLikely reports whether a browser that is opened here would be seen: not
// as root, whose browser it would be, and not without a display, as over SSH.
func browserLikely(goos string, uid int, getenv func(string) string) bool {
	switch {
	case uid == 0:
		return false
	case goos == "windows":
		return getenv("SSH_CONNECTION") == ""
	case goos == "darwin":
		return getenv("SSH_CONNECTION") == "" && getenv("SSH_TTY") == ""
	}
	return getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != ""
}

// openBrowser shows an address, which was checked to be of http or https. It is a
// courtesy: that it failed is not said, the address is on the terminal.
func openBrowser(address string) {
	var cmd *exec.Cmd
	ctx := context.Background() // it outlives the verb
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.CommandContext(ctx, "open", address)
	case "windows":
		cmd = exec.CommandContext(ctx, "rundll32", "url.dll,FileProtocolHandler", address)
	default:
		cmd = exec.CommandContext(ctx, "xdg-open", address)
	}
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
