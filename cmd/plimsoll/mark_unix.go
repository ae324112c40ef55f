//go:build unix

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// holdUserSignal keeps a SIGUSR1 from ending the process before a handler is installed.
func holdUserSignal() { signal.Ignore(syscall.SIGUSR1) }

// onUserSignal calls f for each SIGUSR1 until the context ends.
func onUserSignal(ctx context.Context, f func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	defer signal.Stop(signals)
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			f()
		}
	}
}
