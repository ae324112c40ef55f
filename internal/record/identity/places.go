package identity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/record/recording"
)

// unite joins the nodes of one server.
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

// serverOf finds the server that a node belongs to; nil if it is another one.
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

// oneServer reports whether two nodes of one engine are of one server, or of one set that is judged
// together, and what there is to remark.
func (s *splitter) oneServer(a, b *node) (one bool, note string, err error) {
	if set, err := s.oneSet(a, b); set || err != nil {
		return set, "", err
	}
	if a.reader == b.reader {
		return false, "", nil // their labels differ
	}

	switch {
	case a.global != "" && b.global != "" && a.global != b.global:
		// A capture and an exporter may name the ports that they use.
		if a.labelled == b.labelled || !sameHost(a.hosts, b.hosts) {
			return false, "", nil
		}
	case a.global == "" && b.global == "" && a.key != b.key && a.key != (key{}) && b.key != (key{}):
		return false, "", nil
	}

	rel, err := s.compare(a, b)
	if err != nil {
		return false, "", err
	}

	x, y := s.sourceName(a), s.sourceName(b)
	switch sameID := a.global != "" && a.global == b.global; {
	case rel == same:
		return true, fmt.Sprintf("%s and %s hold the same server (%s): samples that both have count once", x, y,
			a.name), nil
	case rel == different && sameID:
		return false,
			fmt.Sprintf("%s and %s both name %s, but their counters contradict each other: they are judged as two servers",
				x, y, a.name), nil
	case rel == different:
		return false, "", nil
	case sameID:
		return true, "", nil
	case rel == follows:
		return true, fmt.Sprintf("%s continues %s: their counters are one server's", y, x), nil
	case rel == elsewhere && (a.global == "" || b.global == ""):
		return true, fmt.Sprintf("%s and %s have no metric in common: taken for parts of one server", x, y), nil
	}

	return false, "", nil
}

// sourceName is how a note names a node's source.
func (s *splitter) sourceName(n *node) string {
	return cmp.Or(s.shortName(n.reader, recording.Source{}), n.name)
}

// settle finds the hosts, and which servers are on them.
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

// place puts a host's node into the place it belongs to.
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

			// One of them has no name: the same samples are of the same host.
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

// named is a node of the place with a name for its host; nil if there is none.
func (p *place) named() *node {
	for _, n := range p.nodes {
		if len(n.hosts) > 0 {
			return n
		}
	}
	return nil
}

// certainly reports whether a server is on a host: both name it, a source without names has them
// both, or one recording has both under addresses of the machine that it was made on.
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

// alone reports whether a recording has one server only, or, for a host without labels, one without.
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

// onlyHosts joins places where there is no server: what has no name belongs to the only one that
// has.
func (s *splitter) onlyHosts() {
	named := slices.DeleteFunc(slices.Clone(s.places), func(p *place) bool { return p.named() == nil })
	if len(named) > 1 {
		return
	}
	s.places = s.joinedWhere(s.places, func(*place) bool { return true })
}

// joinedWhere joins places that do not contradict each other, if they are accepted, into the first.
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

// contradict reports whether the samples of two places show that they are two hosts.
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

