package main

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// separate gives a child a process group of its own and no console, so that it
// outlives the terminal.
func separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}
