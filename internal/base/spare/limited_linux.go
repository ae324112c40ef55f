package spare

import "syscall"

// limited reports whether the address space is limited.
func limited() bool { //nolint:unused // reserve uses it
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit)
	return err == nil && limit.Cur != ^uint64(0) // RLIM_INFINITY
}
