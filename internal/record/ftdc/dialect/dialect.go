// Package dialect is what a capture's documents mean, which the format does not say: an engine
// describes its servers by a [Server], and package ftdc reads with it.
package dialect

import "github.com/prometheus/prometheus/model/labels"

// A Server is the kind of server that wrote a capture.
type Server struct {
	// Engine is its name in recordings.
	Engine string
	// Metric gives the labels, __name__ among them, of the metric at a path of a sampled document;
	// false for a path without a name.
	Metric func(path []string) (labels.Labels, bool)
	// Version and Host are where they stand, the best first.
	Version, Host []string
	// Facts are its settings. Of those with one name the first that is there counts.
	Facts []Fact
	// Parameters are settings that are facts as "parameter.NAME"; they stand below one of
	// ParametersIn.
	Parameters, ParametersIn []string
}

// A Fact is where in a document of metadata a setting stands.
type Fact struct {
	Name string
	// Path is keys joined by dots.
	Path string
	// Scale, if not 0, is the unit of the number in bytes.
	Scale float64
	// Spell, if not nil, gives the fact's text as people are told it.
	Spell func(text string) string
}

// Sections are where newer builds put documents that older servers have at the top: parts of the
// process. "" is the top.
var Sections = []string{"", "common", "shard", "router"}

// Bare is a path without the section that builds of 8.x put around all.
func Bare(path []string) []string {
	if len(path) > 1 {
		switch path[0] {
		case "shard", "router", "common":
			return path[1:]
		}
	}
	return path
}
