//go:build !unix

package top

import "github.com/gdamore/tcell/v3"

// suspend does nothing, because this system has no job control.
func suspend(tcell.Screen) {}
