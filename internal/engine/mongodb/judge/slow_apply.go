package judge

import (
	"math"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Applying is the class of a secondary's oplog batches. They are applied one after the other
// (metrics.repl.apply.batches), so the time they take per second is the applier's utilisation, at
// most 1.
const Applying rules.Class = "oplog batches"

const (
	// behindS is the lag at which the majority commit point is late: flow control's target
	// (flowControlTargetLagSeconds).
	behindS     = 10.0
	applierBusy = 0.9
)

// Signals of a secondary that applies the oplog.
var (
	ApplyTime = signal("mongodb_apply_time:ratio",
		"s/s", "applying batches of the oplog: seconds credited per second, when a batch ends",
		`irate(mongodb_ss_metrics_repl_apply_batches_totalMillis[$w]) / 1e3`)
	ApplyBatches = signal("mongodb_apply_batches:rate", "1/s", "batches of the oplog applied per second",
		`irate(mongodb_ss_metrics_repl_apply_batches_num[$w])`)
	ApplyOps = signal("mongodb_apply_operations:rate", "1/s", "operations of the oplog applied per second",
		`irate(mongodb_ss_metrics_repl_apply_ops[$w])`)
	ApplyBuffer = signal("mongodb_apply_buffer:count",
		"", "operations of the oplog that were fetched but not yet applied",
		`mongodb_ss_metrics_repl_buffer_apply_count`,
		`mongodb_ss_metrics_repl_buffer_count`)
)

// applyStall finds the time in which a secondary falls behind: its applier is busy all the time, or
// its batches take far longer than usual, and the lag grows or operations pile up in its buffer.
// Neither alone is enough: a deliberately delayed member lags with an idle applier, and a large
// batch takes long without any lag.
func applyStall(sig *rules.Signals) []rules.Stall {
	s := rules.Stall{Rule: "mongodb/slow-apply", Subject: "MongoDB's oplog application", Class: Applying,
		IsDatabase: true,
		Waiting:    sig.One(ApplyTime), Ops: sig.One(ApplyBatches), Of: []*rules.Signal{ApplyTime, ApplyBatches}}
	if timeline.Max(s.Ops) == 0 || !sig.Measured(ApplyBuffer) && !sig.Measured(OwnLag) &&
		!sig.Measured(MemberLag) {
		return nil // a primary, or no source shows whether it is behind
	}

	s, ok := rules.ByUsual(sig.Time, rules.StallCeilingS, s)
	if !ok {
		return nil
	}

	busy := timeline.Where(s.Waiting, func(x float64) bool { return x >= applierBusy })
	slow := s.Cells.Or(busy).And(s.Observed)

	// Busy spells without a growing lag are normal work.
	var kept []timeline.Episode
	for _, e := range slow.Close(sig.Cells(batchGap)).Episodes() {
		if fallsBehind(sig, timeline.MaskOf(sig.Grid.N, []timeline.Episode{e})) {
			kept = append(kept, e)
		}
	}

	s.Cells = timeline.MaskOf(sig.Grid.N, kept).And(s.Observed)

	// The applier is one thread, so its waiting is not summed over clients.
	s.Waiting = nil
	return rules.Found(s, true)
}

// batchGap joins batches that belong to the same period of falling behind.
const batchGap = 3 * time.Second

// fallsBehind reports whether a secondary is behind at some point in the cells. It uses the
// member's own lag if the source identifies the member, otherwise the rise of any secondary's lag.
// Without lags, operations must have waited in its buffer for as long.
func fallsBehind(sig *rules.Signals, in timeline.Mask) bool {
	if own := sig.One(OwnLag); own != nil {
		worst := timeline.Max(timeline.At(own, in))
		return worst >= behindS && worst < maxLagS
	}

	if sig.Measured(MemberLag) {
		for _, t := range sig.Signal(MemberLag) {
			// The lower quartile is robust against long periods of lag in the recording itself.
			worst := timeline.Max(timeline.At(t.Values, in))
			if worst < maxLagS && worst-timeline.Quantile(t.Values, 0.25) >= behindS {
				return true
			}
		}
		return false
	}

	waiting := timeline.Where(sig.One(ApplyBuffer), func(x float64) bool { return x > 0 }).And(in)
	return sig.Seconds(waiting) >= behindS
}

func slowApply() rules.Rule {
	r := rules.SymptomRule("mongodb/slow-apply", "The secondary falls behind",
		"plimsoll:mongodb_own_lag:seconds > 10 and on() (plimsoll:mongodb_apply_time:ratio > 0.9)",
		"A secondary applies the oplog in batches, one after the other. If these are slow because of its disk, cache or CPUs, its lag grows: on the primary, w: majority waits and flow control holds writes back.")
	r.Needs = []*rules.Signal{ApplyTime, ApplyBatches}
	r.AnyOf = []*rules.Signal{OwnLag, MemberLag, ApplyBuffer}
	r.Words = rules.Words{
		"opening": "The secondary falls behind, by up to {{.lag}}.",
		"lag":     "The lag rose to {{.lag}}{{with .member}} (member {{.}}){{end}}.",
		"buffer":  "Up to {{.buffer}} operations waited in its buffer.",
		"ops":     "It applied {{.ops}} operations per second, otherwise {{.usual}}.",
	}

	for name, text := range rules.SymptomRule("", "", "", "").Words {
		r.Words[name] = text
	}

	symptoms := r.Judge
	r.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		out := symptoms(c, held)
		for i := range out {
			sayBehind(c, &out[i])
		}
		return out
	}

	return r
}

// sayBehind adds how far the secondary fell behind.
func sayBehind(c *rules.Case, f *rules.Finding) {
	var cells timeline.Mask
	for _, s := range c.Symptoms {
		if s.Class == Applying {
			cells = s.Cells
		}
	}

	// The source may not identify this member.
	lag, of, whose, member := timeline.Max(timeline.At(c.One(OwnLag), cells)), OwnLag, "this member's lag", ""
	if math.IsNaN(lag) && c.Stall.Class == Applying {
		member, lag = laggingMember(c)
		of, whose = MemberLag, "lag of member "+member
	}

	if of == OwnLag && lag == lag || lag > 0 {
		v := rules.Values{"lag": rules.Seconds(lag), "member": rules.Called(member)}
		f.Say("lag", v)
		if f.Severity != rules.Info {
			f.Open("opening", v)
		}
		f.Evidence = append(f.Evidence, c.Figure(whose+", most", of, lag, "seconds", cells))
	}

	if buffer := timeline.Max(timeline.At(c.One(ApplyBuffer), cells)); buffer > 0 {
		f.Say("buffer", rules.Values{"buffer": rules.Number(buffer)})
		f.Evidence = append(f.Evidence,
			c.Figure("operations fetched but not yet applied, most", ApplyBuffer, buffer, "", cells))
	}

	if ops := c.One(ApplyOps); ops != nil {
		then, usual := timeline.Mean(timeline.At(ops, cells)), timeline.Quantile(timeline.At(ops, cells.Not()), 0.5)
		if then == then && usual == usual {
			f.Say("ops", rules.Values{"ops": rules.Number(then), "usual": rules.Number(usual)})
		}
	}
}
