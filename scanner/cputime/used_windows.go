package cputime

import (
	"syscall"
	"time"
)

func used() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var made, ended, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &made, &ended, &kernel, &user); err != nil {
		return 0
	}
	return span(kernel) + span(user)
}

// span reads a count of 100 ns. Filetime.Nanoseconds is for points in time.
func span(t syscall.Filetime) time.Duration {
	return time.Duration(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) * 100
}
