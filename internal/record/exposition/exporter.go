package exposition

import "strings"

// An Exporter is how a page of metrics shows whose it is. Engines tell theirs; none is known here.
type Exporter struct {
	// Engine is the database's name in recordings.
	Engine string
	// Prefix is what the names of its metrics begin with, up to the first "_".
	Prefix string
	// VersionMetric has the database's version as the value of VersionLabel; "" if none has.
	VersionMetric, VersionLabel string

	// Product is what people call it where its page is not under /metrics but at Page, "" otherwise.
	Product, Page string
	// Below is where all of its own pages are, and Refused what to do where it lets nobody in there.
	Below, Refused string
}

// usualPath says where a page of metrics mostly is.
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
