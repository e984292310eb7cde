//go:build unix

package pgtest

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// runAs says as whom servers run, in a process group of their own so that an
// interrupted test tidies up in order. uid is -1 for this user.
func runAs() (as *syscall.SysProcAttr, uid, gid int, err error) {
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{Setpgid: true}, -1, -1, nil
	}
	postgres, err := user.Lookup("postgres")
	if err != nil {
		return nil, 0, 0, errNoUser
	}
	uid, err = strconv.Atoi(postgres.Uid)
	if err != nil {
		return nil, 0, 0, err
	}
	gid, err = strconv.Atoi(postgres.Gid)
	if err != nil {
		return nil, 0, 0, err
	}
	return &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, uid, gid, nil
}
