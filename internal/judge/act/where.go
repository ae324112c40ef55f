package act

import (
	"maps"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/judge/rules"
)

// where describes where a database runs, according to the sources.
type where struct {
	place    rules.Place
	known    bool
	host     string // its name, if the place is a host
	cloud    rules.Cloud
	database string
	version  string
	client   func(at rules.ClientAt, statements []string) []string
	facts    map[string]string // from the sources
	named    map[string]string // identifies the container, the unit, the instance
}

// ofService is the fact that names the provider's service that a server runs in, as a [rules.Place].
const ofService = "server.service"

// whereIs derives the place from the sources' addresses, then from the labels and cgroups of
// containers. Without either it assumes a host, and marks that as unknown.
func whereIs(input *rules.Case, setting Setting) *where {
	location := &where{place: rules.Host, facts: input.Facts, cloud: rules.CloudOf(input),
		named: map[string]string{}}
	if len(input.Engines) > 0 {
		location.database = input.Engines[0]
	}

	// With several engines, the one whose operations stalled counts.
	if rule, err := input.Pack.Rule(input.Stall.Rule); err == nil && rule.Engine != "" {
		location.database = rule.Engine
	}

	for _, x := range setting.Sources {
		if x.Engine != "" && (x.Engine == location.database || location.database == "") && x.Version != "" && location.version == "" {
			location.version = x.Version
		}
	}

	for _, e := range input.Pack.Engines() {
		if e.Database != location.database {
			continue
		}
		location.client = e.Client
		for _, x := range setting.Sources {
			for _, end := range e.ManagedHosts {
				if host := hostOf(x.Name); strings.HasSuffix(host, end) {
					location.place, location.known = rules.Managed, true
				}
			}
		}
	}

	for _, e := range input.Pack.Engines() {
		for _, x := range setting.Sources {
			if name, ok := strings.CutSuffix(hostOf(x.Name), e.AzureHosts); ok && e.AzureHosts != "" {
				location.place, location.known = rules.AzureDB, true
				location.named["server"] = name
			}
		}
	}

	for _, x := range setting.Sources {
		if place, named := serviceOf(hostOf(x.Name)); place != "" {
			location.place, location.known = place, true
			maps.Copy(location.named, named)
		}
	}

	// The server's own settings are more exact than an address: an Aurora instance is named like any other
	// RDS instance, and Cloud SQL is usually reached by an IP address.
	if place := rules.Place(input.Facts[ofService]); slices.Contains(rules.Services, place) {
		location.place, location.known = place, true
	}

	// CloudWatch's RDS metrics identify the service even without an address.
	if all := input.Signal(rules.StorageOfRDS); len(all) > 0 && !location.known {
		location.place, location.known = rules.RDS, true
		if len(all) == 1 {
			location.named["instance"] = all[0].Labels.Get("device")
		}
	}

	if !location.known {
		location.byContainer(input.ContainerOf(&rules.Finding{}))
	}

	if location.place == rules.Host {
		location.onHost(setting.Sources)
	}

	return location
}

// serviceOf returns the provider's service that a host name belongs to, and the names in it that its commands
// take; "" if it belongs to no service that has commands.
//
// RDS: NAME.ID.REGION.rds.amazonaws.com is an instance. NAME.cluster-ID and NAME.cluster-ro-ID are endpoints
// of the cluster NAME; the NAME of cluster-custom-ID, global-ID and proxy-ID is that of an endpoint alone.
func serviceOf(host string) (place rules.Place, named map[string]string) {
	name, rest, _ := strings.Cut(host, ".")
	id, _, _ := strings.Cut(rest, ".")
	under := func(suffix string) bool { return strings.HasSuffix(host, suffix) }

	switch {
	case under(".sql.goog"): // its first label is not the instance's name
		return rules.CloudSQL, nil
	case !under(".rds.amazonaws.com") && !(strings.Contains(host, ".rds.") && under(".amazonaws.com.cn")):
		return "", nil
	case strings.HasPrefix(id, "proxy-"):
		return rules.RDS, nil
	case strings.HasPrefix(id, "cluster-custom-"), strings.HasPrefix(id, "global-"):
		return rules.Aurora, nil
	case strings.HasPrefix(id, "cluster-"):
		return rules.Aurora, map[string]string{"cluster": name}
	}

	return rules.RDS, map[string]string{"instance": name}
}

// onHost takes the host's name from the sources that run on one and see its devices.
func (w *where) onHost(sources []Source) {
	for _, x := range sources {
		if x.Kind != "host" && x.Kind != "iostat" || x.Host == "" {
			continue
		}
		if w.host != "" && w.host != x.Host {
			w.host = "" // several hosts
			return
		}
		w.host, w.known = x.Host, true
	}
}

// hostOf is the host of an address, in lower case; "" if the name is not an address.
func hostOf(name string) string {
	_, rest, ok := strings.Cut(name, "://")
	if !ok {
		return ""
	}
	if at := strings.IndexAny(rest, "/?"); at >= 0 {
		rest = rest[:at]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	rest, _, _ = strings.Cut(rest, ",")
	host, _, _ := strings.Cut(rest, ":")
	return strings.ToLower(host)
}

// byContainer reads a container's labels and its cgroup's path: kubepods means Kubernetes,
// docker-ID.scope or /docker/ID means Docker, a service means systemd.
func (w *where) byContainer(l map[string]string) {
	id := l["id"]
	switch {
	case l["pod"] != "" || strings.Contains(id, "kubepods"):
		w.place, w.known = rules.Kubernetes, true
		for _, k := range []string{"namespace", "pod", "container"} {
			w.named[k] = l[k]
		}
	case strings.Contains(id, "docker") && !strings.HasSuffix(id, ".service"):
		w.place, w.known = rules.Docker, true
		if w.named["name"] = l["name"]; w.named["name"] == "" {
			w.named["name"] = strings.TrimSuffix(strings.TrimPrefix(path.Base(id), "docker-"), ".scope")
		}
	case strings.HasSuffix(id, ".service"):
		w.known = true
		w.named["unit"] = path.Base(id)
	}

	w.named["cgroup"] = id
}

// values identify the place for a finding; if the finding is about a container, that container.
func (w *where) values(c *rules.Case, f *rules.Finding) rules.Values {
	v := rules.Values{}
	// Prices are those of AWS: they say nothing about another cloud, or about a host in none.
	if w.cloud != rules.AWS {
		v["elsewhere"] = rules.Value(string(w.cloud))
	}

	for _, e := range c.Pack.Engines() {
		if e.Database == w.database && e.Folder != "" {
			v["folder"] = rules.Folder(w.facts[e.Folder])
		}
		if v["azure"] == "" || e.Database == w.database && e.AzureCommand != "" {
			v["azure"] = rules.Value(e.AzureCommand)
		}
	}

	for _, k := range []string{"namespace", "pod", "container", "name", "unit", "cgroup", "instance",
		"cluster", "server"} {
		v[k] = rules.Value(w.named[k])
	}

	if own := c.ContainerOf(f); own != nil && !slices.Contains(rules.Services, w.place) {
		x := where{place: w.place, named: map[string]string{}}
		x.byContainer(own)
		for k, text := range x.named {
			if text != "" {
				v[k] = rules.Value(text)
			}
		}
	}

	return v
}
