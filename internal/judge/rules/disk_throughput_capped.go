package rules

import (
	"fmt"

	"plimsoll/internal/record/timeline"
)

func atThroughput(k ceiling) (timeline.Plateau, bool) { return k.throughput, k.hasTP }

const raiseThroughputCosts = "gp3: USD 0.04 a month for each MiB/s over 125 (us-east-1), at most 0.25 MiB/s for each IOPS"

func diskThroughputCapped() Rule {
	r := Rule{ID: "disk/throughput-capped", Title: "The volume's throughput cap binds", Kind: Cause,
		Traced: atDevice, When: saturated,
		Needs:   []*Signal{DiskBusy, DiskQueue, DiskMoved},
		NoAlert: "its condition is the same as for disk/iops-capped; the rate that plateaus shows which of the two limits binds",
		Cause:   "A cloud volume moves a fixed number of bytes per second and makes the rest wait in its queue. With large requests this limit binds before the IOPS limit, and buying IOPS changes nothing.",
		Words:   capWords,
		Advice: map[string]Advice{
			"bursts": bursts,
			"raise": {Summary: "Then raise the volume's throughput above {{.throughput}}; leave its IOPS as they are",
				Expect:   "the time at the cap shrinks in proportion, until the instance's own limit binds",
				TradeOff: raiseThroughputCosts, Do: []*Remedy{raiseThroughput}},
			"raise both": {Summary: "Then raise the volume's throughput above {{.throughput}} and its IOPS above {{.iops}}: both limits bind at the same time",
				Expect:   "the time at the caps shrinks in proportion; raising one alone changes nothing",
				TradeOff: raiseThroughputCosts, Do: []*Remedy{raiseBoth}},
		}}

	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		var out []Finding
		all := c.ceilings(held, atThroughput)
		for _, k := range all {
			level := Of(k.throughput.Level, "bytes/s")
			f := r.capFinding(c, k, k.throughput, level, "bytes/s", DiskMoved)
			limit, sold := soldThroughput(k.throughput.Level)
			f.Cap = &Cap{Throughput: k.throughput.Level, Types: limit.types}

			if sold {
				f.Evidence = append(f.Evidence,
					c.Remark(fmt.Sprintf("%s (%s) is within 4 %% of %s", level, mibs(k.throughput.Level), limit.what)))
			}

			c.adviseBursts(&f)
			raise := Values{"throughput": mibs(k.throughput.Level), "iops": Number(k.iops.Level)}
			ops := c.For(DiskOps, "device", k.device)
			iops := timeline.Quantile(timeline.At(ops, k.throughput.Cells), 0.5)

			switch {
			case k.hasIOPS && k.together:
				f.Advise("raise both", raise)
			default:
				f.Advise("raise", raise)
			}

			if iops == iops && !(k.hasIOPS && k.together) {
				f.Evidence = append(f.Evidence,
					c.Figure("median IOPS at the plateau: not the limit that binds", DiskOps, iops, "1/s",
						k.throughput.Cells))
			}

			f.Evidence = append(f.Evidence, c.company(k, all, atThroughput)...)
			out = append(out, f)
		}

		return r.settledByCount(c, out, throughputMargin,
			func(x counted) (float64, float64, timeline.Mask) { return x.throughputS, x.iopsS, x.overThroughput },
			"throughput", DiskMoved, "aws_ebs_csi_exceeded_tp_seconds_total")
	}

	return r
}
