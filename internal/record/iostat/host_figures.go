package iostat

import (
	"math"
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

// hostGauges is the number of figures that are not counters: sar prints how many tasks there are.
const hostGauges = int(blocked) + 1

// hostMetrics are node_exporter's names. Its pgpgin is in KiB per second, as the kernel counts it.
var hostMetrics = [hostFigures]string{
	running:     "node_procs_running",
	blocked:     "node_procs_blocked",
	pagedIn:     "node_vmstat_pgpgin",
	pagedOut:    "node_vmstat_pgpgout",
	majorFaults: "node_vmstat_pgmajfault",
	swappedIn:   "node_vmstat_pswpin",
	swappedOut:  "node_vmstat_pswpout",
}

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
