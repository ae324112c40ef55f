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
	"errors"
	"io"
	"log" //nolint:depguard // to silence what the standard library writes there
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"
	"time"
	_ "time/tzdata" // --tz works on machines without a zone database, such as containers

	_ "early.internal"

	"plimsoll/internal/base/safefile"
	"plimsoll/internal/base/spare"
)

func main() { os.Exit(runProcess()) }

// runProcess runs the program in the process's environment and returns its exit code. The first
// SIGINT, SIGTERM or SIGHUP ends the work cleanly, the second ends the process. (watch reloads on
// SIGHUP, and a SIGHUP that nohup ignores stays ignored.)
func runProcess() int {
	if code, ran := withinAddressSpace(); ran {
		return code
	}

	restrictUmask()

	// net/http logs unsolicited responses of servers there, which is noise: what matters is returned as
	// an error. Plimsoll's own HTTP servers have a separate log.
	log.SetOutput(io.Discard)
	a := newApp()
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}

	// Until its handler is installed, SIGUSR1 would end the process.
	if a.runs("watch", "record") {
		holdUserSignal()
		spare.Release()
	}

	// The pages of a long simulation hold no pointers: collecting more often costs little time, and waiting
	// until the heap has doubled would cost a gigabyte.
	if a.runs("simulate") && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(simulationBytes)
	}

	if !a.runs("watch") && !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}

	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()

	// timeout(1) signals the process and then its group, so a second signal that follows immediately
	// does not end the process.
	context.AfterFunc(ctx, func() { time.AfterFunc(sameSignal, stop) })
	a.stdout.endWith(ctx)
	a.stderr.endWith(ctx)

	return a.runUntil(ctx)
}

// simulationBytes is the memory use above which a simulation collects garbage more often.
const simulationBytes = 800 << 20

// sameSignal is the time within which two signals count as one.
const sameSignal = 300 * time.Millisecond

// endWithin is how long a command may take to end after the first signal. A file or a device that blocks
// cannot be cancelled.
const endWithin = 1800 * time.Millisecond

// runUntil runs the command, and leaves it behind if a signal does not end it in time. Commands that undo
// what they changed on the machine, or that close a recording, end by themselves.
func (a *app) runUntil(ctx context.Context) int {
	ended := make(chan int, 1)
	go func() { ended <- a.run(ctx) }()

	select {
	case code := <-ended:
		return code
	case <-ctx.Done():
	}

	var late <-chan time.Time

	// These undo their changes to the machine, which must not be cut short.
	if !a.runs("lab", "rollout") {
		late = time.After(endWithin)
	}

	for {
		select {
		case code := <-ended:
			return code
		case <-late:
			if a.closing.Load() {
				late = nil
				continue
			}
			// Remove temporary files that the abandoned goroutine would have renamed or removed.
			safefile.Abandon()
			f := &failure{code: exitInterrupted, err: errors.New("interrupted")}
			f.print(a.stderr, wantsJSON(a.args), a.secrets)
			return f.code
		}
	}
}

// runs reports whether the command is one of these, or in one of these groups: watch treats SIGHUP as a
// request to reload and, like record, SIGUSR1 as a mark.
func (a *app) runs(verbs ...string) bool {
	c, _, err := newRootCommand(a).Find(a.args)
	for c != nil && c.HasParent() && c.Parent().HasParent() {
		c = c.Parent() // of "lab run", lab
	}
	return err == nil && c != nil && slices.Contains(verbs, c.Name())
}
