package iostat

import (
	"math"

	"github.com/prometheus/prometheus/model/labels"
)

// A hostFigure is a figure of the whole host that sar has: -q (tasks), -B (paging) and -W (swapping).
type hostFigure uint8

const (
	running hostFigure = iota
	blocked
	pagedIn
	pagedOut
	majorFaults
	swappedIn
	swappedOut
	hostFigures
)

// hostMetrics are node_exporter's names. The first ones are not counters: sar prints how many tasks there
// are. Its pgpgin is in KiB per second, as the kernel counts it.
var hostMetrics = [hostFigures]string{
	running:     "node_procs_running",
	blocked:     "node_procs_blocked",
	pagedIn:     "node_vmstat_pgpgin",
	pagedOut:    "node_vmstat_pgpgout",
	majorFaults: "node_vmstat_pgmajfault",
	swappedIn:   "node_vmstat_pswpin",
	swappedOut:  "node_vmstat_pswpout",
}

func (f hostFigure) counts() bool { return f > blocked }

// hostColumns are sar's headings. sadf omits the "/s" in JSON and XML.
var hostColumns = map[string]hostFigure{
	"runq-sz": running, "blocked": blocked,
	"pgpgin/s": pagedIn, "pgpgin": pagedIn, "pgpgout/s": pagedOut, "pgpgout": pagedOut,
	"majflt/s": majorFaults, "majflt": majorFaults,
	"pswpin/s": swappedIn, "pswpin": swappedIn, "pswpout/s": swappedOut, "pswpout": swappedOut,
}

// setHost sets a figure of the host.
func (r *report) setHost(f hostFigure, v float64) {
	if !r.hasHost {
		r.hasHost = true
		for i := range r.host {
			r.host[i] = math.NaN()
		}
	}
	if v >= 0 && v < rateMax {
		r.host[f] = v
	}
}

func (it *integrator) newHost() *counters {
	return it.newCounters(int(hostFigures), func(i int) labels.Labels {
		return labels.FromStrings(labels.MetricName, hostMetrics[i])
	})
}

// addHost adds the host's figures of a report.
func (it *integrator) addHost(r *report, ms int64) {
	c := it.host
	dt := seconds(c.lastMs, ms)
	for i, v := range r.host {
		switch {
		case v != v:
		case hostFigure(i).counts():
			it.move(c, i, v*dt)
		default:
			c.value[i] = 0
			it.move(c, i, v)
		}
	}
	c.lastMs = ms
}

// beginHost adds the first sample of a run to the host's counters.
func (it *integrator) beginHost(r *report, base int64) {
	it.host.live, it.host.lastMs = true, base
	for i, v := range r.host {
		if v == v && hostFigure(i).counts() {
			it.move(it.host, i, 0)
		}
	}
}
