package rules

import "plimsoll/internal/record/timeline"

const (
	// consumedFull is the share of a disk's limit above which a minute's mean counts as at the
	// limit: the disk was then at it for most of that minute.
	consumedFull = 0.95
	// throttledOps and throttledBytes are the rates of delayed requests and bytes from which they
	// matter.
	throttledOps   = 1.0
	throttledBytes = 1e6
)

// A providerLimit is a limit that the provider itself counts.
type providerLimit struct {
	signal *Signal
	from   float64
	of     Value // what is limited
}

var providerLimits = []providerLimit{
	{AzureIOPSConsumed, consumedFull, "IOPS"},
	{AzureBytesConsumed, consumedFull, "throughput"},
	{GoogleOpsThrottled, throttledOps, "IOPS"},
	{GoogleBytesThrottled, throttledBytes, "throughput"},
}

func diskProviderCapped() Rule {
	r := Rule{ID: "disk/provider-capped", Title: "The disk's limit binds, as its provider counts it",
		Kind: Cause, Traced: atDevice,
		When:  "plimsoll:azure_consumed_iops:ratio >= 0.95 or plimsoll:azure_consumed_throughput:ratio >= 0.95 or plimsoll:google_throttled_ops:rate > 1 or plimsoll:google_throttled_bytes:rate > 1e6",
		Needs: []*Signal{}, AnyOf: []*Signal{AzureIOPSConsumed, AzureBytesConsumed, GoogleOpsThrottled,
			GoogleBytesThrottled},
		Cause: "Azure reports how much of a disk's limit is used, and Google Cloud how many requests it delayed because the limit was reached. So this is measured where the limit is enforced, and not inferred from rates.",
		Words: Words{
			"used":      "{{.device}} used up its {{.limit}} limit for {{.for}}{{with .share}}, in {{.}} of the stalled time{{end}}: at most {{.most}} of it.",
			"throttled": "Requests to {{.device}} were delayed at its {{.limit}} limit for {{.for}}{{with .share}}, in {{.}} of the stalled time{{end}}: at most {{.most}}.",
			"chance":    "Stalls coincide with that no more often than by chance.",
		},
		Advice: map[string]Advice{
			"bursts": bursts,
			"raise": {Summary: "Then raise the disk's {{.limit}} through its size, tier or provisioned figures, depending on its type (az disk update, gcloud compute disks update)",
				Expect:   "the time at the limit shrinks in proportion, until the machine's own limit binds",
				TradeOff: "the provider's price", NoCommand: "it depends on the disk's type"},
		}}

	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		var out []Finding
		for _, l := range providerLimits {
			for _, t := range c.Signal(l.signal) {
				if f, ok := r.providerCapped(c, l, t); ok {
					out = append(out, f)
				}
			}
		}
		return out
	}

	return r
}

func (r Rule) providerCapped(c *Case, l providerLimit, t timeline.Track) (Finding, bool) {
	at := timeline.Where(t.Values, func(x float64) bool { return x >= l.from })
	if c.Seconds(at) == 0 {
		return Finding{}, false
	}

	f := r.Finding(t.Labels.Get("device"))
	f.Weight = Share(at.Widen(1, 1), c.Stall.Cells)
	f.Severity = c.SeverityOf(f.Weight)
	f.Windows = c.Windows(at)
	f.PeriodS = c.Period(at.Close(c.Cells(5e9)))

	most := timeline.Max(t.Values)
	said := Values{"device": Called(f.Subject), "limit": l.of, "for": Seconds(c.Seconds(at)), "share": "",
		"most": Part(most)}
	if c.Stall.Any() {
		said["share"] = Part(f.Weight)
	}

	words := "used"
	if l.signal.Unit != "ratio" {
		words, said["most"] = "throttled", Of(most, l.signal.Unit)
	}

	f.Say(words, said)
	if f.Severity != Info && c.unrelated(at) {
		f.Severity = Info
		f.Say("chance", nil)
	}

	c.unsure(&f, at)

	f.Evidence = []Evidence{c.Figure("highest value in an interval", l.signal, most, l.signal.Unit, at)}
	c.adviseBursts(&f)
	f.Advise("raise", Values{"limit": l.of})

	return f, true
}

// providerLimited reports whether a provider counted a disk's limit as reached while clients stalled.
func (c *Case) providerLimited() bool {
	for _, l := range providerLimits {
		for _, t := range c.Signal(l.signal) {
			if timeline.Max(timeline.At(t.Values, c.Stall.Cells)) >= l.from {
				return true
			}
		}
	}
	return false
}
