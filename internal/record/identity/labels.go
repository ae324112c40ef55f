package identity

import (
	"cmp"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// A key is the labels that distinguish the servers of a recording.
type key struct{ cluster, namespace, pod, instance, server string }

// keyOf returns the key of a series. Exporters give the label server to series of a database; on
// other series it has other meanings.
func keyOf(l labels.Labels, ofServer bool) key {
	k := key{cluster: l.Get("cluster"), pod: l.Get("pod"), instance: l.Get("instance")}
	if k.pod != "" {
		// A pod keeps its name when its address changes.
		k.namespace, k.instance = l.Get("namespace"), ""
	}
	if ofServer {
		k.server = l.Get("server")
	}
	return k
}

// fits reports whether a series with key o may belong to a server with key k: no label differs. A
// label that only one of them has is ignored.
func (k key) fits(o key) bool {
	same := func(a, b string) bool { return a == "" || b == "" || a == b }
	return same(k.cluster, o.cluster) && same(k.namespace, o.namespace) && same(k.pod, o.pod) &&
		same(k.instance, o.instance) && same(k.server, o.server)
}

// local reports whether a key has addresses, all of which mean the recorded machine itself.
func (k key) local() bool {
	return k.pod == "" && k.instance+k.server != "" && (k.instance == "" || local(k.instance)) &&
		(k.server == "" || local(k.server))
}

// target returns the part of a key that the scraper gave to all series of a page.
func (k key) target() key {
	k.server = ""
	return k
}

// specific removes keys without the label server if others of the same target have it: an exporter
// for several servers has a few series without it.
func specific(keys []key) []key {
	return slices.DeleteFunc(slices.Clone(keys), func(k key) bool {
		return k.server == "" && slices.ContainsFunc(keys,
			func(o key) bool { return o.server != "" && o.target() == k })
	})
}

// nodeLabel returns the host that a label names, for series without an instance. It ignores the
// metrics of kube-state-metrics, which describe the nodes of a cluster but were not measured on
// them.
func nodeLabel(l labels.Labels) string {
	if strings.HasPrefix(l.Get(labels.MetricName), "kube_") {
		return ""
	}
	for _, name := range []string{"node", "nodename", "host", "hostname"} {
		if v := l.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// thisMachine is the name of the machine that Plimsoll runs on, for live sources with a local
// address.
const thisMachine = "this machine"

// local reports whether an address means a different server on each machine.
func local(address string) bool {
	host := hostOf(address)
	if strings.HasPrefix(address, "/") || host == "" || strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// hostOf returns the host of host:port, or of a URL.
func hostOf(address string) string {
	if strings.Contains(address, "://") {
		u, err := url.Parse(address)
		if err != nil {
			return ""
		}
		return u.Hostname()
	}
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// ofExporter reports whether a name is that of a container with an exporter, not of a host: Docker
// Compose and Kubernetes services are scraped under such names.
func ofExporter(host string) bool { return strings.Contains(strings.ToLower(host), "exporter") }

// nameServer sets the name and the host of a server's node. servers is the number of the engine's
// servers in its recording.
func (s *splitter) nameServer(named *node, servers int) {
	e := s.opt.Engines[named.engine]
	ident := named.key
	var own recording.Source // the source of this engine, if there is only one

	count := 0
	for _, x := range s.sources[named.reader] {
		if x.Engine == e.Name || len(s.sources[named.reader]) == 1 {
			if count++; count == 1 {
				own = x
			}
		}
	}

	// The fallback name; labels and hosts give better ones below.
	named.name = cmp.Or(s.shortName(named.reader, own), e.Name)
	if count != 1 {
		own = recording.Source{}
	}

	address := ""
	switch {
	case ident.server != "" && !local(ident.server):
		address = ident.server
	case ident.instance != "" && !local(ident.instance):
		address = ident.instance
	}

	switch {
	case ident.pod != "":
		named.global = strings.Join([]string{ident.cluster, ident.namespace, ident.pod, ident.server}, "\x00")
		named.name = strings.Trim(ident.namespace+"/"+ident.pod, "/")
		if ident.server != "" {
			named.name += " " + ident.server
		}
	case address != "":
		named.global = strings.Join([]string{ident.cluster, ident.instance, ident.server}, "\x00")
		named.name = address
	case own.Host != "" && own.Kind != "host":
		named.global = strings.Join([]string{ident.cluster, own.Host, ident.server}, "\x00")
		named.name = own.Host
	case servers > 1 && (ident.instance != "" || ident.server != ""):
		named.name = cmp.Or(ident.server, ident.instance) + " in " + named.name
	}

	if ident.cluster != "" {
		named.name = ident.cluster + "/" + named.name
	}

	switch h := hostOf(address); {
	case s.given(named, own):
	case h != "" && !ofExporter(h):
		named.hosts, named.labelled = []string{h}, true
	default:
		named.hosts = captured(own)
	}
}

// nameHost sets the name of a host's node.
func (s *splitter) nameHost(n *node) {
	var own recording.Source
	if all := s.sources[n.reader]; len(all) == 1 {
		own = all[0]
	}
	n.name = cmp.Or(s.shortName(n.reader, own), "host")
	switch h := hostOf(n.key.instance); {
	case s.given(n, own):
	case h != "" && !local(n.key.instance) && !ofExporter(h):
		n.hosts, n.labelled, n.name = []string{h}, true, h
	default:
		n.hosts = captured(own)
	}
}

// given uses the name of a host from the user, if there is one.
func (s *splitter) given(n *node, own recording.Source) bool {
	h := s.opt.Hosts[own.Name]
	if h == "" {
		return false
	}
	n.hosts, n.labelled = []string{h}, true
	return true
}

// captured returns the names that a source has for its host.
func captured(own recording.Source) []string {
	var out []string
	if own.Host != "" && !local(own.Host) {
		out = append(out, hostOf(own.Host))
	}

	// The address of a database or of a page of metrics names its host; that of a cloud or a
	// Prometheus server does not.
	live := strings.Contains(own.Name, "://") && (own.Kind == "metrics-url" ||
		own.Engine != "" && own.Kind != "prometheus")
	if host := hostOf(own.Name); live && !strings.Contains(host, ",") {
		if local(own.Name) {
			out = append(out, thisMachine)
		} else if !slices.Contains(out, host) {
			out = append(out, host)
		}
	}

	if own.Kind == "host" || own.Kind == "trace" {
		out = append(out, thisMachine)
	}

	return out
}

// shortName returns the name of a source without its folders, unless another source has the same
// base name.
func (s *splitter) shortName(reader int, own recording.Source) string {
	if own.Name == "" && len(s.sources[reader]) > 0 {
		own = s.sources[reader][0]
	}

	if strings.Contains(own.Name, "://") {
		return own.Name
	}

	base := path.Base(own.Name)
	for i, r := range s.in {
		if i == reader {
			continue
		}
		for _, x := range r.Sources() {
			if x.Name != own.Name && path.Base(x.Name) == base {
				return own.Name
			}
		}
	}

	if own.Name == "" {
		return ""
	}

	return base
}

// sameHost reports whether two lists have names of the same host. A short name is equal to a longer
// one whose first label it is.
func sameHost(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if strings.EqualFold(x, y) || short(x, y) || short(y, x) {
				return true
			}
		}
	}
	return false
}

// short reports whether a name is the first label of another name.
func short(x, of string) bool {
	first, _, more := strings.Cut(of, ".")
	return more && !strings.Contains(x, ".") && net.ParseIP(of) == nil && strings.EqualFold(x, first)
}

// comparableHosts reports whether the names of two hosts are of the same kind, so that different
// names mean different hosts. An address is not comparable with a name.
func comparableHosts(a, b []string) bool {
	isIP := func(x string) bool { return net.ParseIP(x) != nil }
	return len(a) > 0 && len(b) > 0 && !isIP(a[0]) && !isIP(b[0])
}
