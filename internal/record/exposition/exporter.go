package exposition

import "strings"

// An Exporter describes how to recognise a database's page of metrics. Engines describe theirs;
// this package knows none.
type Exporter struct {
	// Engine is the database's name in recordings.
	Engine string
	// Prefix is the start of its metrics' names, up to the first "_".
	Prefix string
	// VersionMetric has the database's version as the value of VersionLabel; "" if there is none.
	VersionMetric, VersionLabel string

	// Product is its usual name if its page is at Page instead of /metrics, "" otherwise.
	Product, Page string
	// Below is the path of all its own pages, and Refused the hint when it denies access to them.
	Below, Refused string
}

// usualPath describes the usual paths of a page of metrics.
func usualPath(exporters []Exporter) string {
	var others []string
	for _, e := range exporters {
		if e.Page != "" {
			others = append(others, e.Product+": "+e.Page)
		}
	}
	if len(others) == 0 {
		return "/metrics"
	}
	return "/metrics (" + strings.Join(others, ", ") + ")"
}
