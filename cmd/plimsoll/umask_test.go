//go:build unix

package main

import "testing"

// Files are never world-writable and always readable by their owner; group write permission follows
// the umask.
func TestRestrictUmask(t *testing.T) {
	for umask, want := range map[int]int{0: 0o022, 0o002: 0o002, 0o022: 0o022, 0o077: 0o077, 0o777: 0o077, 0o300: 0o022, 0o020: 0o022} {
		if got := restricted(umask); got != want {
			t.Errorf("umask %04o becomes %04o, want %04o", umask, got, want)
		}
	}
}