// onlyServer joins the hosts that may be the only server's.
func (s *splitter) onlyServer(v *server) {
	var joined *place // what is known to be its host
	for _, p := range s.places {
		if len(p.servers) == 0 && s.traced(p) {
			p.servers = append(p.servers, v) // only programs of databases that are read are traced
		} else if len(p.servers) > 0 {
			joined = p
		}
	}

	if joined == nil && slices.ContainsFunc(v.nodes, s.devices) {
		joined = &place{nodes: v.nodes} // its own series have devices
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

	if joined == nil && len(named) == 1 && s.mayRunOn(v, named[0]) {
		joined = named[0]
		joined.servers = append(joined.servers, v)
		v.notes = append(v.notes, s.assumed(v, joined))
		named = nil
	}

	if joined == nil && (len(named) > 1 || s.contradictory(nameless)) {
		v.notes = append(v.notes, s.ask(v, slices.Concat(named, nameless)))
		return
	}

	if joined != nil && len(named) == 1 {
		s.otherwiseNamed(v, named[0])
	}

	for _, p := range nameless {
		if joined != nil && s.contradict(joined, p) {
			v.notes = append(v.notes, s.ask(v, []*place{p}))
			continue
		}
		p.servers = append(p.servers, v)
		v.notes = append(v.notes, s.assumed(v, p))
		if joined == nil {
			joined = p
		}
	}

	if joined == nil && len(named) == 1 {
		v.notes = append(v.notes, s.ask(v, named))
	}
}

// otherwiseNamed remarks on the only other host that captures name: a container calls its host otherwise.
func (s *splitter) otherwiseNamed(v *server, p *place) {
	at := p.named()
	i := slices.IndexFunc(v.nodes, func(n *node) bool { return len(n.hosts) > 0 && !n.labelled })
	if i < 0 || at.labelled || slices.ContainsFunc(v.nodes,
		func(n *node) bool { return n.reader == at.reader }) {
		return
	}
	v.notes = append(v.notes,
		fmt.Sprintf("%s names the host %s and %s the host %s: judged as two hosts; --host %s=%s says that they are one",
			s.serverName(v), v.nodes[i].hosts[0], s.sourceName(at), at.hosts[0], s.sourceName(at),
			v.nodes[i].hosts[0]))
}

// traced reports whether a place is known from a trace of system calls only.
func (s *splitter) traced(p *place) bool {
	return !slices.ContainsFunc(p.nodes, func(n *node) bool {
		from := s.sources[n.reader]
		return len(from) == 0 || slices.ContainsFunc(from,
			func(x recording.Source) bool { return x.Kind != "trace" })
	})
}

// contradictory reports whether some places cannot be one host.
func (s *splitter) contradictory(all []*place) bool {
	for i, p := range all {
		if slices.ContainsFunc(all[:i], func(o *place) bool { return s.contradict(o, p) }) {
			return true
		}
	}
	return false
}

// mayRunOn reports whether a server without a known host may be on one. Labels of one kind with
// different hosts say that it is not.
func (s *splitter) mayRunOn(v *server, p *place) bool {
	at := p.named()
	for _, n := range v.nodes {
		if n.labelled && at.labelled && comparableHosts(n.hosts, at.hosts) {
			return false
		}
	}
	return true
}

// several remarks on servers without a host, where a host without a server is left.
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

// assumed says on what grounds a host was joined.
func (s *splitter) assumed(v *server, p *place) string {
	x := s.sourceName(p.nodes[0])
	db, at := v.nodes[0].hosts, p.named()
	switch {
	case at == nil:
		return fmt.Sprintf("%s does not name its host: taken for the host of %s, the only database here", x,
			s.serverName(v))
	case len(db) == 0:
		return fmt.Sprintf("%s does not name its host: taken for %s, the only one here (%s)", s.serverName(v),
			at.hosts[0], x)
	}
	return fmt.Sprintf("%s names the host %s and %s the host %s: taken for one, as there is no other",
		s.serverName(v), db[0], x, at.hosts[0])
}

// ask says which flag joins a server and a host.
func (s *splitter) ask(v *server, left []*place) string {
	var names []string
	for _, p := range left {
		names = append(names, s.placeName(p))
	}
	how := fmt.Sprintf("--host %s=NAME says which host a source is of", s.sourceName(left[0].nodes[0]))
	if at := left[0].nodes[0].reader; slices.ContainsFunc(v.nodes,
		func(n *node) bool { return n.reader == at }) {
		how = "the label instance of both has to name the same host"
	}
	return fmt.Sprintf("it is not known whether %s runs on %s: judged without it; %s", s.serverName(v),
		strings.Join(names, " or "), how)
}
