//go:build linux

package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/lab/loadgen"
	"plimsoll/internal/lab/mount"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/record/source"
)

// closing is how long an engine may take to shut down, on volumes that are no longer slowed down.
const closing = 60 * time.Second

// An experiment is a run in progress.
type experiment struct {
	sc     *scenario.Scenario
	opt    *Options
	server lab.Server
	m      *machines
	kernel *mount.Settings
	unlock func() // allows other runs to start
	load   *loadgen.Generator
	watch  *watcher
	record *recorder // nil: nothing is recorded

	from, end vtime.Instant

	started bool       // the server was started
	one     sync.Mutex // serializes calls of the server's methods
	cycles  []lab.Cycle
	lab     Lab
	power   *PowerLoss
}

// Run runs a scenario in the lab. It leaves nothing behind, whether it succeeds, fails or is
// cancelled. While it runs, the program has more threads than there are CPUs, and a higher priority
// while it sends operations.
func Run(ctx context.Context, sc *scenario.Scenario, opt Options) (*Result, error) {
	fail := func(err error) (*Result, error) { return nil, fmt.Errorf("cannot run %s: %w", sc.Name, err) }
	if sc.Workloads() == nil {
		return fail(errors.New("the scenario was not created by Parse or Load"))
	}

	if opt.Server == nil {
		opt.Server = func(sc *scenario.Scenario) (lab.Server, error) { return newServer(opt.Engines, sc) }
	}

	server, err := opt.Server(sc)
	if err != nil {
		return fail(err)
	}

	x := &experiment{sc: sc, opt: &opt, server: server, from: vtime.At(sc.Run.Warmup.Std())}
	x.end = x.from.Add(sc.Run.Duration.Std())
	out, err := x.run(ctx)
	if err != nil {
		return fail(err)
	}

	if opt.Model {
		opt.report(Progress{Phase: "simulating the scenario"})
		if out.Model, err = simulate.Run(ctx, sc, simulate.Options{}); err != nil {
			return fail(err)
		}
	}

	return out, nil
}

func (o *Options) report(p Progress) {
	if o.Progress != nil {
		o.Progress(p)
	}
}

func (o *Options) log(line string) {
	if o.Log != nil {
		o.Log(line)
	}
}

// run performs the run and undoes its changes.
func (x *experiment) run(ctx context.Context) (out *Result, err error) {
	defer processors()()
	sleep := func() {}
	if x.opt.Existing == nil {
		sleep, err = awake() // before mounting, because mounting measures the path to the volumes
		x.lab.Awake = err == nil
	}

	defer sleep()
	defer func() {
		if e := x.close(ctx); err == nil {
			err = e
		} else if e != nil {
			x.opt.log(e.Error()) // the first error is the one returned
		}
	}()

	if err := x.prepare(ctx); err != nil {
		return nil, err
	}

	x.load = loadgen.New(loadgen.Config{
		Server: x.server, Workload: x.sc.Workloads(), Seed: x.sc.Seed, From: x.from, End: x.end,
		Remember: x.opt.PowerLoss > 0,
	})

	if x.opt.Record != nil {
		x.record = newRecorder(x.opt.Record, x.m.lab.Devices)
		x.record.existing = x.opt.Existing
	}

	x.watch = newWatcher(x.m, x.load, x.from, x.end)
	x.watch.record = x.record
	if err := x.drive(ctx); err != nil {
		return nil, err
	}

	return x.result(ctx)
}

// prepare mounts the volumes, starts the engine and loads the documents.
func (x *experiment) prepare(ctx context.Context) (err error) {
	if x.opt.Existing != nil {
		return x.prepareExisting(ctx)
	}

	if err := blockdev.Available(); err != nil {
		return err
	}

	if err := x.fits(); err != nil {
		return err
	}

	// Concurrent runs would compete for the CPUs and change the same kernel settings.
	x.unlock, err = mount.Lock(ctx, "lab-run",
		func() { x.opt.report(Progress{Phase: "waiting for another run on this machine"}) })
	if err != nil {
		return err
	}

	x.opt.report(Progress{Phase: "mounting volumes"})
	if x.m, err = mountAll(ctx, x.sc, x.opt); err != nil {
		return err
	}

	// Loading is not measured, so it need not be as slow as on the real volume.
	if err := x.m.pace(ctx, false); err != nil {
		return err
	}

	x.opt.report(Progress{Phase: "starting " + x.sc.Engine.Name()})
	x.started = true
	err = x.server.Start(ctx, &x.m.lab, func(what string, done, total int64) {
		x.opt.report(Progress{Phase: what, Done: done, Total: total})
	})
	if err != nil {
		return x.explainFull(ctx, err)
	}

	// Pages that loading left dirty would otherwise be written back during the measurement.
	x.opt.report(Progress{Phase: "flushing the page cache"})
	if err := x.m.sync(); err != nil {
		return err
	}

	// The limits are set only now, so that they do not slow down loading.
	x.lab.Settings = settings(&x.sc.Host)
	if x.kernel, err = mount.SetSysctl(x.lab.Settings); err != nil {
		// /proc/sys is read-only in some containers.
		x.remark("the kernel's write-back limits are this machine's instead of the scenario's: %v", err)
		x.lab.Settings = map[string]string{}
	}

	return x.m.pace(ctx, true)
}

