package killat

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrNoTrace says that a program cannot be traced here.
var ErrNoTrace = errors.New("a program cannot be traced here")

// Program is what is run and killed. It has no input, and its output goes nowhere.
type Program struct {
	Path string
	Args []string // without the name of the program
	Env  []string
	Dir  string // "" for the current directory
	// Every counts all system calls. Without it only those count that change what
	// is on the disk: between two of them nothing does.
	Every bool
}

// End is how a run ended.
type End struct {
	Killed bool   // before the call; false when the program got to its end first
	Call   string // the call that was not made, "" for none or one without a name
	Calls  int    // how many counted
	Code   int    // the exit code of a program that got to its end
}

// changing are the system calls that change what is on the disk, or end the
// program: a death before each is one at every point that can make a difference.
// openat does with some flags, and write to what is no signal between threads.
var changing = map[uint64]string{
	unix.SYS_WRITE: "write", unix.SYS_PWRITE64: "pwrite64", unix.SYS_FTRUNCATE: "ftruncate", unix.SYS_FSYNC: "fsync",
	unix.SYS_FDATASYNC: "fdatasync", unix.SYS_RENAMEAT: "renameat", unix.SYS_RENAMEAT2: "renameat2", unix.SYS_LINKAT: "linkat",
	unix.SYS_UNLINKAT: "unlinkat", unix.SYS_MKDIRAT: "mkdirat", unix.SYS_FCHMOD: "fchmod", unix.SYS_FCHMODAT: "fchmodat",
	unix.SYS_UTIMENSAT: "utimensat", unix.SYS_FLOCK: "flock", unix.SYS_EXIT_GROUP: "exit_group",
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

// counts returns the name of the call that a stopped thread is about to make, and
// whether it is one of those that count.
func (p Program) counts(tid int) (name string, ok bool) {
	nr, args, ok := entering(tid)
	name, counts := changing[nr]
	switch nr {
	case unix.SYS_OPENAT:
		name, counts = "openat", args[2]&(unix.O_CREAT|unix.O_TRUNC) != 0
	case unix.SYS_WRITE:
		counts = !wakes(tid, args[0])
	}
	return name, ok && (counts || p.Every)
}

// wakes reports whether a descriptor is one by which the threads of a program wake
// each other, as often as it happens: such writes change nothing.
func wakes(tid int, fd uint64) bool {
	to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, fd))
	return err == nil && (strings.HasPrefix(to, "anon_inode:") || strings.HasPrefix(to, "pipe:"))
}

// Before runs a program and kills it before the nth system call that counts, from
// 1 on; 0 lets it run to its end. Any number may run at a time.
func (p Program) Before(n int) (End, error) {
	runtime.LockOSThread() // the thread that starts a program is the one that may trace it
	defer runtime.UnlockOSThread()
	child, err := p.start()
	if err != nil {
		return End{}, err
	}
	defer func() { _ = child.Release() }()
	var status unix.WaitStatus
	if _, err := wait4(child.Pid, &status); err != nil || !status.Stopped() {
		return End{}, fmt.Errorf("waiting for the traced program: status %#x, %w", status, err)
	}
	if err := unix.PtraceSetOptions(child.Pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		_ = child.Kill()
		return End{}, fmt.Errorf("%w: %w", ErrNoTrace, err)
	}
	var end End
	for tid := child.Pid; ; {
		pass := 0
		switch stop := status.StopSignal(); {
		case stop == unix.SIGTRAP|0x80:
			name, ok := p.counts(tid)
			if !ok || end.Killed {
				break
			}
			if end.Calls++; end.Calls == n {
				end.Killed, end.Call = true, name
				_ = unix.Kill(child.Pid, unix.SIGKILL)
			}
		case stop != unix.SIGTRAP && stop != unix.SIGSTOP: // neither a new thread nor the start of the program
			pass = int(stop)
		}
		_ = unix.PtraceSyscall(tid, pass) // a thread may be dead by now
		if tid, err = wait4(-child.Pid, &status); err != nil {
			return end, fmt.Errorf("tracing: %w", err)
		}
		for !status.Stopped() {
			if tid == child.Pid {
				end.Code = status.ExitStatus()
				return end, nil
			}
			if tid, err = wait4(-child.Pid, &status); err != nil {
				return end, fmt.Errorf("tracing: %w", err)
			}
		}
	}
}

// start starts the program, stopped.
func (p Program) start() (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	child, err := os.StartProcess(p.Path, append([]string{p.Path}, p.Args...), &os.ProcAttr{
		Dir: p.Dir, Env: p.Env, Files: []*os.File{null, null, null}, Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTrace, err)
	}
	return child, nil
}

// wait4 waits for a thread, any of a process group for a negative number. Nobody
// else's children may be waited for, not even those that this thread started when
// it had other work: hence the group.
func wait4(pid int, status *unix.WaitStatus) (int, error) {
	for {
		tid, err := unix.Wait4(pid, status, unix.WALL|unix.WNOTHREAD, nil)
		if !errors.Is(err, unix.EINTR) {
			return tid, err
		}
	}
}
