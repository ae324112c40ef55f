// Package identity determines which server and which host each series of a recording belongs to.
//
// A source may contain one server, many, or a part of one, and a server may be spread over several
// sources. The data identifies the parts, in this order:
//
//   - the labels of a series: instance, server, namespace and pod, cluster;
//   - what a capture says about itself: the host in FTDC, in iostat's banner, in recording.json;
//   - the address of a live source;
//   - otherwise the name of the source, unless the samples say more: counters that continue each
//     other are from one server, and counters that contradict each other are not.
//
// Devices, memory and cores belong to a host, and a host to the servers that name it. If one side
// does not name its host and only one is possible, the two are joined and a note says so. If
// several are possible, none is chosen, and a note asks for the name.
package identity

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// An Engine holds what is needed to recognise an engine's servers.
type Engine struct {
	Name string
	// Anchors are metrics that every server of the engine has; Metrics reports all those that only
	// it has.
	Anchors []string
	Metrics func(metric string) bool
	// Sets means that the engine's rules compare the members of a set, by the label instance: a set
	// is then judged as a whole.
	Sets bool
	// Agreed are metrics whose values are nearly the same on all members of a set, such as the index of their
	// shared log. It may be empty.
	Agreed []string
}

// Options are the options of [Split].
type Options struct {
	Engines []Engine
	// Wants reports the metrics to divide, and Devices those of block devices.
	Wants   func(metric string) bool
	Devices func(metric string) bool
	// Hosts are the host names that the user gave, by the name of a source.
	Hosts map[string]string
}

// A Part is one server with its host, or a host without a server.
type Part struct {
	// Engine is empty for a host without a server.
	Engine, Name, Host string
	Readers            []recording.Reader
	// Notes list assumptions about this part, and undecided questions.
	Notes []string

	again  func(context.Context) ([]recording.Reader, error)
	choice func() (sources []string, selector string)
}

// Choice returns how to select this part alone: the sources that have it, if not all do, and the
// matchers of its series, if these sources also have others. Both are empty if no selection is
// needed, or no matchers can select it.
func (p Part) Choice() (sources []string, selector string) {
	if p.choice == nil {
		return nil, ""
	}
	return p.choice()
}

// Now returns the part with the samples that its recordings have by now; live ones keep growing. It
// does not include series that appeared after [Split].
func (p Part) Now(ctx context.Context) (Part, error) {
	if p.again == nil {
		return p, nil
	}
	var err error
	p.Readers, err = p.again(ctx)
	return p, err
}

// Split divides recordings into parts, those with a server first. There is at least one, unless
// there are no recordings. If there is only one part, it has the original recordings.
func Split(ctx context.Context, in []recording.Reader, opt Options) ([]Part, error) {
	s, err := divide(ctx, in, opt)
	if err != nil {
		return nil, err
	}
	return s.parts()
}

// divide determines the servers and hosts of recordings.
func divide(ctx context.Context, in []recording.Reader, opt Options) (*splitter, error) {
	s := &splitter{ctx: ctx, in: in, opt: opt}
	for i := range in {
		if err := s.list(i); err != nil {
			return nil, err
		}
	}
	if err := s.unite(); err != nil {
		return nil, err
	}
	return s, s.settle()
}

// splitter is the state of a division.
type splitter struct {
	ctx context.Context
	in  []recording.Reader
	opt Options

	sources [][]recording.Source
	total   []int // series of each recording
	nodes   []*node
	servers []*server
	places  []*place
}

// A node is the series of one server or one host in one recording.
type node struct {
	reader int
	engine int // index of Options.Engines; -1 for a host
	key    key
	// global identifies a server across recordings. It is empty if the labels are meaningful only
	// within this recording.
	global string
	name   string
	hosts  []string // known names of its host
	// labelled means that the host's name comes from a label, not from the capture itself.
	labelled bool
	series   []labels.Labels
}

