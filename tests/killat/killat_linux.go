package memdir_test

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// changing are the system calls that change what is on the disk. Between two of
// them nothing does: a death before each, and one after the last, is a death at
// every point that can make a difference.
var changing = map[uint64]bool{
	unix.SYS_WRITE: true, unix.SYS_PWRITE64: true, unix.SYS_FTRUNCATE: true, unix.SYS_FSYNC: true, unix.SYS_FDATASYNC: true,
	unix.SYS_RENAMEAT: true, unix.SYS_RENAMEAT2: true, unix.SYS_LINKAT: true, unix.SYS_UNLINKAT: true, unix.SYS_MKDIRAT: true,
	unix.SYS_FCHMOD: true, unix.SYS_FCHMODAT: true, unix.SYS_UTIMENSAT: true, unix.SYS_FLOCK: true, unix.SYS_EXIT_GROUP: true,
}

// syscallInfo is what the kernel tells a tracer about a stop, for an entry
// (struct ptrace_syscall_info).
type syscallInfo struct {
	op   uint8
	_    [3]uint8
	_    uint32 // architecture
	_    uint64 // instruction pointer
	_    uint64 // stack pointer
	nr   uint64
	args [6]uint64
}

// entering returns the call that a stopped thread is about to make, false at its
// way out of one.
func entering(tid int) (nr uint64, args [6]uint64, ok bool) {
	var info syscallInfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	return info.nr, info.args, errno == 0 && info.op == unix.PTRACE_SYSCALL_INFO_ENTRY
}

// runKilled runs this program with args and env, and kills it before the nth
// system call, counted over all of its threads, that changes something; every
// counts all calls. It reports false when the program got to its end first.
func runKilled(t *testing.T, n int, every bool, env []string, args ...string) (killed bool) {
	t.Helper()
	runtime.LockOSThread() // the thread that starts a program is the one that may trace it
	defer runtime.UnlockOSThread()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	child, err := os.StartProcess(os.Args[0], append(os.Args[:1:1], args...), &os.ProcAttr{
		Env: env, Files: []*os.File{null, null, null}, Sys: &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		t.Skipf("SKIP: a program cannot be traced here: %v", err)
	}
	defer func() { _ = child.Release() }()
	var status unix.WaitStatus
	if _, err := unix.Wait4(child.Pid, &status, 0, nil); err != nil || !status.Stopped() {
		t.Fatalf("waiting for the traced program: %v, %v", status, err)
	}
	if err := unix.PtraceSetOptions(child.Pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for tid := child.Pid; ; {
		pass := 0
		switch stop := status.StopSignal(); {
		case stop == unix.SIGTRAP|0x80:
			nr, args, ok := entering(tid)
			creates := nr == unix.SYS_OPENAT && args[2]&(unix.O_CREAT|unix.O_TRUNC) != 0
			if !ok || !every && !changing[nr] && !creates {
				break
			}
			if seen++; seen == n {
				killed = true
				_ = unix.Kill(child.Pid, unix.SIGKILL)
			}
		case stop != unix.SIGTRAP && stop != unix.SIGSTOP: // neither a new thread nor the start of the program
			pass = int(stop)
		}
		// A thread may be dead by now.
		_ = unix.PtraceSyscall(tid, pass)
		if tid, err = wait4(&status); err != nil {
			t.Fatal(err)
		}
		for !status.Stopped() {
			if tid == child.Pid {
				return killed
			}
			if tid, err = wait4(&status); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// wait4 waits for any thread of the traced program.
func wait4(status *unix.WaitStatus) (int, error) {
	for {
		tid, err := unix.Wait4(-1, status, unix.WALL, nil)
		if !errors.Is(err, unix.EINTR) {
			return tid, err
		}
	}
}
