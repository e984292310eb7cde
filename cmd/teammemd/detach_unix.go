//go:build !windows

package main

import (
	"os/exec"
	"syscall"
)

// separate gives a child a session of its own, so that it outlives the terminal.
func separate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
