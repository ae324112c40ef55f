//go:build unix

package main

import "syscall"

// restrictUmask ensures that no other user can write to the files that this process makes, and that
// the process can read them itself, whatever umask it inherited.
func restrictUmask() { syscall.Umask(restricted(syscall.Umask(0o777))) }

// restricted is a umask that keeps the owner's permissions. A umask that gives everyone write
// permission is treated as unset.
func restricted(umask int) int {
	if umask&0o002 == 0 {
		umask |= 0o022
	}
	return umask &^ 0o700
}
