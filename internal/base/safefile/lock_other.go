//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package safefile

import "os"

const renamesOpen = false

// tryLock reports that there are no locks on this system.
func tryLock(*os.File) (ok, held bool) { return false, false }
