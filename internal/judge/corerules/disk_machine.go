package corerules

import (
	"math"
	"slices"
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A limit may be the machine's, for all its volumes together, even though each volume looks as if
// it hit its own limit. Without the provider's count, two signs show that: the sum of the
// volumes is constant while each of them varies, or the level is a limit that this machine type has
// and the volume does not.
const (
	machineCarries = 0.1  // of the sum: a volume with less does not count
	machineVaries  = 0.05 // minimum spread of each volume
	machineBoth    = 0.5  // share of the plateau in which at least two volumes are saturated
	machineWithin  = 0.04 // how close a plateau must be to the machine's limit
)

func diskMachineCapped() rules.Rule {
	r := rules.Rule{ID: "disk/machine-capped", Title: "The machine's limit binds, not a volume's", Kind: rules.Cause,
		When: saturated, Needs: []*rules.Signal{rules.DiskBusy, rules.DiskQueue, rules.DiskOps},
		Refutes: []rules.Resource{rules.VolumeIOPS, rules.VolumeThroughput},
		NoAlert: "its condition is the same as for disk/iops-capped, which does not show what several volumes do together",
		Cause:   "A machine has a limit for all its volumes together: a baseline and a burst (EC2), with and without the host's cache (Azure), by its cores (Google Cloud). Volumes that hit it wait like volumes at their own limits, and buying more for the volumes changes nothing.",
		Words: rules.Words{"machine": "{{if .alone}}{{.devices}} plateaus{{else}}{{.devices}} together plateau{{end}} at {{.level}} for {{.for}} in total{{with .share}}, in {{.}} of the stalled time{{end}}" +
			"{{if not .alone}}, while each of them varies{{end}}: {{with .known}}that is {{.}}{{else}}they share a limit{{end}}. A larger volume will not help."},
		Advice: instanceAdvice}
	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding { return machines(r, c) }
	return r
}

// A machineCap is a limit of the machine.
type machineCap struct {
	timeline.Plateau
	of      *rules.Signal // DiskOps or DiskMoved
	devices []string
	known   string // "the baseline of m6i.large"; "" if only the sum shows it
}

// machineCaps are the machine's limits that bind, computed once.
func machineCaps(c *rules.Case) []machineCap {
	return rules.Once(c, "machine caps", func() []machineCap {
		if len(c.Signal(rules.EBSInstanceIOPSExceeded)) > 0 {
			return nil // disk/instance-capped is exact
		}
		return findMachineCaps(c)
	})
}

func findMachineCaps(c *rules.Case) []machineCap {
	hosts := map[string][]string{}
	var order []string
	for _, t := range c.Signal(rules.DiskOps) {
		dev := t.Labels.Get("device")
		host := dev[:strings.LastIndexByte(dev, '/')+1]
		// A stacked device would count the bytes of the devices below again.
		if rules.Stacked(strings.TrimPrefix(dev, host)) || c.For(rules.DiskBusy, "device", dev) == nil ||
			c.For(rules.DiskQueue, "device", dev) == nil {
			continue
		}
		if hosts[host] == nil {
			order = append(order, host)
		}
		hosts[host] = append(hosts[host], dev)
	}

	var out []machineCap
	for _, host := range order {
		best := math.Inf(1)
		var found *machineCap
		for _, of := range []*rules.Signal{rules.DiskOps, rules.DiskMoved} {
			m, stillness, ok := findMachineCap(c, hosts[host], of)
			if ok && stillness < best {
				found, best = &m, stillness
			}
		}
		if found != nil {
			out = append(out, *found)
		}
	}

	return out
}

// findMachineCap looks for a limit of one kind. stillness is the spread of the sum at the limit: lower
// is steadier.
func findMachineCap(
	input *rules.Case,
	devices []string,
	of *rules.Signal,
) (machine machineCap, stillness float64, ok bool) {
	sum := make([]float64, input.Grid.N)
	any := make(timeline.Mask, input.Grid.N)

	saturatedAt := map[string]timeline.Mask{}
	for _, dev := range devices {
		at, _ := input.SaturatedDevice(dev)
		saturatedAt[dev] = at
		any = any.Or(at)
		for k, x := range input.For(of, "device", dev) {
			if x == x {
				sum[k] += x
			}
		}
	}

	plateau, ok := timeline.FindPlateau(sum, any, rules.CapTolerance, rules.CapMinCells, input.SampleCells(of))
	if !ok || plateau.Share < rules.CapMinShare || plateau.Above > rules.CapMaxAbove ||
		plateau.Chance > rules.CapChanceWaits {
		return machine, 0, false
	}

	stillness = rules.Spread(sum, plateau.Cells)
	machine = machineCap{Plateau: plateau, of: of}
	total := timeline.Sum(timeline.At(sum, plateau.Cells))

	// Volumes that share a limit vary against each other while their sum does not.
	vary, both, again := 0, 0, false
	for i, dev := range devices {
		rate := input.For(of, "device", dev)
		if !(timeline.Sum(timeline.At(rate, plateau.Cells)) >= machineCarries*total) {
			continue
		}

		again = again || slices.ContainsFunc(devices[:i],
			func(o string) bool { return rules.SameDevice(input.For(of, "device", o), rate, plateau.Cells) })
		machine.devices = append(machine.devices, dev)
		if x := rules.Spread(rate, plateau.Cells); x >= machineVaries && x >= rules.StillFactor*stillness {
			vary++
		}

		if rules.Share(saturatedAt[dev], plateau.Cells) >= machineBoth {
			both++
		}
	}

	if again {
		return machine, 0, false // a partition or a layer counts another device's requests again
	}

	if machine.known = machineLevel(input, machine, plateau.Level); machine.known != "" {
		return machine, stillness, true
	}

	return machine, stillness, vary >= 2 && vary == len(machine.devices) && both >= 2
}

// machineLevel returns which limit of the machine type a level matches; "" if none, or if the only
// volume at that level may have the limit itself.
func machineLevel(c *rules.Case, m machineCap, level float64) string {
	if c.Machine == nil {
		return ""
	}

	for _, x := range []struct {
		name string
		p    rules.Rate
	}{{"the baseline", c.Machine.Baseline}, {"the maximum", c.Machine.Maximum}} {
		limit := x.p.IOPS
		if m.of == rules.DiskMoved {
			limit = x.p.Throughput
		}

		if !(limit > 0) || math.Abs(level-limit) > machineWithin*limit {
			continue
		}

		// With several volumes the level is a sum, which no volume's limit explains.
		if len(m.devices) == 1 {
			own, known := c.Provisioned[m.devices[0]]
			gives := own.IOPS
			if m.of == rules.DiskMoved {
				gives = own.Throughput
			}
			_, iops := rules.SoldIOPS(level)
			_, bytes := rules.SoldThroughput(level)
			sold := m.of == rules.DiskOps && iops || m.of == rules.DiskMoved && bytes
			if known && gives <= level*(1+machineWithin) || !known && sold {
				continue
			}
		}

		return x.name + " of " + c.Machine.Name
	}

	return ""
}

// machineBinds reports whether the machine's limit, not a volume's, binds in most of these cells.
func machineBinds(c *rules.Case, cells timeline.Mask) bool {
	return slices.ContainsFunc(machineCaps(c),
		func(m machineCap) bool { return rules.Share(m.Cells.Widen(1, 1), cells) >= machineBoth })
}

// machines are the findings for machine limits that the provider does not count.
func machines(r rules.Rule, input *rules.Case) []rules.Finding {
	var out []rules.Finding
	for _, machine := range machineCaps(input) {
		at := machine.Cells.Close(1)
		finding := r.During(input, "machine", rules.Share(at.Widen(1, 1), input.Stall.Cells), at.Close(3))
		if input.Machine != nil {
			finding.Subject = input.Machine.Name
		}

		finding.PeriodS, finding.Foremost = input.Period(at.Close(input.Cells(5e9))), true

		if finding.Severity != rules.Info && input.Unrelated(at) {
			finding.Severity, finding.Foremost = rules.Info, false
		}

		level, unit := rules.Of(machine.Level, "IOPS"), "1/s"
		if machine.of == rules.DiskMoved {
			level, unit = mibs(machine.Level), "bytes/s"
		}

		v := rules.Values{"level": level, "devices": rules.Joined(machine.devices),
			"for":   rules.Seconds(input.Seconds(at)),
			"known": rules.Called(machine.known), "share": input.PartOfStall(finding.Weight), "alone": ""}

		if len(machine.devices) == 1 {
			v["alone"] = "alone"
		}

		finding.Say("machine", v)
		finding.Evidence = []rules.Evidence{input.Figure("plateau: the volumes' combined rate, in "+string(rules.Part(machine.Share))+
			" of the saturated intervals, within 5 %", machine.of, machine.Level, unit, machine.Cells)}

		for _, dev := range machine.devices {
			rate := timeline.At(input.For(machine.of, "device", dev), machine.Cells)
			finding.Evidence = append(finding.Evidence,
				input.Figure("10th percentile of "+dev+" at the plateau", machine.of, timeline.Quantile(rate, 0.1), unit, machine.Cells),
				input.Figure("90th percentile of "+dev+" at the plateau", machine.of, timeline.Quantile(rate, 0.9), unit, machine.Cells))
		}

		finding.Advise("instance", nil)
		finding.Advise("spread", nil)
		out = append(out, finding)
	}

	return out
}
