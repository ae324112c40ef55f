package rules

import (
	"fmt"

	"plimsoll/timeline"
)

// minAttributable is the share of the stalled time from which a condition is called a cause.
const minAttributable = 0.10

// cpuAlways is the share of the time from which a saturation cannot be told from the usual.
const cpuAlways = 0.90

// saturatedToo is the share of the stalled time from which a saturated device beside busy CPUs is
// no idle one.
const saturatedToo = 0.30

// condition judges a rule whose cells hold or not: how much of the stalled time
// is due to them.
func (r Rule) condition(c *Case, subject string, cells timeline.Mask) (Finding, bool) {
	fraction, pIn, pOut := c.Attributable(cells)
	if fraction < minAttributable {
		return Finding{}, false
	}
	f := r.finding(subject)
	f.Weight = fraction
	f.Severity = c.severityOf(fraction)
	f.Windows = c.Windows(cells.And(c.Stall.Cells.Widen(1, 1)))
	f.Evidence = []Evidence{c.figure("share of the time that stalled while it held", "", pIn, "ratio", cells)}
	if without := c.Stall.Active.Without(cells); without.Count() > 0 {
		f.Evidence = append(f.Evidence, c.figure("share of the time that stalled while it did not", "", pOut, "ratio", without))
	} else {
		f.Evidence = append(f.Evidence, c.remark("it held all the time: there is no other time to compare with"))
	}
	return f, true
}

func hostCPUSaturated() Rule {
	r := Rule{ID: "host/cpu-saturated", Title: "The CPUs are saturated", Kind: Cause,
		When:  "plimsoll:cpu_busy:ratio > 0.9",
		Cause: "Operations wait for a CPU. Everything the database does gets slower at once, its eviction and checkpoints too, and the disk has time to spare."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		if len(held) == 0 {
			return nil
		}
		cells := timeline.Known(held[0].Values)
		in := Share(cells, c.Stall.Cells)
		f, ok := r.condition(c, "host", cells)
		if !ok {
			// Saturated nearly always: there is no other time to compare with. Where there is, it
			// stalled as often, and the CPUs do not explain it.
			if in < 0.5 || Share(cells, c.Stall.Active) < cpuAlways {
				return nil
			}
			f = r.finding("host")
			f.Weight = in
			if f.Severity = c.severityOf(in); f.Severity == Critical {
				f.Severity = Warning
			}
			f.Evidence = append(f.Evidence, c.remark("it held nearly all the time: there is no other time to compare with"))
			f.Windows = c.Windows(cells.And(c.Stall.Cells))
		}
		busy := c.One(SignalPrefix + "cpu_busy:ratio")
		f.Summary = fmt.Sprintf("The CPUs were over 90 %% busy in %s of the stalled time (on average %s busy in it).", pct(in), pct(timeline.Mean(timeline.At(busy, c.Stall.Cells))))
		f.Evidence = append(f.Evidence, c.figure("mean CPU use while stalled", SignalPrefix+"cpu_busy:ratio", timeline.Mean(timeline.At(busy, c.Stall.Cells)), "ratio", c.Stall.Cells))
		if run := c.One(SignalPrefix + "procs_running:count"); run != nil {
			f.Evidence = append(f.Evidence, c.figure("tasks running or waiting for a CPU while stalled, median", SignalPrefix+"procs_running:count", timeline.Quantile(timeline.At(run, c.Stall.Cells), 0.5), "", c.Stall.Cells))
		}
		if cores := c.One(SignalPrefix + "cpu_cores:count"); cores != nil {
			f.Evidence = append(f.Evidence, c.figure("CPUs", SignalPrefix+"cpu_cores:count", timeline.Max(cores), "", timeline.Known(cores)))
		}
		expect := "waiting for a CPU ends; a faster volume would change nothing"
		if dev, share := c.saturatedInStall(); share >= saturatedToo {
			// A busy CPU beside a device that holds everybody up is seldom what they wait for first.
			if f.Severity == Critical {
				f.Severity = Warning
			}
			f.Cause = "Operations wait for a CPU, and everything the database does gets slower at once. Here a device was saturated in a good part of the stalled time as well: one may hide the other."
			f.Summary += fmt.Sprintf(" The device %s was saturated in %s of it: begin there.", dev, pct(share))
			expect = "waiting for a CPU ends; waiting for " + dev + " does not"
		}
		f.Fixes = []Fix{{Summary: "Find what uses the CPU (slow queries, missing indexes, compression, many connections) or use an instance with more cores",
			Expect: expect, TradeOff: "the instance's price"}}
		return []Finding{f}
	}
	return r
}

