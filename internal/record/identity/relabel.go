package identity

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

const (
	instanceLabel = "instance"
	// exportedLabel keeps the original instance of a series, like in Prometheus.
	exportedLabel = "exported_instance"
	// sourceLabel distinguishes two sources that measured the same thing at the same time.
	sourceLabel = "source"
)

// A Labeller gives series the label instance, so that several servers and hosts fit into one
// recording and remain distinct.
type Labeller struct {
	opt     Options
	several bool      // whether there are several servers or hosts
	nodes   [][]*node // of each recording
	names   map[*node]string
	// sources are the names of the recordings. shared has, by the hash of the labels, the series
	// that an earlier recording has at the same time.
	sources []string
	shared  []map[uint64]bool
}

// Label determines the labels that distinguish the servers and hosts of recordings, and their
// sources if two have a series at the same time. It returns nil if no label is needed.
func Label(ctx context.Context, in []recording.Reader, opt Options) (*Labeller, error) {
	s, err := divide(ctx, in, opt)
	if err != nil {
		return nil, err
	}

	out := &Labeller{opt: opt, nodes: make([][]*node, len(in)), names: map[*node]string{}}
	for _, n := range s.nodes {
		out.nodes[n.reader] = append(out.nodes[n.reader], n)
	}

	out.several = out.name(s) > 1
	if !out.share(s) && !out.several {
		return nil, nil
	}

	return out, nil
}

// share finds the series that several recordings have at the same time, and reports whether there
// are any.
func (x *Labeller) share(s *splitter) (any bool) {
	seen := map[uint64][]int{}
	x.shared = make([]map[uint64]bool, len(s.in))

	for i := range s.in {
		x.sources = append(x.sources, s.shortName(i, recording.Source{}))
		x.shared[i] = map[uint64]bool{}

		for _, n := range x.nodes[i] {
			for _, l := range n.series {
				hash := x.withInstance(i, l).Hash()
				if slices.ContainsFunc(seen[hash],
					func(k int) bool { return k != i && overlap(s.sources[i], s.sources[k]) }) {
					x.shared[i][hash] = true
					any = true
				}
				if !slices.Contains(seen[hash], i) {
					seen[hash] = append(seen[hash], i)
				}
			}
		}
	}

	return any
}

// overlap reports whether two recordings may have samples at the same time.
func overlap(a, b []recording.Source) bool {
	for _, x := range a {
		for _, y := range b {
			if x.From.IsZero() || y.From.IsZero() || !x.To.Before(y.From) && !y.To.Before(x.From) {
				return true
			}
		}
	}
	return false
}

// name names the nodes and returns the number of servers and of hosts without a server.
func (x *Labeller) name(split *splitter) (parts int) {
	taken := map[string]bool{}
	free := func(name string) string {
		for taken[name] {
			name += "'"
		}
		taken[name] = true
		return name
	}

	hosts := map[*server]string{}
	for _, v := range split.servers {
		parts++
		name := ""
		for _, n := range v.nodes {
			// A node keeps the label that identifies it.
			if n.key.pod != "" || n.key.instance != "" && !local(n.key.instance) && !taken[n.key.instance] {
				x.names[n] = n.key.instance
				name = n.key.instance
			}
		}

		if name != "" {
			taken[name] = true
		} else {
			name = free(split.serverName(v))
		}

		for _, n := range v.nodes {
			if _, ok := x.names[n]; !ok {
				x.names[n] = name
			}
		}

		hosts[v] = hostOf(name)
	}

	for _, p := range split.places {
		if len(p.servers) == 0 {
			parts++
		}

		name := split.placeName(p)
		if len(p.servers) == 1 && p.named() == nil {
			name = hosts[p.servers[0]] // so that both are joined again when the recording is read
		}

		for _, n := range p.nodes {
			x.names[n] = name
			if n.key.instance != "" && !local(n.key.instance) {
				x.names[n] = n.key.instance
			}
		}
	}

	return parts
}

// Of returns the labels of a series of the i-th recording in the combined recording.
func (x *Labeller) Of(i int, l labels.Labels) labels.Labels {
	l = x.withInstance(i, l)
	if x.shared[i][l.Hash()] {
		l = labels.NewBuilder(l).Set(sourceLabel, x.sources[i]).Labels()
	}
	return l
}

// withInstance sets the label instance if there are several servers.
func (x *Labeller) withInstance(i int, l labels.Labels) labels.Labels {
	if !x.several {
		return l
	}
	name := x.nameOf(i, l)
	old := l.Get(instanceLabel)
	if name == "" || name == old {
		return l
	}
	b := labels.NewBuilder(l).Set(instanceLabel, name)
	if old != "" {
		b.Set(exportedLabel, old)
	}
	return b.Labels()
}

func (x *Labeller) nameOf(i int, l labels.Labels) string {
	metric := l.Get(labels.MetricName)
	e := slices.IndexFunc(x.opt.Engines, func(e Engine) bool { return e.Metrics(metric) })
	k := keyOf(l, e >= 0)

	var same []*node
	for _, n := range x.nodes[i] {
		if n.engine == e {
			same = append(same, n)
		}
	}

	// Ambiguous series get no label, rather than a wrong one.
	if found := fitting(same, k); len(found) == 1 {
		return x.names[found[0]]
	}

	if found := fitting(x.nodes[i], k); len(found) > 0 &&
		!slices.ContainsFunc(found, func(n *node) bool { return x.names[n] != x.names[found[0]] }) {
		return x.names[found[0]]
	}

	return ""
}

// labelledMax bounds the series of a recording whose labels are remembered.
const labelledMax = 200_000

// Writer returns a writer that labels series of the i-th recording and passes them to w.
func (x *Labeller) Writer(i int, w recording.Writer) recording.Writer {
	return recording.Relabelled(w, labelledMax, func(l labels.Labels) labels.Labels { return x.Of(i, l) })
}
