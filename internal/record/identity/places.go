package identity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/record/recording"
)

// unite joins the nodes of each server.
func (s *splitter) unite() error {
	for _, n := range s.nodes {
		if n.engine < 0 {
			continue
		}

		into, err := s.serverOf(n)
		if err != nil {
			return err
		}

		if into == nil {
			into = &server{engine: n.engine}
			s.servers = append(s.servers, into)
		}

		into.nodes = append(into.nodes, n)
	}
	return nil
}

// serverOf returns the server that a node belongs to, or nil if it is a new one.
func (s *splitter) serverOf(n *node) (*server, error) {
	for _, v := range s.servers {
		if v.engine != n.engine {
			continue
		}
		for _, o := range v.nodes {
			one, note, err := s.oneServer(o, n)
			if err != nil {
				return nil, err
			}
			if note != "" && !slices.Contains(v.notes, note) {
				v.notes = append(v.notes, note)
			}
			if one {
				return v, nil
			}
		}
	}

	return nil, nil
}

// oneServer reports whether two nodes of an engine are from one server, or from one set that is
// judged as a whole, and a note about the reason.
func (s *splitter) oneServer(first, second *node) (one bool, note string, err error) {
	// Members of a set are different servers, but are judged together.
	if set, err := s.oneSet(first, second); set || err != nil {
		return set, "", err
	}
	if first.reader == second.reader {
		return false, "", nil // within one recording, their labels differ
	}

	switch {
	case first.global != "" && second.global != "" && first.global != second.global:
		// A capture and an exporter may use different ports in the name of one server.
		if first.labelled == second.labelled || !sameHost(first.hosts, second.hosts) {
			return false, "", nil
		}
	case first.global == "" && second.global == "" && first.key != second.key && first.key != (key{}) && second.key != (key{}):
		return false, "", nil
	}

	rel, err := s.compare(first, second)
	if err != nil {
		return false, "", err
	}

	x, y := s.sourceName(first), s.sourceName(second)
	switch sameID := first.global != "" && first.global == second.global; {
	case rel == same:
		return true, fmt.Sprintf("%s and %s contain the same server (%s): samples in both count once", x, y,
			first.name), nil
	case rel == different && sameID:
		return false,
			fmt.Sprintf("%s and %s both name %s, but their counters contradict each other: treating them as two servers",
				x, y, first.name), nil
	case rel == different:
		return false, "", nil
	case sameID:
		return true, "", nil
	case rel == follows:
		return true, fmt.Sprintf("%s continues %s: their counters are from one server", y, x), nil
	case rel == elsewhere && s.oneOfLogs(first, second):
		return false, "", nil
	case rel == elsewhere && (first.global == "" || second.global == ""):
		return true, fmt.Sprintf("%s and %s have no metric in common: treating them as parts of one server", x, y),
			nil
	}

	return false, "", nil
}

// oneOfLogs reports whether one of two nodes is a log, and others have logs of the same engine: nothing
// shows to which of them the other node belongs.
func (s *splitter) oneOfLogs(a, b *node) bool {
	if !s.logged(a) && !s.logged(b) {
		return false
	}
	logs := 0
	for _, n := range s.nodes {
		if n.engine == a.engine && s.logged(n) {
			logs++
		}
	}
	return logs > 1
}

// sourceName returns the name of a node's source, for notes.
func (s *splitter) sourceName(n *node) string {
	return cmp.Or(s.shortName(n.reader, recording.Source{}), n.name)
}

// settle determines the hosts, and which servers run on them.
func (s *splitter) settle() error {
	for _, n := range s.nodes {
		if n.engine < 0 {
			if err := s.place(n); err != nil {
				return err
			}
		}
	}

	for _, at := range s.places {
		for _, v := range s.servers {
			if s.certainly(v, at) {
				at.servers = append(at.servers, v)
			}
		}
	}

	switch len(s.servers) {
	case 0:
		s.onlyHosts()
	case 1:
		s.onlyServer(s.servers[0])
	default:
		s.several()
	}

	return nil
}

