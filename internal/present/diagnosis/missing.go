package diagnosis

import (
	"slices"
	"strings"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// A way is something to hand to plimsoll the next time.
type way struct {
	kind string // of the source it makes: whoever gave one is not told to give it
	text string
}

var (
	wayFTDC    = way{"ftdc", "a MongoDB's diagnostic.data folder"}
	wayMongoDB = way{"", "mongodb_exporter's metrics"}
	wayIostat  = way{"iostat", "`S_TIME_FORMAT=ISO iostat -xt 1 > iostat.log` on the database's host"}
	wayHost    = way{"host", "`plimsoll record host` on the database's host"}
	wayNode    = way{"", "node_exporter's metrics"}
)

// A provider is who gives the metrics whose names start with prefix.
type provider struct {
	prefix string
	ways   []way
}

// providers by metric name; where one prefix begins another, the longer one comes first.
var providers = []provider{
	{"mongodb_sys_", []way{wayFTDC}},
	{"mongodb_", []way{wayFTDC, wayMongoDB}},
	{"node_disk_", []way{wayIostat, wayHost, wayNode}},
	{"node_", []way{wayHost, wayNode}},
	{"container_", []way{{"", "cAdvisor's metrics (the kubelet's /metrics/cadvisor)"}}},
	{"etcd_", []way{{"", "etcd's own /metrics"}}},
	{"pg_", []way{{"", "postgres_exporter's metrics"}}},
	{"iris_", []way{{"", "InterSystems IRIS' /api/monitor/metrics"}}},
	{"aws_ebs_csi_", []way{{"", "the metrics of the AWS EBS CSI driver's node service"}}},
	{"fio_", []way{{"fio", "the JSON output of a fio run"}}},
}

// gaps groups the rules that could not be judged by what would have to be recorded.
func gaps(r *diagnose.Report) []document.Gap {
	given := map[string]bool{}
	for _, s := range r.Sources {
		given[s.Kind] = true
	}
	var out []document.Gap
	for _, m := range r.Missing {
		advice := recordFor(m.Missing, given)
		i := slices.IndexFunc(out, func(g document.Gap) bool { return g.Advice == advice })
		if i < 0 {
			i = len(out)
			out = append(out, document.Gap{Advice: advice})
		}
		out[i].Rules = append(out[i].Rules, document.Unjudged{Rule: m.Rule, Missing: m.Missing})
	}
	return out
}

// recordFor says what to record so that all of the missing metrics are there, given that
// sources of some kinds were there already. What gives all of them at once is named
// alone; else what gives each.
func recordFor(missing []string, given map[string]bool) string {
	var all []way
	var each []string
	for i, m := range missing {
		ways := waysTo(m, given)
		if text := joinWays(ways); !slices.Contains(each, text) {
			each = append(each, text)
		}
		if i == 0 {
			all = ways
		} else {
			all = slices.DeleteFunc(slices.Clone(all), func(w way) bool { return !slices.Contains(ways, w) })
		}
	}
	if len(all) > 0 {
		return joinWays(all)
	}
	if len(each) == 0 {
		return "a source that holds these metrics"
	}
	return strings.Join(each, "; and ")
}

// waysTo are the ways to get one missing metric, which may be a choice: "a + b or c". A kind
// of source that was given and does not tell it will not tell it the next time.
func waysTo(metric string, given map[string]bool) []way {
	var ways []way
	known := false
	for word := range strings.FieldsSeq(metric) {
		i := slices.IndexFunc(providers, func(v provider) bool { return strings.HasPrefix(word, v.prefix) })
		if i < 0 {
			continue
		}
		known = true
		for _, w := range providers[i].ways {
			if !slices.Contains(ways, w) && (w.kind == "" || !given[w.kind]) {
				ways = append(ways, w)
			}
		}
	}
	switch {
	case len(ways) > 0:
		return ways
	case known:
		return []way{{"", "nothing more: the versions of these sources do not count it"}}
	}
	return []way{{"", "a source with " + metric}}
}

func joinWays(ways []way) string {
	texts := make([]string, len(ways))
	for i, w := range ways {
		texts[i] = w.text
	}
	return strings.Join(texts, ", or ")
}
