//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package safefile

import "os"

const renamesOpen = false

// tryLock has no locks to use here.
func tryLock(*os.File) (ok, held bool) { return false, false }