// place adds a host's node to the place that it belongs to.
func (s *splitter) place(n *node) error {
	for _, at := range s.places {
		for _, o := range at.nodes {
			named := len(n.hosts) > 0 && len(o.hosts) > 0
			if named && sameHost(n.hosts, o.hosts) && n.key.fits(key{cluster: o.key.cluster}) {
				at.nodes = append(at.nodes, n)
				return nil
			}

			if named || n.reader == o.reader {
				continue
			}

			// One of them has no name, so the samples decide: equal ones are from the same host.
			rel, err := s.compare(o, n)
			if err != nil {
				return err
			}

			if rel == same || rel == follows {
				at.nodes = append(at.nodes, n)
				return nil
			}
		}
	}

	s.places = append(s.places, &place{nodes: []*node{n}})
	return nil
}

// named returns a node of the place with a name for its host, or nil.
func (p *place) named() *node {
	for _, n := range p.nodes {
		if len(n.hosts) > 0 {
			return n
		}
	}
	return nil
}

// certainly reports whether a server definitely runs on a host: both have the host's name, both are
// in a source without names, or a recording has both under addresses of the machine that it was
// made on.
func (s *splitter) certainly(v *server, at *place) bool {
	for _, n := range v.nodes {
		for _, o := range at.nodes {
			if sameHost(n.hosts, o.hosts) && n.key.fits(key{cluster: o.key.cluster}) {
				return true
			}
			if n.reader == o.reader && len(o.hosts) == 0 && (s.alone(n, o.key == key{}) ||
				n.key.local() && (o.key == key{} || o.key.local())) {
				return true
			}
		}
	}
	return false
}

// alone reports whether a recording has only one server, or, for a host without labels, only one
// server without labels.
func (s *splitter) alone(n *node, bare bool) bool {
	if bare && n.key.target() != (key{}) {
		bare = false
	}

	var of *server
	for _, v := range s.servers {
		for _, o := range v.nodes {
			if o.reader != n.reader || bare && o.key.target() != (key{}) {
				continue
			}
			if of != nil && of != v {
				return false
			}
			of = v
		}
	}

	return true
}

// onlyHosts joins places if there are no servers: those without a name belong to the only place
// with one.
func (s *splitter) onlyHosts() {
	named := slices.DeleteFunc(slices.Clone(s.places), func(p *place) bool { return p.named() == nil })
	if len(named) > 1 {
		return
	}
	s.places = s.joinedWhere(s.places, func(*place) bool { return true })
}

// joinedWhere merges accepted places into the first one that they do not contradict.
func (s *splitter) joinedWhere(all []*place, accept func(*place) bool) []*place {
	var out []*place
	for _, p := range all {
		i := slices.IndexFunc(out, func(o *place) bool { return accept(o) && accept(p) && !s.contradict(o, p) })
		if i < 0 {
			out = append(out, p)
			continue
		}
		out[i].nodes = append(out[i].nodes, p.nodes...)
	}
	return out
}

// contradict reports whether names or samples show that two places are different hosts.
func (s *splitter) contradict(a, b *place) bool {
	for _, x := range a.nodes {
		for _, y := range b.nodes {
			if len(x.hosts) > 0 && len(y.hosts) > 0 && !sameHost(x.hosts, y.hosts) {
				return true
			}
			if rel, err := s.compare(x, y); err != nil || rel == different || rel == apart {
				return true
			}
		}
	}
	return false
}

// onlyServer assigns the hosts that may belong to the only server.
func (s *splitter) onlyServer(only *server) {
	var joined *place // the server's known host
	for _, p := range s.places {
		if len(p.servers) == 0 && s.traced(p) {
			p.servers = append(p.servers, only) // a trace covers only programs of a database that is also read
		} else if len(p.servers) > 0 {
			joined = p
		}
	}

	if joined == nil && slices.ContainsFunc(only.nodes, s.devices) {
		joined = &place{nodes: only.nodes} // its own series include devices
	}

	var named, nameless []*place
	for _, p := range s.places {
		switch {
		case len(p.servers) > 0:
		case p.named() != nil:
			named = append(named, p)
		default:
			nameless = append(nameless, p)
		}
	}

	// A named host is the better guess, and the only guess if every other one would contradict it.
	if joined == nil && len(named) == 1 && s.mayRunOn(only, named[0]) {
		joined = named[0]
		joined.servers = append(joined.servers, only)
		only.notes = append(only.notes, s.assumed(only, joined))
		named = nil
	}

	if joined == nil && (len(named) > 1 || s.contradictory(nameless)) {
		only.notes = append(only.notes, s.ask(only, slices.Concat(named, nameless)))
		return
	}

	if joined != nil && len(named) == 1 {
		s.otherwiseNamed(only, named[0])
	}

	for _, p := range nameless {
		if joined != nil && s.contradict(joined, p) {
			only.notes = append(only.notes, s.ask(only, []*place{p}))
			continue
		}
		p.servers = append(p.servers, only)
		only.notes = append(only.notes, s.assumed(only, p))
		if joined == nil {
			joined = p
		}
	}

	if joined == nil && len(named) == 1 {
		only.notes = append(only.notes, s.ask(only, named))
	}
}

