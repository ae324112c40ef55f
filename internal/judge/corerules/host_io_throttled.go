package corerules

import (
	"plimsoll/internal/record/timeline"

	"plimsoll/internal/judge/rules"
)

// minThrottledS is the least time at a limit, in seconds, that cannot be an artefact of an
// interval's edge.
const minThrottledS = 3.0

func hostIOThrottled() rules.Rule {
	rule := rules.Rule{ID: "host/io-throttled", Title: "I/O waits above the device", Kind: rules.Cause, Traced: aboveDevice,
		When:  "plimsoll:psi_io_full:ratio > 0.5 and on() (max(plimsoll:disk_busy:ratio) < 0.6)",
		Cause: "Tasks wait for I/O while no device shown is busy. Something holds the requests back before the device counts them: an I/O limit of a container or cgroup (blkio, io.max), a network file system, or a device that this source does not show.",
		Words: rules.Words{"waited": "In {{.share}} of the stalled time all tasks waited for I/O, but no device was busy."},
		Advice: map[string]rules.Advice{"limits": {Summary: "Check the container's I/O limits (cgroup io.max, blkio.throttle.*), and devices missing here (record S_TIME_FORMAT=ISO iostat -xt 1 on the node)",
			Expect:   "you find the limit that binds; raising it costs nothing if the volume has room",
			TradeOff: "less isolation from neighbours", NoCommand: "first find the limit"}}}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		if len(held) == 0 {
			return nil
		}

		cells := timeline.Known(held[0].Values)
		if flush, _ := flushing(&input.Signals, cells); flush > idleFlush {
			return nil // the device is busy with flushes, which the busy share does not include
		}
		if input.Seconds(cells.And(input.Stall.Cells)) < minThrottledS {
			return nil // a wait that carries over from one interval to the next looks like this too
		}
		if rules.Share(input.ContainersHeldBack(), cells.And(input.Stall.Cells)) >= 0.5 {
			return nil // container/io-limit reports the limit that this rule only infers
		}

		f, ok := rule.Condition(input, "host", cells)
		if !ok {
			return nil
		}

		full := input.One(rules.PSIIOFull)
		f.Say("waited", rules.Values{"share": rules.Part(rules.Share(cells, input.Stall.Cells))})
		f.Evidence = append(f.Evidence,
			input.Figure("share of time in which all tasks waited for I/O (PSI), mean over these intervals", rules.PSIIOFull,
				timeline.Mean(timeline.At(full, cells)), "ratio", cells))

		if busiest, ok := busiestInStall(input); ok {
			f.Evidence = append(f.Evidence,
				input.Figure("busy share of "+busiest.Labels.Get("device")+" in them, mean", rules.DiskBusy,
					timeline.Mean(timeline.At(busiest.Values, cells)), "ratio", cells))
		}

		f.Advise("limits", nil)
		return []rules.Finding{f}
	}

	return rule
}
