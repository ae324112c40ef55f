//go:build unix

package recording

import "syscall"

// openNoFollow refuses a symbolic link, and does not wait for the other end of a pipe.
const openNoFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
