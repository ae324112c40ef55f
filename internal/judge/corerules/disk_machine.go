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
	c *rules.Case,
	devices []string,
	of *rules.Signal,
) (m machineCap, stillness float64, ok bool) {
	sum := make([]float64, c.Grid.N)
	any := make(timeline.Mask, c.Grid.N)

	saturatedAt := map[string]timeline.Mask{}
	for _, dev := range devices {
		busy, queue := c.For(rules.DiskBusy, "device", dev), c.For(rules.DiskQueue, "device", dev)
		at := timeline.Where(busy, func(x float64) bool { return x > rules.SaturatedBusy }).
			And(timeline.Where(queue,
				func(x float64) bool { return x > rules.SaturatedQueue }))
		saturatedAt[dev] = at
		any = any.Or(at)
		for k, x := range c.For(of, "device", dev) {
			if x == x {
				sum[k] += x
			}
		}
	}

	p, ok := timeline.FindPlateau(sum, any, rules.CapTolerance, rules.CapMinCells, c.SampleCells(of))
	if !ok || p.Share < rules.CapMinShare || p.Above > rules.CapMaxAbove || p.Chance > rules.CapChanceWaits {
		return m, 0, false
	}

	stillness = rules.Spread(sum, p.Cells)
	m = machineCap{Plateau: p, of: of}
	total := timeline.Sum(timeline.At(sum, p.Cells))

	// Volumes that share a limit vary against each other while their sum does not.
	vary, both, again := 0, 0, false
	for i, dev := range devices {
		rate := c.For(of, "device", dev)
		if !(timeline.Sum(timeline.At(rate, p.Cells)) >= machineCarries*total) {
			continue
		}

		again = again || slices.ContainsFunc(devices[:i],
			func(o string) bool { return rules.SameDevice(c.For(of, "device", o), rate, p.Cells) })
		m.devices = append(m.devices, dev)
		if x := rules.Spread(rate, p.Cells); x >= machineVaries && x >= rules.StillFactor*stillness {
			vary++
		}

		if rules.Share(saturatedAt[dev], p.Cells) >= machineBoth {
			both++
		}
	}

	if again {
		return m, 0, false // a partition or a layer counts another device's requests again
	}

	if m.known = machineLevel(c, m, p.Level); m.known != "" {
		return m, stillness, true
	}

	return m, stillness, vary >= 2 && vary == len(m.devices) && both >= 2
}

// machineLevel returns which limit of the machine type a level matches; "" if none, or if the only
// volume at that level may have the limit itself.
func machineLevel(c *rules.Case, m machineCap, level float64) string {
	if c.Machine == nil {
		return ""
	}

	for _, x := range []struct {
		name string
		p    rules.Provision
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
func machines(r rules.Rule, c *rules.Case) []rules.Finding {
	var out []rules.Finding
	for _, m := range machineCaps(c) {
		at := m.Cells.Close(1)
		f := r.Finding("machine")
		if c.Machine != nil {
			f.Subject = c.Machine.Name
		}

		f.Weight = rules.Share(at.Widen(1, 1), c.Stall.Cells)
		f.Severity = c.SeverityOf(f.Weight)
		f.Windows, f.PeriodS = c.Windows(at.Close(3)), c.Period(at.Close(c.Cells(5e9)))
		f.Foremost = true

		if f.Severity != rules.Info && c.Unrelated(at) {
			f.Severity, f.Foremost = rules.Info, false
		}

		level, unit := rules.Of(m.Level, "IOPS"), "1/s"
		if m.of == rules.DiskMoved {
			level, unit = mibs(m.Level), "bytes/s"
		}

		v := rules.Values{"level": level, "devices": rules.Joined(m.devices), "for": rules.Seconds(c.Seconds(at)),
			"known": rules.Called(m.known), "share": "", "alone": ""}
		if c.Stall.Any() {
			v["share"] = rules.Part(f.Weight)
		}

		if len(m.devices) == 1 {
			v["alone"] = "alone"
		}

		f.Say("machine", v)
		f.Evidence = []rules.Evidence{c.Figure("plateau: the volumes' combined rate, in "+string(rules.Part(m.Share))+
			" of the saturated intervals, within 5 %", m.of, m.Level, unit, m.Cells)}

		for _, dev := range m.devices {
			rate := timeline.At(c.For(m.of, "device", dev), m.Cells)
			f.Evidence = append(f.Evidence,
				c.Figure("10th percentile of "+dev+" at the plateau", m.of, timeline.Quantile(rate, 0.1), unit, m.Cells),
				c.Figure("90th percentile of "+dev+" at the plateau", m.of, timeline.Quantile(rate, 0.9), unit, m.Cells))
		}

		f.Advise("instance", nil)
		f.Advise("spread", nil)
		out = append(out, f)
	}

	return out
}
