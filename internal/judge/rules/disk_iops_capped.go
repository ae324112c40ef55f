package rules

import (
	"strings"

	"plimsoll/internal/record/timeline"
)

func atIOPS(k ceiling) (timeline.Plateau, bool) { return k.iops, k.hasIOPS }

const raiseIOPSCosts = "gp3: USD 0.005 a month for each IOPS over 3,000 (us-east-1); pointless beyond the instance's own limit"

func diskIOPSCapped() Rule {
	r := Rule{ID: "disk/iops-capped", Title: "The volume's IOPS cap binds", Kind: Cause, Traced: atDevice,
		When:  saturated,
		Needs: []*Signal{DiskBusy, DiskQueue, DiskOps},
		Cause: "A cloud volume serves a fixed number of requests per second and makes the rest wait in its queue. The device is never idle, the queue is deep, and the rate plateaus at a level that it does not exceed.",
		Words: capWords,
		Advice: map[string]Advice{
			"bursts": bursts,
			"raise": {Summary: "Then raise the volume's IOPS above {{.iops}}",
				Expect:   "the time at the cap shrinks in proportion, until {{with .request}}requests of {{.}} hit the throughput limit or the instance's limit{{else}}the throughput limit or the instance's limit binds{{end}}",
				TradeOff: raiseIOPSCosts, Do: []*Remedy{raiseIOPS}},
			"raise both": {Summary: "Then raise the volume's IOPS above {{.iops}} and its throughput above {{.throughput}}: both limits bind at the same time",
				Expect:   "the time at the caps shrinks in proportion; raising one alone changes nothing",
				TradeOff: raiseIOPSCosts, Do: []*Remedy{raiseBoth}},
		}}

	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		var out []Finding
		all := c.ceilings(held, atIOPS)
		for _, k := range all {
			level := Of(k.iops.Level, strings.TrimSpace(k.kindOfOps()+" IOPS"))
			f := r.capFinding(c, k, k.iops, level, "1/s", DiskOps)
			limit, sold := soldIOPS(k.iops.Level)
			f.Cap = &Cap{IOPS: k.iops.Level, Types: limit.types}

			if sold {
				f.Evidence = append(f.Evidence, c.Remark(string(level)+" is within 4 % of "+limit.what))
			}

			f.Evidence = append(f.Evidence, c.company(k, all, atIOPS)...)
			c.adviseBursts(&f)
			raise := Values{"iops": Number(k.iops.Level), "throughput": mibs(k.throughput.Level), "request": ""}

			if k.requestBytes > 0 {
				raise["request"] = Bytes(k.requestBytes)
			}

			if k.hasTP && k.together {
				f.Advise("raise both", raise)
			} else {
				f.Advise("raise", raise)
			}

			out = append(out, f)
		}

		return r.settledByCount(c, out, iopsMargin,
			func(x counted) (float64, float64, timeline.Mask) { return x.iopsS, x.throughputS, x.overIOPS },
			"IOPS", DiskOps, "aws_ebs_csi_exceeded_iops_seconds_total")
	}

	return r
}
