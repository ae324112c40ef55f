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

// reloadOnHangup treats SIGHUP as Prometheus and its exporters do: as a request to reload the
// configuration. The web configuration is read for each connection anyway, so it is only checked,
// which shows after a rotation whether the certificates can be read. The same signal also means
// that a terminal hung up; then end ends the watch as Ctrl-C does. Nothing happens after the
// context has ended.
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
			log.Info("the terminal has closed: watching ends; run it as a service, or with setsid and its output in a file")
			end()
			return
		}

		if err := server.Check(); err != nil {
			log.Error("the web configuration is not valid; serving continues where possible", "error", err)
			continue
		}

		log.Info("SIGHUP: the web configuration is valid and is read for each connection; sources and flags change only on restart")
	}
}
