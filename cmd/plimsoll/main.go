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
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // --tz works on machines without a zone database, such as containers
)

func main() { os.Exit(runProcess()) }

// runProcess runs the program in the process's environment and returns its exit code. The first
// SIGINT or SIGTERM ends the work cleanly, the second ends the process.
func runProcess() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return newApp().run(ctx)
}
