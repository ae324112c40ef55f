package fleet

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// storeLabels returns labels that say where a series is stored, not what it measures. Thanos gives
// each receiver or Prometheus its own external labels. Unless a query removes them
// (--query.replica-label), two series of one exporter that are stored separately differ in them,
// and no expression can combine both, such as busy time divided by writes. A storage label is on
// every series of a database and has several values among those of one exporter. A metric's own
// labels (device, mode, le) are not on every series.
func storeLabels(series []recording.Series) []string {
	everywhere := map[string]int{}
	for _, s := range series {
		s.Labels.Range(func(l labels.Label) { everywhere[l.Name]++ })
	}
	var out []string
	for name, n := range everywhere {
		if n == len(series) && name != labels.MetricName && name != instance && name != "job" &&
			split(series, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// split reports whether series of one exporter differ in a label.
func split(series []recording.Series, name string) bool {
	of := map[[2]string]string{}
	for _, s := range series {
		exporter := [2]string{s.Labels.Get(instance), s.Labels.Get("job")}
		was, seen := of[exporter]
		if seen && was != s.Labels.Get(name) {
			return true
		}
		of[exporter] = s.Labels.Get(name)
	}
	return false
}

// merged returns the series without the given labels. Replicas then have identical labels; the one
// with the most samples is kept.
func merged(series []recording.Series, without []string) []recording.Series {
	if len(without) == 0 {
		return series
	}

	at := map[string]int{}
	var out []recording.Series
	for _, s := range series {
		b := labels.NewBuilder(s.Labels)
		b.Del(without...)
		s.Labels = b.Labels()
		key := string(s.Labels.Bytes(nil))

		i, seen := at[key]
		switch {
		case !seen:
			at[key] = len(out)
			out = append(out, s)
		case len(s.Points) > len(out[i].Points):
			out[i] = s
		}
	}

	slices.SortFunc(out, func(a, b recording.Series) int { return labels.Compare(a.Labels, b.Labels) })
	return out
}
