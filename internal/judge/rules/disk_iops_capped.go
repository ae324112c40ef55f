package rules

import (
	"fmt"

	"plimsoll/internal/record/timeline"
)

func atIOPS(k ceiling) (timeline.Plateau, bool) { return k.iops, k.hasIOPS }

func diskIOPSCapped() Rule {
	r := Rule{ID: "disk/iops-capped", Title: "The volume's IOPS cap binds", Kind: Cause, When: saturated,
		Needs: []*Signal{DiskBusy, DiskQueue, DiskOps},
		Cause: "A rented volume serves so many requests a second and makes the rest wait in its queue. The device is never idle, the queue is deep, and the rate stands at one figure that it does not pass."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		var out []Finding
		all := c.ceilings(held, atIOPS)
		for _, k := range all {
			level := num(k.iops.Level) + k.kindOfOps() + " IOPS"
			f := r.capFinding(c, k, k.iops, level, "1/s", DiskOps)
			limit, sold := soldIOPS(k.iops.Level)
			f.Cap = &Cap{IOPS: k.iops.Level, Types: limit.types}
			if sold {
				f.Evidence = append(f.Evidence, c.Remark(level+" is "+limit.what+", within 4 %"))
			}
			f.Evidence = append(f.Evidence, c.company(k, all, atIOPS)...)
			until := "until the throughput limit or the instance's is met"
			if k.requestBytes > 0 {
				until = fmt.Sprintf("until requests of %s meet the throughput limit or the instance's", size(k.requestBytes))
			}
			raise := Fix{Summary: fmt.Sprintf("Then raise the volume's IOPS above %s", num(k.iops.Level)),
				Expect:   "the time at the cap shrinks in proportion, " + until,
				TradeOff: "gp3: USD 0.005 a month for each IOPS over 3,000 (us-east-1); pointless beyond the instance's own limit"}
			if k.hasTP && k.together {
				raise.Summary += fmt.Sprintf(" and its throughput above %.0f MiB/s: both limits are met at once", k.throughput.Level/mib)
				raise.Expect = "the time at the caps shrinks in proportion; raising one alone changes nothing"
			}
			f.Fixes = []Fix{bursts, raise}
			out = append(out, f)
		}
		return out
	}
	return r
}
