package corerules

import (
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func atIOPS(k rules.Ceiling) (timeline.Plateau, bool) { return k.Iops, k.HasIOPS }

const raiseIOPSCosts = "gp3: USD 0.005 a month for each IOPS over 3,000 (us-east-1); pointless beyond the instance's own limit"

func diskIOPSCapped() rules.Rule {
	rule := rules.Rule{
		ID:     "disk/iops-capped",
		Title:  "The volume's IOPS cap binds",
		Kind:   rules.Cause,
		Traced: atDevice,
		When:   saturated,
		Needs:  []*rules.Signal{rules.DiskBusy, rules.DiskQueue, rules.DiskOps},
		Cause:  "A cloud volume serves a fixed number of requests per second and makes the rest wait in its queue. The device is never idle, the queue is deep, and the rate plateaus at a level that it does not exceed.",
		Words:  capWords,
		Advice: map[string]rules.Advice{
			"bursts": bursts,
			"raise": {Summary: "Then raise the volume's IOPS above {{.iops}}",
				Expect:   "the time at the cap shrinks in proportion, until {{with .request}}requests of {{.}} hit the throughput limit or the instance's limit{{else}}the throughput limit or the instance's limit binds{{end}}",
				TradeOff: raiseIOPSCosts, Do: []*rules.Remedy{raiseIOPS}},
			"raise both": {Summary: "Then raise the volume's IOPS above {{.iops}} and its throughput above {{.throughput}}: both limits bind at the same time",
				Expect:   "the time at the caps shrinks in proportion; raising one alone changes nothing",
				TradeOff: raiseIOPSCosts, Do: []*rules.Remedy{raiseBoth}},
		}}

	rule.Judge = func(input *rules.Case, held []timeline.Track) []rules.Finding {
		var out []rules.Finding
		all := ceilings(input, held, atIOPS)
		for _, k := range all {
			level := rules.Of(k.Iops.Level, strings.TrimSpace(k.KindOfOps()+" IOPS"))
			finding := capFinding(rule, input, k, k.Iops, level, "1/s", rules.DiskOps)
			limit, sold := rules.SoldIOPS(k.Iops.Level)
			finding.Cap = &rules.Cap{IOPS: k.Iops.Level, Types: limit.Types}

			if sold {
				finding.Evidence = append(finding.Evidence, input.Remark(string(level)+" is within 4 % of "+limit.What))
			}

			finding.Evidence = append(finding.Evidence, company(input, k, all, atIOPS)...)
			adviseBursts(input, &finding)
			raise := rules.Values{
				"iops":       rules.Number(k.Iops.Level),
				"throughput": mibs(k.Throughput.Level),
				"request":    "",
			}

			if k.RequestBytes > 0 {
				raise["request"] = rules.Bytes(k.RequestBytes)
			}

			if k.HasTP && k.Together {
				finding.Advise("raise both", raise)
			} else {
				finding.Advise("raise", raise)
			}

			out = append(out, finding)
		}

		return settledByCount(rule, input, out, iopsMargin,
			func(x counted) (float64, float64, timeline.Mask) { return x.iopsS, x.throughputS, x.overIOPS },
			"IOPS", rules.DiskOps, "aws_ebs_csi_exceeded_iops_seconds_total")
	}

	return rule
}
