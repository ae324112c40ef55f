// Plimsoll explains why a database's writes stall, from data that already exists: MongoDB's
// diagnostic.data, iostat logs, exporters' metrics, fio's JSON, a Prometheus server.
//
//	plimsoll diagnose /var/lib/mongodb/diagnostic.data iostat.log
//	plimsoll record host http://localhost:9216/metrics --for 10m --out incident
//	plimsoll diagnose incident
//	plimsoll rules show disk/iops-capped
//
// Each verb is one file of this package: an options struct that adds its flags, checks them and
// runs. One struct holds the process's environment (arguments, variables, streams, terminal), so
// that a test can replace it. Errors are returned, and printed once.
package main

import (
	"context"
	"io"
	"log" //nolint:depguard // to silence what the standard library writes there
	"os"
	"os/signal"
	"slices"
	"syscall"
	_ "time/tzdata" // --tz works on machines without a zone database, such as containers

	"plimsoll/internal/base/spare"
)

func main() { os.Exit(runProcess()) }

// runProcess runs the program in the process's environment and returns its exit code. The first
// SIGINT, SIGTERM or SIGHUP ends the work cleanly, the second ends the process. (watch has its own
// way with SIGHUP, and nohup's wish is respected.)
func runProcess() int {
	restrictUmask()
	// net/http quotes there what a server sends unasked. What matters comes back as an error, and a
	// server of ours has a log of its own.
	log.SetOutput(io.Discard)
	a := newApp()
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if a.runs("watch", "record") {
		holdUserSignal()
		spare.Release()
	}
	if !a.runs("watch") && !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop)
	return a.run(ctx)
}

// runs reports whether the command is one of these: watch takes SIGHUP as a request to reload, and
// like record SIGUSR1 as a mark.
func (a *app) runs(verbs ...string) bool {
	c, _, err := newRootCommand(a).Find(a.args)
	return err == nil && slices.Contains(verbs, c.Name())
}
