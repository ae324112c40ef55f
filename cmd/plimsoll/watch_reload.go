package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"plimsoll/internal/watch"
)

// reloadOnHangup takes SIGHUP as Prometheus and its exporters do: configuration is to be read anew. That of what is served is read for each connection
// anyway, so it is only checked: who rotates certificates is told whether they can be read. Where a terminal has been hung up,
// for the same signal says that too, end ends the watching as Ctrl-C does. Nothing is done after the context.
func reloadOnHangup(ctx context.Context, server *watch.Server, log *slog.Logger, end func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	atTerminal := term.IsTerminal(int(os.Stdin.Fd())) || term.IsTerminal(int(os.Stderr.Fd()))
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		if atTerminal {
			log.Info("the terminal has gone: watching ends; run it as a service, or with setsid and its output in a file")
			end()
			return
		}
		if err := server.Check(); err != nil {
			log.Error("what is served goes on as it can, but not with this configuration", "error", err)
			continue
		}
		log.Info("SIGHUP: the web configuration is read for each connection, and can be; sources and flags stay as they are until a restart")
	}
}
