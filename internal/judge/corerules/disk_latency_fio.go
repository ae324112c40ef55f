package corerules

import (
	"slices"
	"strconv"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// serialFioWaits is the share of its time that a job of depth one waits for the device, above which
// it counts as serial.
const serialFioWaits = 0.7

// A fioRun is one report of a fio job.
type fioRun struct {
	rate, write, sync, depth float64
	first, last              int // cells
}

// each is the time that one write takes, including its sync.
func (x fioRun) each() float64 {
	if x.sync == x.sync {
		return x.write + x.sync
	}
	return x.write
}

// maxFioRuns bounds how many reports of one job are judged separately.
const maxFioRuns = 16

// fioRuns returns the reports of a job in order: trials on different volumes have the same job
// name.
func fioRuns(sig *rules.Signals, job string) []fioRun {
	get := func(signal *rules.Signal) []float64 { return sig.For(signal, "job", job) }
	rate, write := get(rules.FioWrite), get(rules.FioWriteLatency)
	sync, depth := get(rules.FioSyncLatency), get(rules.FioIodepth)
	var out []fioRun
	for k := range depth {
		x := fioRun{rate: rules.ValueAt(rate, k), write: rules.ValueAt(write, k), sync: rules.ValueAt(sync, k),
			depth: depth[k], first: k, last: k}
		if !(x.depth > 0) || !(x.rate > 0) {
			continue
		}
		// A report repeats in every cell until the next one.
		if n := len(out); n > 0 && out[n-1].rate == x.rate && out[n-1].each() == x.each() {
			out[n-1].last = k
		} else if n < maxFioRuns {
			out = append(out, x)
		}
	}

	return out
}

// serialFio judges fio's own report: a job of depth one is serial by construction.
func serialFio(r rules.Rule, c *rules.Case) []rules.Finding {
	var out []rules.Finding
	for _, t := range c.Signal(rules.FioIodepth) {
		job := t.Labels.Get("job")
		runs := slices.DeleteFunc(fioRuns(&c.Signals, job), func(x fioRun) bool {
			return x.depth != 1 || !(x.rate*x.each() > serialFioWaits)
		})
		if len(runs) == 0 {
			continue
		}

		f := r.Finding("fio job " + job)
		f.Severity, f.Weight = rules.Info, 1

		// The best run is what the volume can do; slower ones may have been disturbed.
		best := runs[0]
		for _, x := range runs {
			if x.rate > best.rate {
				best = x
			}
			cells := timeline.MaskOf(c.Grid.N, []timeline.Episode{{First: x.first, Last: x.last}})
			f.Evidence = append(f.Evidence,
				c.FigureOf("writes", "fio_write_iops", x.rate, "1/s", cells),
				c.FigureOf("mean latency of a write", "fio_write_latency_mean_seconds", x.write, "seconds", cells),
				c.FigureOf("mean latency of a sync", "fio_sync_latency_mean_seconds", x.sync, "seconds", cells))
		}

		f.Evidence = append(f.Evidence,
			c.FigureOf("requests in flight", "fio_job_iodepth", 1, "requests", timeline.Known(t.Values)))
		f.Evidence = slices.DeleteFunc(f.Evidence, func(e rules.Evidence) bool { return e.Value == nil })
		f.Say("fio", fioValues(job, runs, best))
		f.Advise("no IOPS", nil)
		lowerLatency(&f, best.each())
		out = append(out, f)
	}

	return out
}

func fioValues(job string, runs []fioRun, best fioRun) rules.Values {
	v := rules.Values{
		"job":     rules.Called(job),
		"rate":    rules.Number(best.rate),
		"each":    rules.Seconds(best.each()),
		"waiting": rules.Part(min(1, best.rate*best.each())),
		"runs":    "", "least": "", "sold": ""}

	if len(runs) > 1 {
		least := best.rate
		for _, x := range runs {
			least = min(least, x.rate)
		}
		v["runs"], v["least"] = rules.Called(strconv.Itoa(len(runs))), rules.Number(least)
	}

	if limit, ok := rules.SoldIOPS(best.rate); ok {
		v["sold"] = rules.Called(limit.What)
	}

	return v
}
