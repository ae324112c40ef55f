//go:build unix

package top

import (
	"os"
	"syscall"

	"github.com/gdamore/tcell/v3"
)

// suspend restores the terminal and stops the process, like Ctrl-Z; fg resumes it.
func suspend(t tcell.Screen) {
	if t.Suspend() != nil {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGTSTP) // SIGCONT resumes it
	_ = t.Resume()                                 // if the terminal is gone, the next event reports it
}
