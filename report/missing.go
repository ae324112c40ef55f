package report

import (
	"slices"
	"strings"

	"plimsoll/diagnose"
)

// A provider is who gives metrics whose names start with prefix, and what to hand
// to plimsoll the next time.
type provider struct {
	prefix, record string
}

// providers by metric name, the longest prefix first where one begins another.
var providers = []provider{
	{"mongodb_sys_", "a MongoDB's diagnostic.data folder"},
	{"mongodb_", "a MongoDB's diagnostic.data folder, or mongodb_exporter's metrics"},
	{"node_disk_", "`iostat -dxmt 1 > iostat.log` on the database's host, or `plimsoll record host` there"},
	{"node_", "`plimsoll record host` on the database's host, or node_exporter's metrics"},
	{"container_", "cAdvisor's metrics (the kubelet's /metrics/cadvisor)"},
	{"etcd_", "etcd's own /metrics"},
	{"pg_", "postgres_exporter's metrics"},
	{"iris_", "InterSystems IRIS' /api/monitor/metrics"},
	{"aws_ebs_csi_", "the metrics of the AWS EBS CSI driver's node service"},
	{"fio_", "the JSON output of a fio run"},
}

// notMeasured groups the rules that could not be judged by what would have to be recorded.
func (p *page) notMeasured(missing []diagnose.NotMeasured) {
	if len(missing) == 0 {
		return
	}
	groups := map[string][]diagnose.NotMeasured{}
	var order []string
	for _, m := range missing {
		r := recordFor(m.Missing)
		if _, ok := groups[r]; !ok {
			order = append(order, r)
		}
		groups[r] = append(groups[r], m)
	}
	p.section("NOT MEASURABLE HERE", "neither found nor ruled out")
	for i, r := range order {
		if i > 0 && p.verbose {
			p.blank()
		}
		var ids []string
		for _, m := range groups[r] {
			ids = append(ids, m.Rule)
		}
		p.para(indent3, indent3, strings.Join(ids, ", "), plain)
		p.labelled(5, bodyColumn, "record", r, dim)
		if p.verbose {
			for _, m := range groups[r] {
				p.labelled(5, bodyColumn, "metrics", m.Rule+": "+strings.Join(m.Missing, "; "), dim)
			}
		} else {
			p.shortened = true
		}
	}
}

// recordFor says what to record so that all of the missing metrics are there. Each
// of them is a choice, "a + b or c": whoever gives one of its names is a way.
func recordFor(missing []string) string {
	var all []string
	for _, m := range missing {
		var ways []string
		for word := range strings.FieldsSeq(m) {
			if i := slices.IndexFunc(providers, func(v provider) bool { return strings.HasPrefix(word, v.prefix) }); i >= 0 {
				if r := providers[i].record; !slices.Contains(ways, r) {
					ways = append(ways, r)
				}
			}
		}
		if len(ways) == 0 {
			ways = []string{"a source with " + m}
		}
		if way := strings.Join(ways, ", or "); !slices.Contains(all, way) {
			all = append(all, way)
		}
	}
	if len(all) == 0 {
		return "a source that holds these metrics"
	}
	return strings.Join(all, "; and ")
}