// A server is the nodes of one server, or of a set that is judged as a whole.
type server struct {
	engine int
	nodes  []*node
	notes  []string
}

// A place is the nodes of one host.
type place struct {
	nodes   []*node
	servers []*server
}

// list finds the nodes of one recording.
func (s *splitter) list(i int) error {
	r := s.in[i]
	s.sources = append(s.sources, r.Sources())
	all, err := r.ListSeries(s.ctx, s.opt.Wants)
	if err != nil {
		return err
	}

	s.total = append(s.total, len(all))

	// The series of each engine, and all others.
	of := make([][]labels.Labels, len(s.opt.Engines))
	var rest []labels.Labels

	known := map[string]int{}
	for _, l := range all {
		metric := l.Get(labels.MetricName)
		e, seen := known[metric]
		if !seen {
			e = slices.IndexFunc(s.opt.Engines, func(e Engine) bool { return e.Metrics(metric) })
			known[metric] = e
		}
		if e < 0 {
			rest = append(rest, l)
			continue
		}
		of[e] = append(of[e], l)
	}

	var found []*node
	for e, series := range of {
		if len(series) > 0 {
			found = append(found, s.serverNodes(i, e, series)...)
		}
	}

	s.nodes = append(s.nodes, found...)
	s.nodes = append(s.nodes, s.hostNodes(i, found, rest)...)
	return nil
}

// serverNodes divides the series of an engine in a recording by server.
func (s *splitter) serverNodes(i, e int, series []labels.Labels) []*node {
	anchors := s.opt.Engines[e].Anchors
	var keys []key
	add := func(l labels.Labels, anchor bool) {
		k := keyOf(l, anchor)
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}

	for _, l := range series {
		if slices.Contains(anchors, l.Get(labels.MetricName)) {
			add(l, true)
		}
	}

	// A few series without the label server do not make another server, so the anchors come first.
	if len(keys) == 0 {
		for _, l := range series {
			add(l, false)
		}
	}

	keys = specific(keys)

	out := make([]*node, len(keys))
	for n, k := range keys {
		out[n] = &node{reader: i, engine: e, key: k}
		s.nameServer(out[n], len(keys))
	}

	for _, l := range series {
		for _, n := range fitting(out, keyOf(l, true)) {
			n.series = append(n.series, l)
		}
	}

	return out
}

