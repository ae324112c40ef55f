package identity

import (
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

const (
	// agreedWithin is how much the members of a set may differ in the metrics that they agree on:
	// their pages may be saved minutes apart, and a member may lag.
	agreedWithin = 0.02
	// agreedSlack is the absolute tolerance, for a set that has just started.
	agreedSlack = 100
)

// oneSet reports whether two nodes are members of a set that is judged as a whole.
func (s *splitter) oneSet(a, b *node) (bool, error) {
	e := s.opt.Engines[a.engine]
	if !e.Sets || a.key.instance == b.key.instance && a.key.pod == b.key.pod {
		return false, nil
	}

	if a.key.cluster != "" && b.key.cluster != "" {
		return a.key.cluster == b.key.cluster, nil
	}

	// Pods of one StatefulSet share their name up to the ordinal.
	if a.key.pod != "" && a.key.namespace == b.key.namespace && stem(a.key.pod) == stem(b.key.pod) {
		return true, nil
	}

	// Everything that a live source finds behind one address, or that a run creates, is one set.
	if a.reader == b.reader && slices.ContainsFunc(s.sources[a.reader], func(x recording.Source) bool {
		return x.Engine == e.Name && x.Kind != "openmetrics" && x.Kind != "metrics-url" && x.Kind != "prometheus"
	}) {
		return true, nil
	}

	agree, known, err := s.agree(a, b)
	if err != nil || known {
		return agree, err
	}

	// Nodes of one page that were scraped as one job, with no contradiction.
	job := jobOf(a)
	return a.reader == b.reader && job != "" && job == jobOf(b) && a.key.namespace == b.key.namespace, nil
}

// agree reports whether two nodes have about the same value of the metric that the members of a set
// agree on. known is false if one of them does not have it.
func (s *splitter) agree(a, b *node) (agree, known bool, err error) {
	metrics := s.opt.Engines[a.engine].Agreed
	of := func(n *node) (last float64, err error) {
		i := slices.IndexFunc(n.series,
			func(l labels.Labels) bool { return slices.Contains(metrics, l.Get(labels.MetricName)) })
		if i < 0 {
			return math.NaN(), nil
		}
		p, err := s.points(n, n.series[i])
		if err != nil || len(p) == 0 {
			return math.NaN(), err
		}
		return p[len(p)-1].F, nil
	}

	x, err := of(a)
	if err != nil {
		return false, false, err
	}

	y, err := of(b)
	if err != nil || math.IsNaN(x) || math.IsNaN(y) {
		return false, false, err
	}

	return math.Abs(x-y) <= max(agreedSlack, agreedWithin*max(x, y)), true, nil
}

// jobOf returns the job label of a node's series, or "".
func jobOf(n *node) string {
	if len(n.series) == 0 {
		return ""
	}
	return n.series[0].Get("job")
}

// stem returns the name of a pod's set: etcd for etcd-2.
func stem(pod string) string { return strings.TrimRight(pod, "0123456789") }

// deviceHosts returns the hosts of the nodes of a set if several of them have a device of the same
// name: the nodes are judged together, but the devices differ.
func (s *splitter) deviceHosts(nodes []*node) map[*node]string {
	if !slices.ContainsFunc(nodes, func(n *node) bool { return n.engine >= 0 && s.opt.Engines[n.engine].Sets }) {
		return nil
	}

	of := map[string][]*node{} // the nodes that have a device
	for _, n := range nodes {
		for _, l := range n.series {
			if d := l.Get("device"); d != "" && len(n.hosts) > 0 && !slices.Contains(of[d], n) {
				of[d] = append(of[d], n)
			}
		}
	}

	out := map[*node]string{}
	for _, all := range of {
		for _, n := range all {
			if slices.ContainsFunc(all, func(o *node) bool { return !sameHost(n.hosts, o.hosts) }) {
				out[n] = n.hosts[0]
			}
		}
	}

	return out
}
