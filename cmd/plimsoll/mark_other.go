//go:build !unix

package main

import "context"

// onUserSignal does nothing: this system has no SIGUSR1.
func onUserSignal(context.Context, func()) {}
