//go:build unix

package top

import (
	"os"
	"syscall"

	"github.com/gdamore/tcell/v3"
)

// suspend gives the terminal back and stops the process, as Ctrl-Z does; it goes on with fg.
func suspend(t tcell.Screen) {
	if t.Suspend() != nil {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGTSTP) // it goes on with SIGCONT
	_ = t.Resume()                                 // without a terminal the next event says so
}
