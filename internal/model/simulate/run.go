package simulate

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
	"plimsoll/internal/record/recording"
)

// client breaks the cycle between engine and driver: each needs the other to be constructed.
type client struct{ *driver }

func (c *client) Done(now vtime.Instant, op *workload.Op, w *database.Waits) {
	c.driver.Done(now, op, w)
}

// Run simulates a scenario and returns its result. It ends early, with the context's error, when
// the context ends.
func Run(ctx context.Context, sc *scenario.Scenario, opt Options) (*Result, error) {
	fail := func(err error) (*Result, error) { return nil, fmt.Errorf("simulating %s: %w", sc.Name, err) }
	load := sc.Workloads()
	if load == nil {
		return fail(fmt.Errorf("the scenario was not made by Parse or Load"))
	}

	c := &client{}
	s, err := build(sc, load.Connections(), c)
	if err != nil {
		return fail(err)
	}

	// Only the time after the warm-up is measured.
	from := vtime.At(sc.Run.Warmup.Std())
	end := from.Add(sc.Run.Duration.Std())
	m := newMeter(from, end)
	m.cycles, m.drawn, m.watch = s.engine.Cycles, opt.Series, newWatch(opt.Wanted, from)
	c.driver = newDriver(load, s, m, load.Open(sc.Seed), load.Closed(sc.Seed), end)

	p, err := newSampler(s, m, load.Writes(), opt.Record)
	if err != nil {
		return fail(err)
	}

	c.start()
	if err := drive(ctx, s, m, p, from, end, opt.Progress); err != nil {
		return fail(err)
	}

	if err := p.flush(ctx); err != nil {
		return fail(err)
	}

	if opt.Record != nil {
		opt.Record.Source(origin(sc, p, from))
	}

	return summarise(sc, s, m, p, opt.Series), nil
}

const second = vtime.Instant(time.Second)

// drive advances virtual time, one second at a time.
func drive(ctx context.Context, sys *system, measured *meter, samples *sampler, from, end vtime.Instant,
	progress func(done, total time.Duration)) error {
	// Begin with the fraction of a second, so that the last step ends exactly at from.
	for at := from % second; at < from; at += second {
		sys.clock.Run(at)
		if err := ctx.Err(); err != nil {
			return err
		}
		report(progress, at, end)
	}

	sys.clock.Run(from)

	// The engine's own figures must not include the warm-up.
	if sys.reporting != nil {
		sys.reporting.Reset(sys.engine)
	}

	if err := samples.sample(ctx); err != nil {
		return err
	}

	for at := from; at < end; {
		at = min(at+second, end)
		sys.clock.Run(at)
		measured.classify()

		if err := ctx.Err(); err != nil {
			return err
		}

		// Check bounds every second: a search gives up on most candidates long before their runs
		// end.
		if measured.watch != nil {
			if missed := measured.watch.missed(sys, &measured.open, at, end); missed != nil {
				return missed
			}
		}

		if err := samples.sample(ctx); err != nil {
			return err
		}

		report(progress, at, end)
	}

	return nil
}

// report reports progress every ten seconds of virtual time.
func report(progress func(done, total time.Duration), at, end vtime.Instant) {
	if progress != nil && int64(at/second)%10 == 0 {
		progress(time.Duration(at), time.Duration(end))
	}
}

// origin describes where the recording comes from.
func origin(sc *scenario.Scenario, p *sampler, from vtime.Instant) recording.Source {
	facts := map[string]string{
		"seed":                    strconv.FormatUint(uint64(sc.Seed), 10),
		"engine_model":            sc.Engine.Name(),
		"cores":                   strconv.Itoa(sc.Host.Cores),
		"memory_bytes":            strconv.FormatInt(int64(sc.Host.Memory), 10),
		"vm_dirty_background":     sc.Host.DirtyBackground.Exact(),
		"vm_dirty_expire_seconds": strconv.FormatFloat(float64(sc.Host.DirtyExpire)/1e9, 'g', -1, 64),
	}

	if sc.Host.DirtyBackground == 0 { // the kernel then uses the ratio
		facts["vm_dirty_background"] = sc.Host.DirtyBackgroundRatio.String()
	}

	if sc.Host.Instance != "" {
		facts["instance_type"] = sc.Host.Instance
	}

	maps.Copy(facts, sc.DeviceFacts())
	if sc.Engine.SourceFacts != nil {
		maps.Copy(facts, sc.Engine.SourceFacts(sc.Engine.Config))
	}

	return recording.Source{
		Kind: "simulation", Name: sc.Name, Engine: sc.Engine.Database(),
		From: epoch.Add(time.Duration(from)), To: epoch.Add(time.Duration(p.clock.Now())),
		Period: time.Second, Samples: p.samples, Facts: facts,
	}
}
