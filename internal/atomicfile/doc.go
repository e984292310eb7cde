// Package atomicfile replaces files so that a crash leaves the old content or
// the new one, never a mixture, and moves names in the ways that package os
// lacks: exchange of two names, rename without replacing.
//
// It promises durability where it says so, on file systems that honour fsync.
// It knows nothing of memories, and takes no locks.
//
//	err := atomicfile.WriteFile(path, data, 0o600) // durable when nil
package atomicfile
