package query

import "strings"

// units are the suffixes of metrics' names that name a unit, by the conventions of OpenMetrics and
// of Prometheus (prometheus.io/docs/practices/naming).
var units = []struct{ suffix, unit string }{
	{"_milliseconds", "ms"}, {"_microseconds", "µs"}, {"_micros", "µs"}, {"_millis", "ms"}, {"_ms", "ms"},
	{"_us", "µs"},
	{"_seconds", "s"}, {"_bytes", "bytes"}, {"_ratio", "ratio"}, {"_percent", "%"}, {"_pages", "pages"},
	{"_info", "info"},
}

// Unit is the unit that a metric's name ends with, before the suffixes _total, _sum, _count and
// _bucket: "bytes" of node_memory_Dirty_bytes, "s, counter" of node_disk_io_time_seconds_total. It
// is "counter" if the name says no more, and "" if it says nothing.
func Unit(metric string) string {
	name, counter := strings.CutSuffix(metric, "_total")
	for _, s := range []string{"_sum", "_count", "_bucket"} {
		if base, ok := strings.CutSuffix(name, s); ok {
			name, counter = base, true
			if s == "_count" {
				return "counter"
			}
		}
	}

	for _, u := range units {
		if strings.HasSuffix(name, u.suffix) {
			if counter {
				return u.unit + ", counter"
			}
			return u.unit
		}
	}

	if counter {
		return "counter"
	}

	return ""
}
