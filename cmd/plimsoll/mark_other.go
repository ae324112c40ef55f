//go:build !unix

package main

import "context"

func holdUserSignal() {}

// onUserSignal does nothing: this system has no SIGUSR1.
func onUserSignal(context.Context, func()) {}
