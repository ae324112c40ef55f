package corerules

import (
	"math"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// An instance's burst is refilled once every 24 hours (EC2 user guide, EBS-optimized instances: at
// least 30 minutes, once in 24 hours). A load above the baseline uses it up each day: it is fast
// for a while and then slow, at the same rate.
const (
	fastLeast   = instanceTogether
	fastMost    = 0.5 // of the time: above this, slow is the exception
	fastDay     = 24 * time.Hour
	fastDayOff  = time.Hour // the refill drifts with the start of the burst
	fastDaysMin = 2
)

// A dailyBurst is a device that is fast for a while each day.
type dailyBurst struct {
	device, kind  string
	fast          timeline.Mask
	usualS, fastS float64 // median await
	ops           float64
	each          time.Duration // how long it is fast, median
}

// fastDaily finds out how a device is fast for a while each day, under a load that is slow
// otherwise; nil if it is not.
func fastDaily(input *rules.Case, device string) *dailyBurst {
	ops, moved := input.For(rules.DiskOps, "device", device), input.For(rules.DiskMoved, "device", device)
	if ops == nil || moved == nil {
		return nil
	}

	active := timeline.Where(ops, func(x float64) bool { return x > 0 })
	median := func(v []float64, in timeline.Mask) float64 { return timeline.Quantile(timeline.At(v, in), 0.5) }
	usualOps, usualMoved := median(ops, active), median(moved, active)

	// A quick device at low load shows nothing: only time with the usual load counts.
	much := timeline.Where(ops, func(x float64) bool { return x >= rules.AsMuchOps*usualOps }).
		And(timeline.Where(moved, func(x float64) bool { return x >= rules.AsMuchBytes*usualMoved }))

	for _, of := range []struct {
		kind  string
		await *rules.Signal
	}{{"reads", rules.DiskReadAwait}, {"writes", rules.DiskWriteAwait}} {
		await := input.For(of.await, "device", device)
		usual := median(await, active)
		quick := timeline.Where(await,
			func(x float64) bool { return x <= usual/rules.SlowFactor && usual >= x+rules.SlowLeastS })

		// The latency alone shows how long it is fast, but only time under the usual load counts as proof.
		fast := quick.Close(input.Cells(time.Minute))
		var days []timeline.Episode
		for _, e := range fast.Episodes() {
			if input.Span(e).To.Sub(input.Span(e).From) >= fastLeast &&
				rules.Share(much, timeline.MaskOf(input.Grid.N, []timeline.Episode{e})) >= minOfFast {
				days = append(days, e)
			}
		}

		fast = timeline.MaskOf(input.Grid.N, days)
		if len(days) < fastDaysMin || rules.Share(fast, active) > fastMost || !daily(input, days) {
			continue
		}

		var lengths []float64
		for _, e := range days {
			lengths = append(lengths, float64(e.Cells()))
		}

		return &dailyBurst{device: device, kind: of.kind, fast: fast, usualS: usual, fastS: median(await, fast),
			ops:  usualOps,
			each: time.Duration(timeline.Quantile(lengths, 0.5)) * input.Grid.Step()}
	}

	return nil
}

// minOfFast is the minimum share of a fast period in which the load is as high as usual.
const minOfFast = 0.4

// daily reports whether episodes start whole days apart.
func daily(c *rules.Case, all []timeline.Episode) bool {
	for i := 1; i < len(all); i++ {
		apart := c.Grid.Start(all[i].First).Sub(c.Grid.Start(all[i-1].First))
		days := math.Round(float64(apart) / float64(fastDay))
		if days < 1 || (apart-time.Duration(days)*fastDay).Abs() > fastDayOff {
			return false
		}
	}
	return true
}

func fastEachDay(r rules.Rule, c *rules.Case, d *dailyBurst) rules.Finding {
	f := r.Finding(d.device)
	f.Entitle("daily title", nil)
	f.Severity, f.Foremost = rules.Warning, true
	f.Weight = 1 - rules.Share(d.fast, timeline.Known(c.For(rules.DiskOps, "device", d.device)))
	f.Windows = c.Windows(d.fast)
	f.Say("daily", rules.Values{"kind": rules.UpperFirst(rules.Called(d.kind)), "device": rules.Called(d.device),
		"fast": rules.Seconds(d.fastS), "for": rules.Seconds(d.each.Seconds()),
		"usual": rules.Seconds(d.usualS), "ops": rules.Of(d.ops, "IOPS")})
	f.Evidence = []rules.Evidence{
		c.Figure("median await of its "+d.kind+" in the fast time", nil, d.fastS, "seconds", d.fast),
		c.Figure("median await of its "+d.kind, nil, d.usualS, "seconds",
			timeline.Known(c.For(rules.DiskOps, "device", d.device))),
	}

	f.Advise("look", nil)
	f.Advise("instance", nil)
	f.Advise("do not buy", nil)

	return f
}
