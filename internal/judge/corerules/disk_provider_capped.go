package corerules

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// consumedFull is the share of a disk's limit above which a minute's mean counts as at the
	// limit: the disk was then at it for most of that minute.
	consumedFull = 0.95
	// throttledOps and throttledBytes are the lowest rates of delayed requests and of delayed bytes
	// that count as throttling.
	throttledOps   = 1.0
	throttledBytes = 1e6
)

// A providerLimit is a limit that the provider itself counts.
type providerLimit struct {
	signal *rules.Signal
	from   float64
	of     rules.Value // what is limited
}

var providerLimits = []providerLimit{
	{rules.AzureIOPSConsumed, consumedFull, "IOPS"},
	{rules.AzureBytesConsumed, consumedFull, "throughput"},
	{rules.GoogleOpsThrottled, throttledOps, "IOPS"},
	{rules.GoogleBytesThrottled, throttledBytes, "throughput"},
}

func diskProviderCapped() rules.Rule {
	r := rules.Rule{ID: "disk/provider-capped", Title: "The disk's limit binds, as its provider counts it",
		Kind: rules.Cause, Traced: atDevice,
		When:  "plimsoll:azure_consumed_iops:ratio >= 0.95 or plimsoll:azure_consumed_throughput:ratio >= 0.95 or plimsoll:google_throttled_ops:rate > 1 or plimsoll:google_throttled_bytes:rate > 1e6",
		Needs: []*rules.Signal{},
		AnyOf: []*rules.Signal{rules.AzureIOPSConsumed, rules.AzureBytesConsumed, rules.GoogleOpsThrottled,
			rules.GoogleBytesThrottled},
		Cause: "Azure reports how much of a disk's limit is used, and Google Cloud how many requests it delayed because the limit was reached. So this is measured where the limit is enforced, and not inferred from rates.",
		Words: rules.Words{
			"used":      "{{.device}} used up its {{.limit}} limit for {{.for}}{{with .share}}, in {{.}} of the stalled time{{end}}: at most {{.most}} of it.",
			"throttled": "Requests to {{.device}} were delayed at its {{.limit}} limit for {{.for}}{{with .share}}, in {{.}} of the stalled time{{end}}: at most {{.most}}.",
			"chance":    "Stalls coincide with that no more often than by chance.",
		},
		Advice: map[string]rules.Advice{
			"bursts": bursts,
			"raise": {Summary: "Then raise the disk's {{.limit}} through its size, tier or provisioned figures, depending on its type (az disk update, gcloud compute disks update)",
				Expect:   "the time at the limit shrinks in proportion, until the machine's own limit binds",
				TradeOff: "the provider's price", NoCommand: "it depends on the disk's type"},
		}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, l := range providerLimits {
			for _, t := range c.Signal(l.signal) {
				if f, ok := providerCapped(r, c, l, t); ok {
					out = append(out, f)
				}
			}
		}
		return out
	}

	return r
}

func providerCapped(r rules.Rule, input *rules.Case, limit providerLimit,
	t timeline.Track) (rules.Finding, bool) {
	at := timeline.Where(t.Values, func(x float64) bool { return x >= limit.from })
	if input.Seconds(at) == 0 {
		return rules.Finding{}, false
	}

	finding := r.During(input, t.Labels.Get("device"), rules.Share(at.Widen(1, 1), input.Stall.Cells), at)
	finding.PeriodS = input.Period(at.Close(input.Cells(5e9)))

	most := timeline.Max(t.Values)
	said := rules.Values{
		"device": rules.Called(finding.Subject),
		"limit":  limit.of,
		"for":    rules.Seconds(input.Seconds(at)),
		"share":  input.PartOfStall(finding.Weight),
		"most":   rules.Part(most),
	}

	words := "used"
	if limit.signal.Unit != "ratio" {
		words, said["most"] = "throttled", rules.Of(most, limit.signal.Unit)
	}

	finding.Say(words, said)
	if finding.Severity != rules.Info && input.Unrelated(at) {
		finding.Severity = rules.Info
		finding.Say("chance", nil)
	}

	input.Unsure(&finding, at)

	finding.Evidence = []rules.Evidence{input.Figure("highest value in an interval", limit.signal, most, limit.signal.Unit, at)}
	adviseBursts(input, &finding)
	finding.Advise("raise", rules.Values{"limit": limit.of})

	return finding, true
}

// providerLimited reports whether a provider counted a disk's limit as reached while clients stalled.
func providerLimited(c *rules.Case) bool {
	for _, l := range providerLimits {
		for _, t := range c.Signal(l.signal) {
			if timeline.Max(timeline.At(t.Values, c.Stall.Cells)) >= l.from {
				return true
			}
		}
	}
	return false
}
