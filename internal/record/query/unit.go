package query

import "strings"

// units are the suffixes of metric names that indicate a unit, according to the conventions of
// OpenMetrics and Prometheus (prometheus.io/docs/practices/naming).
var units = []struct{ suffix, unit string }{
	{"_milliseconds", "ms"}, {"_microseconds", "µs"}, {"_micros", "µs"}, {"_millis", "ms"}, {"_ms", "ms"},
	{"_us", "µs"},
	{"_seconds", "s"}, {"_bytes", "bytes"}, {"_ratio", "ratio"}, {"_percent", "%"}, {"_pages", "pages"},
	{"_info", "info"},
}

// Unit returns the unit in a metric's name, before the suffixes _total, _sum, _count and _bucket:
// "bytes" for node_memory_Dirty_bytes, "s, counter" for node_disk_io_time_seconds_total. It returns
// "counter" if the name has only such a suffix, and "" if it has neither.
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
