// Plimsoll tells why a database's writes stall, from what one already has: MongoDB's
// diagnostic.data, iostat logs, exporters' metrics, fio's JSON, a Prometheus server.
//
//	plimsoll diagnose /var/lib/mongodb/diagnostic.data iostat.log
//	plimsoll record host http://localhost:9216/metrics --for 10m --out incident
//	plimsoll diagnose incident
//	plimsoll rules show disk/iops-capped
//
// Each verb is one file of this package: an options struct that adds its flags, checks them and
// runs. What the process has (arguments, environment, streams, terminal) comes in one
// struct, so that a test can give its own; errors are returned, and printed once.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // --tz knows its zones on machines without a zone database, as containers are
)

func main() { os.Exit(runProcess()) }

// runProcess runs the program with what the process was given, and gives its exit code. The
// first SIGINT or SIGTERM ends the work cleanly; the second one ends the process.
func runProcess() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return newApp().run(ctx)
}