// saturatedInStall is the device that was saturated in the largest share of the stalled time.
func (c *Case) saturatedInStall() (device string, share float64) {
	for _, t := range c.Signal(SignalPrefix + "disk_busy:ratio") {
		dev := t.Labels.Get("device")
		busy := timeline.Where(t.Values, func(x float64) bool { return x > 0.9 })
		queue := c.For(SignalPrefix+"disk_queue:requests", "device", dev)
		if queue == nil {
			continue
		}
		if s := Share(busy.And(timeline.Where(queue, func(x float64) bool { return x > 2 })), c.Stall.Cells); s > share {
			device, share = dev, s
		}
	}
	return device, share
}

func hostMemoryLimit() Rule {
	r := Rule{ID: "host/memory-limit", Title: "Memory is short", Kind: Cause,
		When:  "plimsoll:psi_memory_full:ratio > 0.1 or plimsoll:swap_out:rate > 100",
		Needs: []string{}, AnyOf: []string{SignalPrefix + "psi_memory_full:ratio", SignalPrefix + "swap_out:rate"},
		Cause: "The kernel reclaims or swaps memory the database is using; every thread may be stopped by it, and the reclaim itself writes to the disk. In a container the limit is the container's, not the host's."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		if len(held) == 0 {
			return nil
		}
		cells := timeline.Known(held[0].Values)
		f, ok := r.condition(c, "host", cells)
		if !ok {
			return nil
		}
		f.Summary = fmt.Sprintf("The host was short of memory in %s of the stalled time.", pct(Share(cells, c.Stall.Cells)))
		for _, s := range []struct{ signal, text, unit string }{
			{"psi_memory_full:ratio", "share of the stalled time in which all tasks waited for memory (PSI), mean", "ratio"},
			{"swap_out:rate", "pages swapped out while stalled, mean", "1/s"},
			{"memory_available:bytes", "memory available while stalled, mean", "bytes"},
			{"memory_total:bytes", "memory of the host", "bytes"},
		} {
			if v := timeline.Mean(timeline.At(c.One(SignalPrefix+s.signal), c.Stall.Cells)); v == v {
				f.Evidence = append(f.Evidence, c.figure(s.text, SignalPrefix+s.signal, v, s.unit, c.Stall.Cells))
			}
		}
		f.Fixes = []Fix{{Summary: "Set the database's cache explicitly below the host's or container's memory, with room for connections and page cache",
			Expect: "no reclaim under load", TradeOff: "more reads from the disk if the working set no longer fits"}}
		return []Finding{f}
	}
	return r
}

// minThrottledS is the least time at a limit that is more than an edge of an interval.
const minThrottledS = 3.0

func hostIOThrottled() Rule {
	r := Rule{ID: "host/io-throttled", Title: "I/O waits above the device", Kind: Cause,
		When:  "plimsoll:psi_io_full:ratio > 0.5 and on() (max(plimsoll:disk_busy:ratio) < 0.6)",
		Cause: "Tasks wait for I/O while no device shown is busy. Something holds the requests back before the device counts them: a container's or a cgroup's I/O limit (blkio, io.max), a network file system, or a device that this source does not show."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		if len(held) == 0 {
			return nil
		}
		cells := timeline.Known(held[0].Values)
		if flush, _ := c.flushing(cells); flush > idleFlush {
			return nil // the device is in its flushes, which the busy share leaves out
		}
		if c.Seconds(cells.And(c.Stall.Cells)) < minThrottledS {
			return nil // what slips from one interval into the next looks so too
		}
		f, ok := r.condition(c, "host", cells)
		if !ok {
			return nil
		}
		full := c.One(SignalPrefix + "psi_io_full:ratio")
		f.Summary = fmt.Sprintf("In %s of the stalled time all tasks waited for I/O, but no device was busy.", pct(Share(cells, c.Stall.Cells)))
		f.Evidence = append(f.Evidence, c.figure("share of time in which all tasks waited for I/O (PSI), mean of these intervals", SignalPrefix+"psi_io_full:ratio", timeline.Mean(timeline.At(full, cells)), "ratio", cells))
		if busiest, ok := c.busiestInStall(); ok {
			f.Evidence = append(f.Evidence, c.figure("busy share of "+busiest.Labels.Get("device")+" in them, mean", SignalPrefix+"disk_busy:ratio", timeline.Mean(timeline.At(busiest.Values, cells)), "ratio", cells))
		}
		f.Fixes = []Fix{{Summary: "Look at the container's I/O limits (cgroup io.max, blkio.throttle.*), and at devices missing here (record S_TIME_FORMAT=ISO iostat -xt 1 on the node)",
			Expect: "the limit that binds is found; raising it costs nothing if the volume has room", TradeOff: "less isolation from neighbours"}}
		return []Finding{f}
	}
	return r
}
