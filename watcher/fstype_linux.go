package watcher

import "golang.org/x/sys/unix"

// filesPerWatch is no bound: inotify watches directories.
const filesPerWatch = 0

// fileSystems by the magic number of statfs(2).
var fileSystems = map[uint32]struct {
	name    string
	support support
}{
	unix.NFS_SUPER_MAGIC:       {"nfs", noEvents},
	unix.SMB_SUPER_MAGIC:       {"smb", noEvents},
	unix.SMB2_SUPER_MAGIC:      {"smb", noEvents},
	unix.CIFS_SUPER_MAGIC:      {"cifs", noEvents},
	unix.FUSE_SUPER_MAGIC:      {"fuse", noEvents},
	unix.V9FS_MAGIC:            {"9p", noEvents},
	unix.AFS_FS_MAGIC:          {"afs", noEvents},
	unix.AFS_SUPER_MAGIC:       {"afs", noEvents},
	unix.CODA_SUPER_MAGIC:      {"coda", noEvents},
	unix.CEPH_SUPER_MAGIC:      {"ceph", noEvents},
	0x786f4256:                 {"vboxsf", noEvents}, // fs/vboxsf/super.c
	0x0bd00bd0:                 {"lustre", noEvents},
	0x47504653:                 {"gpfs", noEvents},
	unix.OVERLAYFS_SUPER_MAGIC: {"overlay", someEvents},
}

// eventSupport returns the file system's name and what it delivers. One that
// cannot be asked is taken for a usual one.
func eventSupport(dir string) (string, support) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", fullEvents
	}
	found := fileSystems[uint32(st.Type)]
	return found.name, found.support
}
