package diagnosis

import (
	"slices"
	"strings"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/document"
)

var (
	wayIostat = rules.Way{Kind: "iostat",
		Text: "`S_TIME_FORMAT=ISO iostat -xt 1 > iostat.log` on the database's host"}
	wayHost = rules.Way{Kind: "host", Text: "`plimsoll record host` on the database's host"}
	wayNode = rules.Way{Text: "node_exporter's metrics"}
)

// providers provide the metrics that belong to no engine. If one prefix is a prefix of another, the
// longer one must come first.
var providers = []rules.Provider{
	{Prefix: "node_disk_", Ways: []rules.Way{wayIostat, wayHost, wayNode}},
	{Prefix: "node_", Ways: []rules.Way{wayHost, wayNode}},
	{Prefix: "container_", Ways: []rules.Way{{Text: "cAdvisor's metrics (the kubelet's /metrics/cadvisor)"}}},
	{Prefix: "aws_ebs_csi_", Ways: []rules.Way{{Text: "the metrics of the AWS EBS CSI driver's node service"}}},
	{Prefix: "plimsoll_trace_", Ways: []rules.Way{{Kind: "trace",
		Text: "`sudo plimsoll trace --out DIR` during a stall, or `--trace auto`"}}},
	{Prefix: "fio_", Ways: []rules.Way{{Kind: "fio", Text: "the JSON output of a fio run"}}},
}

// A known holds what a diagnosis shows about which sources could be recorded.
type known struct {
	providers []rules.Provider
	given     map[string]bool // kinds of sources that are present
}

func providersOf(pack *rules.Pack) []rules.Provider {
	out := slices.Clone(providers)
	for _, e := range pack.Engines() {
		out = append(out, e.Providers...)
	}
	return out
}

// gaps groups the rules that could not be judged by what is missing from the recording.
func gaps(r *diagnose.Report, pack *rules.Pack) []document.Gap {
	k := known{providersOf(pack), map[string]bool{}}
	for _, s := range r.Sources {
		k.given[s.Kind] = true
	}

	var out []document.Gap
	for _, m := range r.Missing {
		advice := k.recordFor(m.Missing)
		i := slices.IndexFunc(out, func(g document.Gap) bool { return g.Advice == advice })
		if i < 0 {
			i = len(out)
			out = append(out, document.Gap{Advice: advice})
		}
		out[i].Rules = append(out[i].Rules, document.Unjudged{Rule: m.Rule, Missing: m.Missing})
	}

	return out
}

// recordFor says what to record to get all of the missing metrics, given the sources present. If
// one provider has all of them, only that is named; otherwise one for each metric.
func (k known) recordFor(missing []string) string {
	var all []rules.Way
	var each []string
	for i, m := range missing {
		ways := k.waysTo(m)
		if text := joinWays(ways); !slices.Contains(each, text) {
			each = append(each, text)
		}
		// all is the intersection: the ways that have every missing metric.
		if i == 0 {
			all = ways
		} else {
			all = slices.DeleteFunc(slices.Clone(all), func(w rules.Way) bool { return !slices.Contains(ways, w) })
		}
	}

	if len(all) > 0 {
		return joinWays(all)
	}
	if len(each) == 0 {
		return "a source with these metrics"
	}

	return strings.Join(each, "; and ")
}

// waysTo returns the ways to get one missing metric. An entry may be a choice: "a + b or c". A kind
// of source that was present but lacked the metric will lack it next time too.
func (k known) waysTo(metric string) []rules.Way {
	var ways []rules.Way
	listed := false
	for word := range strings.FieldsSeq(metric) {
		i := slices.IndexFunc(k.providers, func(v rules.Provider) bool { return strings.HasPrefix(word, v.Prefix) })
		if i < 0 {
			continue
		}
		listed = true
		for _, w := range k.providers[i].Ways {
			if !slices.Contains(ways, w) && (w.Kind == "" || !k.given[w.Kind]) {
				ways = append(ways, w)
			}
		}
	}

	switch {
	case len(ways) > 0:
		return ways
	// Every way is present and lacks the metric.
	case listed:
		return []rules.Way{{Text: "not available: these versions of the sources do not report it"}}
	}

	return []rules.Way{{Text: "a source with " + metric}}
}

func joinWays(ways []rules.Way) string {
	texts := make([]string, len(ways))
	for i, w := range ways {
		texts[i] = w.Text
	}
	return strings.Join(texts, ", or ")
}
