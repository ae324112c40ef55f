package exposition

import "strings"

// An Exporter describes how to recognise a database's page of metrics. Each engine provides its own; this
// package contains none.
type Exporter struct {
	// Engine is the database's name in recordings.
	Engine string
	// Prefix is the beginning of its metric names, up to the first "_".
	Prefix string
	// VersionMetric has the database's version in the label VersionLabel; "" if there is none.
	VersionMetric, VersionLabel string

	// Product is the database's usual name and Page the path of its page, if that is not /metrics.
	Product, Page string
	// Below is the common path of all its pages, and Refused the hint for denied access to them.
	Below, Refused string
}

// usualPath lists the usual paths of pages of metrics, for hints.
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