// fitting returns the nodes that a series with a key may belong to: those of its target, or,
// without such nodes, those that no label contradicts.
func fitting(nodes []*node, k key) []*node {
	var exact, loose []*node
	for _, n := range nodes {
		if !n.key.fits(k) {
			continue
		}
		loose = append(loose, n)
		if n.key.target() == k.target() {
			exact = append(exact, n)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return loose
}

// hostNodes divides the series that belong to no engine by host. Those with the labels of a server
// in the same recording belong to that server, such as the process counters of its exporter.
func (s *splitter) hostNodes(i int, found []*node, series []labels.Labels) []*node {
	var out []*node
	for _, l := range series {
		k := keyOf(l, false)
		own := false
		for _, n := range found {
			if k != (key{}) && (n.key == k || n.key.pod != "" && n.key.fits(k)) {
				n.series = append(n.series, l)
				own = true
			}
		}

		// Series of a server are not also series of a host.
		if own {
			continue
		}

		hk := key{cluster: k.cluster, instance: cmp.Or(k.instance, nodeLabel(l))}
		at := slices.IndexFunc(out, func(n *node) bool { return n.key == hk })
		if at < 0 {
			at = len(out)
			n := &node{reader: i, engine: -1, key: hk}
			s.nameHost(n)
			out = append(out, n)
		}

		out[at].series = append(out[at].series, l)
	}

	return out
}

// devices reports whether a node has series of a block device.
func (s *splitter) devices(n *node) bool {
	return slices.ContainsFunc(n.series,
		func(l labels.Labels) bool { return s.opt.Devices(l.Get(labels.MetricName)) })
}

// parts builds the result.
func (s *splitter) parts() ([]Part, error) {
	type wanted struct {
		Part
		nodes []*node
	}

	// First the servers, each with its own series and those of its host.
	var all []wanted
	for _, v := range s.servers {
		p := wanted{Part: Part{Engine: s.opt.Engines[v.engine].Name, Name: s.serverName(v), Notes: v.notes},
			nodes: slices.Clone(v.nodes)}
		for _, at := range s.places {
			if slices.Contains(at.servers, v) {
				p.nodes = append(p.nodes, at.nodes...)
			}
		}

		for _, n := range p.nodes {
			if p.Host == "" && len(n.hosts) > 0 {
				p.Host = n.hosts[0]
			}
		}

		all = append(all, p)
	}

	// If anything can be judged, series that belong to no server and have no devices are only
	// noise.
	judged := len(s.servers) > 0 ||
		slices.ContainsFunc(s.places, func(at *place) bool { return slices.ContainsFunc(at.nodes, s.devices) })
	for _, at := range s.places {
		if len(at.servers) > 0 {
			continue
		}
		p := wanted{Part: Part{Name: s.placeName(at)}, nodes: at.nodes}
		if n := at.named(); n != nil {
			p.Host = n.hosts[0]
		}
		if judged && !slices.ContainsFunc(at.nodes, s.devices) {
			continue // without a server and devices, there is nothing to judge
		}
		all = append(all, p)
	}

	switch {
	case len(all) == 0:
		return []Part{{Readers: s.in}}, nil
	// Nothing was split off: the recording itself is the only part, without a filter around it.
	case len(all) == 1 && len(all[0].nodes) == len(s.nodes) && len(s.deviceHosts(all[0].nodes)) == 0:
		all[0].Readers = s.in
		return []Part{all[0].Part}, nil
	}

	out := make([]Part, len(all))
	for i, p := range all {
		var err error
		nodes := p.nodes
		// Evaluated later: the choice is only needed when a user asks to see one part.
		p.choice = func() ([]string, string) { return s.choice(nodes) }
		p.again = func(ctx context.Context) ([]recording.Reader, error) {
			at := *s
			at.ctx = ctx
			return at.readers(nodes)
		}

		if p.Readers, err = s.readers(p.nodes); err != nil {
			return nil, err
		}

		out[i] = p.Part
	}

	return unique(out), nil
}

// readers returns recordings with the series of the given nodes only.
func (s *splitter) readers(nodes []*node) ([]recording.Reader, error) {
	var out []recording.Reader
	hosts := s.deviceHosts(nodes)
	for i, r := range s.in {
		keep := map[uint64]string{} // the host to add to the device label
		for _, n := range nodes {
			if n.reader == i {
				for _, l := range n.series {
					keep[l.Hash()] = hosts[n]
				}
			}
		}

		switch {
		case len(keep) == 0:
			continue
		case len(keep) == s.total[i] && len(hosts) == 0:
			out = append(out, r)
			continue
		}

		part, err := s.pick(i, keep)
		if err != nil {
			return nil, err
		}

		out = append(out, part)
	}

	return out, nil
}

func (s *splitter) serverName(v *server) string {
	var names []string
	for _, n := range v.nodes {
		if n.global != "" && !slices.Contains(names, n.name) {
			names = append(names, n.name)
		}
	}
	if len(names) == 0 {
		return v.nodes[0].name
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// placeName returns the name of a host without a server.
func (s *splitter) placeName(at *place) string {
	if n := at.named(); n != nil {
		return n.hosts[0]
	}
	return at.nodes[0].name
}

// unique adds numbers to equal names of parts.
func unique(parts []Part) []Part {
	seen := map[string]int{}
	for i := range parts {
		name := parts[i].Name
		if seen[name]++; seen[name] > 1 {
			parts[i].Name = name + " (" + string(rune('0'+min(seen[name], 9))) + ")"
		}
	}
	return parts
}
