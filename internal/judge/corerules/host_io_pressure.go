package corerules

import (
	"math"
	"strconv"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// The CPUs' share that waits for I/O depends on how many there are: one thread that always waits is
// 25 % of four CPUs. Blocked tasks do not.
const (
	pressureWait    = 0.15
	pressureBlocked = 2.0
	pressureShare   = 0.5 // of the time
	pressureMinS    = 3.0
	// Waiting this obvious shows in a single interval.
	pressureObvious     = 0.5
	pressureManyBlocked = 8.0
	// Below these at all times, nothing waits for I/O.
	noPressureWait    = 0.05
	noPressureBlocked = 0.5
	// leastIdle is the share of idle CPUs above which iowait shows waiting tasks: a CPU with other work
	// does not count it.
	leastIdle = 0.1
	// swapsPages is how many pages per second are swapped in and out while memory is short.
	swapsPages   = 25.0
	noSwapsPages = 1.0
)

// hostIOPressure judges vmstat and other sources that see neither a device's latency nor clients.
func hostIOPressure() rules.Rule {
	r := rules.Rule{ID: "host/io-pressure", Title: "Tasks wait for I/O", Kind: rules.Symptom, Whole: true,
		Needs: []*rules.Signal{}, AnyOf: []*rules.Signal{rules.CPUIowait, rules.ProcsBlocked, rules.SwapOut},
		NoAlert: "it is for sources without the latency of a device; other rules judge those that have it",
		Cause:   "A CPU is in iowait while it has nothing to run and a task waits for a device. It shows that something waits for storage, but not for which device or how long.",
		Words: rules.Words{
			"calm title":   "The host hardly waits for I/O",
			"swap title":   "The host swaps: memory is short",
			"swap":         "{{.out}} pages per second were swapped out and {{.in}} in (means): memory is short, and the swap device adds I/O.",
			"calm":         "The host shows no sign of waiting for storage: the CPUs waited for I/O at most {{.most}} of an interval{{with .bound}}, {{.}} of one task's time{{end}}{{with .tasks}}, at most {{.}} tasks were blocked{{end}}{{if .noswap}}, and nothing was swapped{{end}}.",
			"some title":   "Few tasks wait for I/O",
			"some":         "The CPUs waited for I/O at most {{.most}} of an interval. On {{.cpus}} CPUs that is as long as {{.always}} tasks that wait all the time would take, so a single thread, such as the one that writes a log, may have waited all the time.",
			"hidden title": "Whether a task waits for I/O is unknown",
			"hidden":       "The CPUs waited for I/O at most {{.most}} of an interval. {{if .cpus}}They had too little idle time to count it, and the number of blocked tasks is unknown.{{else}}Neither the number of CPUs nor that of blocked tasks is known: one thread that always waits is 100 % of one CPU, and 1 % of a hundred.{{end}} A thread that waits all the time cannot be ruled out.",
			"pressure":     "Tasks wait for I/O: the CPUs waited for it {{.wait}} of the time (median){{with .blocked}}, with {{.}} tasks blocked{{end}}.",
			"opening":      "{{if .swaps}}The host swaps: {{.out}} pages per second were swapped out and {{.in}} in (means).{{if .waits}} {{end}}{{end}}{{if .waits}}Tasks wait for I/O: the CPUs waited for it {{.wait}} of the time (median).{{end}}",
			"which":        "Which device they wait for, and how long, does not show in these sources.",
		},
		Advice: map[string]rules.Advice{
			"record": {Summary: "Record the devices: S_TIME_FORMAT=ISO iostat -xt 1 > iostat.log",
				Expect: "which device tasks wait for, and how long", TradeOff: "none", NoCommand: "it is not a change"},
			"memory": {Summary: "Find out what uses the memory, and set the database's cache so that everything fits",
				Expect: "nothing is swapped", TradeOff: "more reads from the disk if the working set no longer fits",
				NoCommand: "only you know how large the working set is"},
		}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		// Latencies say more.
		if c.SinceStart || c.Stall.Observed.Count() > 0 || len(c.Signal(rules.DiskWriteAwait)) > 0 {
			return nil
		}
		return pressure(r, c)
	}

	return r
}

func pressure(rule rules.Rule, input *rules.Case) []rules.Finding {
	wait, blocked := input.One(rules.CPUIowait), input.One(rules.ProcsBlocked)
	in, out := timeline.Mean(input.One(rules.SwapIn)), timeline.Mean(input.One(rules.SwapOut))
	known := timeline.Known(wait).Or(timeline.Known(blocked))
	// A share over half of the time shows in the median.
	usual, tasks := timeline.Quantile(wait, 1-pressureShare), timeline.Quantile(blocked, 1-pressureShare)
	obvious := usual >= pressureObvious || tasks >= pressureManyBlocked
	if input.Seconds(known) < pressureMinS && !(obvious && known.Count() > 0) {
		return nil
	}

	values := rules.Values{
		"wait":    rules.Part(usual),
		"blocked": "",
		"in":      rules.Number(max(0, in)),
		"out":     rules.Number(max(0, out)),
		"most":    rules.Part(timeline.Max(wait)),
		"tasks":   "",
		"noswap":  "",
		"waits":   "",
		"swaps":   "",
		"bound":   "",
		"cpus":    "",
		"always":  "",
	}
	if tasks == tasks {
		values["blocked"], values["tasks"] = rules.Number(tasks), rules.Number(timeline.Max(blocked))
	}

	finding := rule.Finding("host")
	finding.Weight, finding.Windows = 0.4, input.Windows(known)
	finding.Evidence = []rules.Evidence{input.Figure("share of the CPUs' time waiting for I/O, median", rules.CPUIowait, usual, "ratio", known)}
	if tasks == tasks {
		finding.Evidence = append(
			finding.Evidence,
			input.Figure("tasks blocked on I/O, median", rules.ProcsBlocked, tasks, "", known),
		)
	}

	waits := usual >= pressureWait || tasks >= pressureBlocked && usual >= noPressureWait
	swaps := in+out >= swapsPages
	switch {
	case waits || swaps:
		finding.Severity = rules.Warning
		if swaps {
			finding.Entitle("swap title", values)
			finding.Say("swap", values)
			values["swaps"] = "so"
			finding.Evidence = append(finding.Evidence,
				input.Figure("pages swapped out, mean", rules.SwapOut, out, "1/s", known))
			finding.Advise("memory", nil)
		}
		if waits {
			values["waits"] = "so"
			finding.Say("pressure", values)
		}
		finding.Open("opening", values)
		finding.Say("which", nil)
		finding.Advise("record", nil)
	case timeline.Max(wait) < noPressureWait && !(timeline.Quantile(blocked, 0.9) > noPressureBlocked) &&
		!(in+out > noSwapsPages):
		finding.Severity = rules.Info
		if tasks != tasks {
			most, cpus := tasksAlwaysWaiting(input, wait)
			if cpus > 0 {
				values["cpus"] = rules.Number(cpus)
			}
			values["bound"], values["always"] = rules.Part(most), rules.Number(most)

			key := ""
			switch {
			case most != most:
				key = "hidden"
			case most >= noPressureBlocked:
				key = "some"
			}
			if key != "" {
				finding.Entitle(key+" title", values)
				finding.Say(key, values)
				finding.Advise("record", nil)
				return []rules.Finding{finding}
			}
		}

		finding.Kind = rules.Refutation
		if in+out <= noSwapsPages {
			values["noswap"] = "so"
		}
		finding.Entitle("calm title", values)
		finding.Say("calm", values)
		finding.Open("calm", values)
	default:
		return nil
	}

	return []rules.Finding{finding}
}

// tasksAlwaysWaiting returns the maximum number of permanently waiting tasks that would explain the
// CPUs' iowait, and the number of CPUs of the host. A CPU is in iowait only while it has nothing
// else to run, so the share is of the idle time. NaN if the CPUs are unknown or hardly idle, and 0
// CPUs if they are unknown.
func tasksAlwaysWaiting(c *rules.Case, wait []float64) (tasks, cpus float64) {
	cpus, err := strconv.ParseFloat(c.Facts["cores"], 64)
	if err != nil || !(cpus >= 1) {
		cpus = timeline.Max(c.One(rules.CPUCores))
	}
	if !(cpus >= 1) {
		return math.NaN(), 0
	}

	busy, stolen := c.One(rules.CPUBusy), c.One(rules.CPUStolen)
	if len(busy) == 0 {
		return math.NaN(), cpus
	}

	for i, share := range wait {
		if share != share {
			continue
		}

		idle := 1 - busy[i]
		if len(stolen) > 0 && stolen[i] == stolen[i] {
			idle -= stolen[i]
		}
		if !(idle >= leastIdle) {
			return math.NaN(), cpus
		}
		if n := share * cpus / idle; !(n <= tasks) {
			tasks = n
		}
	}

	return tasks, cpus
}
