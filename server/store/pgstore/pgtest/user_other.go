//go:build !unix

package pgtest

import "syscall"

// runAs skips: the tests need unix sockets and a shell.
func runAs() (as *syscall.SysProcAttr, uid, gid int, err error) { return nil, 0, 0, errMissing }