func (x *experiment) remark(format string, args ...any) {
	x.lab.Remarks = append(x.lab.Remarks, fmt.Sprintf(format, args...))
}

// close undoes everything, even if the context has ended.
func (x *experiment) close(ctx context.Context) error {
	x.opt.report(Progress{Phase: "shutting down"})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	var errs []error

	if x.m != nil {
		errs = append(errs, x.m.pace(ctx, false)) // write back without delay
	}

	// The engine needs its volumes to shut down, and the lock is released last: until then no other
	// run may change the kernel's settings.
	if x.started {
		errs = append(errs, x.server.Stop(ctx))
	}

	if x.m != nil {
		errs = append(errs, x.m.close(ctx))
	}

	errs = append(errs, x.kernel.Restore())
	if x.unlock != nil {
		x.unlock()
	}

	return errors.Join(errs...)
}

// drive sends the workload, with the power losses in between.
func (x *experiment) drive(ctx context.Context) error {
	ends := append(x.cuts(), x.end)
	for i, until := range ends {
		driving, cancel := context.WithCancel(ctx)
		stop := x.watchUntil(ctx, cancel)
		var ended func() error

		if i < len(ends)-1 {
			ended = func() error { return x.cut(ctx, i) }
		}

		// Only while operations are sent: the engine, started before or after, must run at normal
		// priority.
		prioritize(clientNice)
		err := x.load.Run(driving, until, ended)
		prioritize(programNice) // a restarted engine must have normal priority
		watched := stop()
		cancel()

		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case watched != nil: // it cancelled the load, so err is only a consequence
			return watched
		case err != nil:
			return err
		}

		if ended == nil {
			return x.checkpoints(ctx)
		}

		again, err := x.recover(ctx, i)
		if err != nil {
			return err
		}

		if !again {
			x.end = until
			return nil
		}
	}

	return nil
}

// watchUntil watches the run until stop is called. If watching fails, it cancels the run.
func (x *experiment) watchUntil(ctx context.Context, cancel context.CancelFunc) (stop func() error) {
	done := make(chan struct{})
	gone := make(chan error, 1)
	go func() {
		err := x.watching(ctx, done)
		if err != nil {
			cancel()
		}
		gone <- err
	}()
	return func() error { close(done); return <-gone }
}

// cyclesEvery is the number of seconds between queries for checkpoints.
const cyclesEvery = 5

func (x *experiment) watching(ctx context.Context, done <-chan struct{}) error {
	measured := false
	stop := func() {}
	defer func() { stop() }()
	last, at := x.load.Totals(), time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()

	for round := 1; ; round++ {
		over := false
		select {
		case <-done:
			over = true
		case <-timer.C:
		}

		var totals loadgen.Totals
		var err error

		// Volumes and sources are sampled only in the measured time.
		if measured {
			totals, err = x.watch.sample(ctx)
		} else if totals = x.load.Totals(); totals.At >= x.from && !over {
			measured = true
			if err = x.watch.begin(ctx); err == nil && x.record != nil {
				stop = x.record.read(ctx, x.sources())
			}
		}

		// Stop reading the sources now. A power loss that follows would make them fail.
		if over || err != nil || ctx.Err() != nil {
			stop()
			stop = func() {}
			if measured && err == nil {
				x.watch.pause()
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}

		x.progress(totals, last, time.Since(at))
		last, at = totals, time.Now()
		if round%cyclesEvery == 0 {
			if err := x.checkpoints(ctx); err != nil {
				x.opt.log(err.Error())
			}
		}

		timer.Reset(x.pause(measured, totals.At))
	}
}

func (x *experiment) sources() []source.Source {
	x.one.Lock()
	defer x.one.Unlock()
	return x.server.Sources()
}

// pause returns the time until the next sample: whole seconds, and the beginning of the measured
// time.
func (x *experiment) pause(measured bool, at vtime.Instant) time.Duration {
	if left := x.from.Sub(at); !measured && left < time.Second {
		return max(left, 0)
	}
	return time.Second
}

func (x *experiment) progress(now, last loadgen.Totals, span time.Duration) {
	p := Progress{Phase: "measuring", Done: int64((now.At - x.from) / 1e9), Total: int64((x.end - x.from) / 1e9),
		Timed: true, P99: now.P99}
	if now.At < x.from {
		p.Phase, p.Done, p.Total = "warming up", int64(now.At/1e9), int64(x.from/1e9)
	}
	if span > 0 {
		p.Rate = units.Frequency(float64(now.Done-last.Done) / span.Seconds())
	}
	x.opt.report(p)
}

// checkpoints queries the checkpoints so far, and keeps earlier ones that a restarted engine may
// have forgotten.
func (x *experiment) checkpoints(ctx context.Context) error {
	x.one.Lock()
	defer x.one.Unlock()
	all, err := x.server.Cycles(ctx)
	if err != nil {
		return fmt.Errorf("cannot query checkpoints: %w", err)
	}

	for _, c := range all {
		// A checkpoint is identified by its start. One that was running at the last query may have ended.
		if i := slices.IndexFunc(x.cycles, func(o lab.Cycle) bool { return o.From.Equal(c.From) }); i >= 0 {
			x.cycles[i] = c
		} else {
			x.cycles = append(x.cycles, c)
		}
	}

	return nil
}
