//go:build !unix

package gitrepo

const nonblock = 0

const systemConfig = `C:\Program Files\Git\etc\gitconfig`
