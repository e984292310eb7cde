//go:build unix

package gitrepo

import "syscall"

// nonblock keeps an open of a planted FIFO from waiting for a writer.
const nonblock = syscall.O_NONBLOCK

const systemConfig = "/etc/gitconfig"
