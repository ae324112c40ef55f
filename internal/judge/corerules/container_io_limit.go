package corerules

import (
	"fmt"
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// roomBusy is the busy share below which a device has room for more. A busier one may itself be
	// the bottleneck.
	roomBusy = 0.9
)

// containerIOWhen is the condition that any of the limits is reached.
func containerIOWhen() string {
	var alts []string
	for _, l := range rules.IOLimits {
		alts = append(alts, fmt.Sprintf("%s / %s > %g", l.Rate.Name, l.Limit.Name, rules.AtLimit))
	}
	return strings.Join(alts, " or ")
}

const ioLimitOf = "The {{if not .group}}container's {{end}}limit of {{.limit}} on {{.device}}{{with .group}}, set on the container's parent cgroup {{.}},{{end}} "

func containerIOLimit() rules.Rule {
	r := rules.Rule{ID: "container/io-limit", Title: "The container's I/O limit binds", Kind: rules.Cause,
		Traced: cgroupLimit, When: containerIOWhen(), Needs: []*rules.Signal{},
		Cause: "A limit on the container's I/O (io.max, blkio.throttle) holds its requests back before the device sees them. The device is idle while the database waits as it would on a slow volume, and neither a faster nor a larger volume changes anything.",
		Words: rules.Words{
			"in stalls": ioLimitOf + "was reached in {{.share}} of the stalled time.",
			"in all":    ioLimitOf + "was reached for {{.for}} in total.",
			"disk busy": "But {{.device}} itself was busy {{.busy}} of that time: either both limits are close to each other, or another program is using up the device.",
			"disk idle": "The disk is not the cause: {{.device}} was busy {{.busy}} of that time.",
		},
		Advice: map[string]rules.Advice{
			"raise": {Summary: "Raise the limit, up to what the volume delivers: {{.key}} in io.max (cgroup v2), {{.keyV1}} (v1); systemd: IOWriteIOPSMax=, IOWriteBandwidthMax=; Docker: --device-write-iops, --device-write-bps (and the same for reads)",
				Expect:   "requests reach the device; the stall ends, or the volume's own limit binds next",
				TradeOff: "neighbours on the same volume notice this container's bursts", Do: []*rules.Remedy{liftIO}},
			"smaller": {Summary: "Make the bursts smaller: pace the checkpoint, bound dirty bytes",
				Expect:   "the same bytes under the same limit, spread over more seconds",
				TradeOff: "see the other findings", Do: []*rules.Remedy{rules.PaceWrites}},
		}}

	for _, l := range rules.IOLimits {
		r.AnyOf = append(r.AnyOf, l.Limit)
	}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, l := range rules.IOLimits {
			for _, limit := range c.Signal(l.Limit) {
				if f, ok := limitFinding(r, c, l, limit); ok {
					out = append(out, f)
				}
			}
		}
		return out
	}

	return r
}

func limitFinding(r rules.Rule, input *rules.Case, kind rules.IOLimit,
	limit timeline.Track) (rules.Finding, bool) {
	rate := input.OfContainer(kind.Rate, limit, "device")
	cells := input.HeldBack(rate, limit.Values)
	if input.Seconds(cells) < minThrottledS {
		return rules.Finding{}, false
	}

	dev := limit.Labels.Get("device")
	finding, ok := r.Binds(input, rules.ContainerName(limit.Labels)+" on "+dev, cells)
	in := cells.And(input.Stall.Cells)

	if !ok {
		if input.Stall.Any() || rules.Share(cells, input.Stall.Observed) < rules.MinAttributable {
			return finding, false
		}
		// Nothing stalled, but the limit was reached for long enough to be worth a remark.
		finding, in = reached(r, input, rules.ContainerName(limit.Labels)+" on "+dev, cells), cells
	}

	// Evidence has plain units; the sentence says what is counted.
	unit, of := "1/s", kind.What+"/s"
	if kind.Limit.Unit == "bytes/s" {
		unit, of = "bytes/s", "bytes/s"
	}

	most := timeline.Max(limit.Values)
	reached := "in stalls"
	if !ok {
		reached = "in all"
	}

	finding.Say(
		reached,
		rules.Values{
			"group":  input.GroupAbove(limit.Labels),
			"limit":  rules.Of(most, of),
			"device": rules.Called(dev),
			"share":  rules.Part(rules.Share(cells, input.Stall.Cells)),
			"for":    rules.Seconds(input.Seconds(cells)),
		},
	)
	if mean := timeline.Mean(timeline.At(input.For(rules.DiskBusy, "device", dev), in)); mean == mean {
		words := "disk idle"
		if mean >= roomBusy {
			words = "disk busy"
			finding.Severity = rules.LessThanCritical(finding.Severity)
		}
		finding.Say(words, rules.Values{"device": rules.Called(dev), "busy": rules.Part(mean)})
		input.AddFigure(&finding, "busy share of "+dev+" meanwhile, mean", rules.DiskBusy, mean, "ratio", in)
	}

	input.AddFigure(&finding, "limit of the container on "+dev, kind.Limit, most, unit, input.Stall.Observed)
	input.AddFigure(&finding, kind.What+" of the container meanwhile, mean rate", kind.Rate,
		timeline.Mean(timeline.At(rate, in)), unit, in)
	if full := input.OfContainer(rules.ContainerPSIIOFull, limit); full != nil {
		input.AddFigure(&finding, "share of that time in which all its tasks waited for I/O (PSI), mean",
			rules.ContainerPSIIOFull, timeline.Mean(timeline.At(full, in)), "ratio", in)
	}

	finding.Advise("raise", rules.Values{"key": rules.Called(kind.Key), "keyV1": rules.Called(kind.KeyV1)})
	finding.Advise("smaller", nil)
	return finding, true
}

// reached reports a limit that was reached while nothing stalled. It still matters to an engine
// whose log misses its own criterion.
func reached(r rules.Rule, c *rules.Case, subject string, cells timeline.Mask) rules.Finding {
	f := r.Finding(subject)
	f.Severity, f.Windows = rules.Info, c.Windows(cells.Close(3))
	if c.LogLate() {
		f.Severity = rules.Warning
	}
	return f
}
