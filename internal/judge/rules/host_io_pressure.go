package rules

import "plimsoll/internal/record/timeline"

// The CPUs' share that waits for I/O depends on how many there are: one thread that always waits is
// 25 % of four CPUs. Blocked tasks do not.
const (
	pressureWait    = 0.15
	pressureBlocked = 2.0
	pressureShare   = 0.5 // of the time
	pressureMinS    = 3.0
	// Below these at all times, nothing waits for I/O.
	noPressureWait    = 0.05
	noPressureBlocked = 0.5
	// swapsPages is how many pages per second are swapped in and out while memory is short.
	swapsPages   = 25.0
	noSwapsPages = 1.0
)

// hostIOPressure judges vmstat and other sources that see neither a device's latency nor clients.
func hostIOPressure() Rule {
	r := Rule{ID: "host/io-pressure", Title: "Tasks wait for I/O", Kind: Symptom, Whole: true,
		Needs: []*Signal{}, AnyOf: []*Signal{CPUIowait, ProcsBlocked, SwapOut},
		NoAlert: "it is for sources without the latency of a device; other rules judge those that have it",
		Cause:   "A CPU is in iowait while it has nothing to run and a task waits for a device. It shows that something waits for storage, but not for which device or how long.",
		Words: Words{
			"calm title": "The host hardly waits for I/O",
			"swap title": "The host swaps: memory is short",
			"swap":       "{{.out}} pages per second were swapped out and {{.in}} in (means): memory is short, and the swap device adds I/O.",
			"calm":       "The host shows no sign of waiting for storage: the CPUs waited for I/O at most {{.most}} of an interval{{with .tasks}}, at most {{.}} tasks were blocked{{end}}{{if .noswap}}, and nothing was swapped{{end}}.",
			"pressure":   "Tasks wait for I/O: the CPUs waited for it {{.wait}} of the time (median){{with .blocked}}, with {{.}} tasks blocked{{end}}.",
			"opening":    "{{if .swaps}}The host swaps: {{.out}} pages per second were swapped out and {{.in}} in (means).{{if .waits}} {{end}}{{end}}{{if .waits}}Tasks wait for I/O: the CPUs waited for it {{.wait}} of the time (median).{{end}}",
			"which":      "Which device they wait for, and how long, does not show in these sources.",
		},
		Advice: map[string]Advice{
			"record": {Summary: "Record the devices: S_TIME_FORMAT=ISO iostat -xt 1 > iostat.log",
				Expect: "which device tasks wait for, and how long", TradeOff: "none", NoCommand: "it is not a change"},
			"memory": {Summary: "Find out what uses the memory, and set the database's cache so that everything fits",
				Expect: "nothing is swapped", TradeOff: "more reads from the disk if the working set no longer fits",
				NoCommand: "only you know how large the working set is"},
		}}

	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		// Latencies say more.
		if c.SinceStart || c.Stall.Observed.Count() > 0 || len(c.Signal(DiskWriteAwait)) > 0 {
			return nil
		}
		return r.pressure(c)
	}

	return r
}

func (r Rule) pressure(c *Case) []Finding {
	wait, blocked := c.One(CPUIowait), c.One(ProcsBlocked)
	in, out := timeline.Mean(c.One(SwapIn)), timeline.Mean(c.One(SwapOut))
	known := timeline.Known(wait).Or(timeline.Known(blocked))
	if c.Seconds(known) < pressureMinS {
		return nil
	}

	// A share over half of the time shows in the median.
	usual, tasks := timeline.Quantile(wait, 1-pressureShare), timeline.Quantile(blocked, 1-pressureShare)
	v := Values{"wait": Part(usual), "blocked": "", "in": Number(max(0, in)), "out": Number(max(0, out)),
		"most": Part(timeline.Max(wait)), "tasks": "", "noswap": "", "waits": "", "swaps": ""}
	if tasks == tasks {
		v["blocked"], v["tasks"] = Number(tasks), Number(timeline.Max(blocked))
	}

	f := r.Finding("host")
	f.Weight, f.Windows = 0.4, c.Windows(known)
	f.Evidence = []Evidence{c.Figure("share of the CPUs' time waiting for I/O, median", CPUIowait, usual, "ratio", known)}
	if tasks == tasks {
		f.Evidence = append(f.Evidence, c.Figure("tasks blocked on I/O, median", ProcsBlocked, tasks, "", known))
	}

	waits := usual >= pressureWait || tasks >= pressureBlocked && usual >= noPressureWait
	swaps := in+out >= swapsPages
	switch {
	case waits || swaps:
		f.Severity = Warning
		if swaps {
			f.Entitle("swap title", v)
			f.Say("swap", v)
			v["swaps"] = "so"
			f.Evidence = append(f.Evidence, c.Figure("pages swapped out, mean", SwapOut, out, "1/s", known))
			f.Advise("memory", nil)
		}
		if waits {
			v["waits"] = "so"
			f.Say("pressure", v)
		}
		f.Open("opening", v)
		f.Say("which", nil)
		f.Advise("record", nil)
	case timeline.Max(wait) < noPressureWait && !(timeline.Quantile(blocked, 0.9) > noPressureBlocked) &&
		!(in+out > noSwapsPages):
		f.Kind, f.Severity = Refutation, Info
		if in+out <= noSwapsPages {
			v["noswap"] = "so"
		}
		f.Entitle("calm title", v)
		f.Say("calm", v)
		f.Open("calm", v)
	default:
		return nil
	}

	return []Finding{f}
}