// otherwiseNamed adds a note about the only other host that a capture names: a container may use a different
// name for its host.
func (s *splitter) otherwiseNamed(v *server, p *place) {
	at := p.named()
	i := slices.IndexFunc(v.nodes, func(n *node) bool { return len(n.hosts) > 0 && !n.labelled })
	if i < 0 || at.labelled || slices.ContainsFunc(v.nodes,
		func(n *node) bool { return n.reader == at.reader }) {
		return
	}
	v.notes = append(v.notes,
		fmt.Sprintf("%s names the host %s and %s the host %s: treating them as two hosts; if they are the same, give --host %s=%s",
			s.serverName(v), v.nodes[i].hosts[0], s.sourceName(at), at.hosts[0], s.sourceName(at),
			v.nodes[i].hosts[0]))
}

// traced reports whether a place is known only from a trace of system calls.
func (s *splitter) traced(p *place) bool {
	return !slices.ContainsFunc(p.nodes, func(n *node) bool {
		from := s.sources[n.reader]
		return len(from) == 0 || slices.ContainsFunc(from,
			func(x recording.Source) bool { return x.Kind != "trace" })
	})
}

// contradictory reports whether some places must be different hosts.
func (s *splitter) contradictory(all []*place) bool {
	for i, p := range all {
		if slices.ContainsFunc(all[:i], func(o *place) bool { return s.contradict(o, p) }) {
			return true
		}
	}
	return false
}

// mayRunOn reports whether a server without a known host may run on a place. Comparable labels with
// different hosts exclude it.
func (s *splitter) mayRunOn(v *server, p *place) bool {
	at := p.named()
	for _, n := range v.nodes {
		if n.labelled && at.labelled && comparableHosts(n.hosts, at.hosts) {
			return false
		}
	}
	return true
}

// several adds notes to servers without a host if there are hosts without a server.
func (s *splitter) several() {
	var left []*place
	for _, p := range s.places {
		if len(p.servers) == 0 {
			left = append(left, p)
		}
	}

	if len(left) == 0 {
		return
	}

	for _, v := range s.servers {
		placed := slices.ContainsFunc(s.places, func(p *place) bool { return slices.Contains(p.servers, v) })
		if !placed && !slices.ContainsFunc(v.nodes, s.devices) {
			v.notes = append(v.notes, s.ask(v, left))
		}
	}
}

// assumed says why a host was assigned.
func (s *splitter) assumed(v *server, p *place) string {
	x := s.sourceName(p.nodes[0])
	db, at := v.nodes[0].hosts, p.named()
	switch {
	case at == nil:
		return fmt.Sprintf("%s does not name its host: assuming the host of %s, the only database here", x,
			s.serverName(v))
	case len(db) == 0:
		return fmt.Sprintf("%s does not name its host: assuming %s, the only one here (%s)", s.serverName(v),
			at.hosts[0], x)
	}
	return fmt.Sprintf("%s names the host %s and %s the host %s: treating them as one, because there is no other",
		s.serverName(v), db[0], x, at.hosts[0])
}

// ask says which flag assigns a host to a server.
func (s *splitter) ask(v *server, left []*place) string {
	var names []string
	for _, p := range left {
		names = append(names, s.placeName(p))
	}
	how := fmt.Sprintf("give the host of the source with --host %s=NAME", s.sourceName(left[0].nodes[0]))
	if at := left[0].nodes[0].reader; slices.ContainsFunc(v.nodes,
		func(n *node) bool { return n.reader == at }) {
		how = "the label instance of both must name the same host"
	}
	return fmt.Sprintf("cannot determine whether %s runs on %s: ignoring the host; %s", s.serverName(v),
		strings.Join(names, " or "), how)
}
