package emit

import (
	"reflect"
	"slices"
	"strings"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/model/catalog"
)

// A carrier is what a target can carry out of a volume's change. This is the only place that says
// so: the targets refuse by it, and a plan asks it through [Platform].
type carrier struct {
	providers []string // whose network volumes it makes and changes
	stripes   bool     // over several of them
	local     bool     // on the machine's own disks
	not       []string // types that it cannot make nevertheless: they need more than a zone
	afterOnly bool     // what was there before does not matter to it
}

// carriers are the targets that make or change volumes, by name.
var carriers = map[string]carrier{
	"terraform": {providers: []string{"aws", "gcp", "azure"}, stripes: true,
		not: []string{"hyperdisk-balanced-ha"}},
	"aws":        {providers: []string{"aws"}, stripes: true},
	"lvm":        {stripes: true, local: true, afterOnly: true},
	"gcp":        {providers: []string{"gcp"}, stripes: true, not: []string{"hyperdisk-balanced-ha"}},
	"azure":      {providers: []string{"azure"}, stripes: true},
	"kubernetes": {providers: []string{"aws", "gcp", "azure"}},
}

// A refusal is why a target cannot carry out a change of a volume.
type refusal int

const (
	carried    refusal = iota
	isLocal            // the volume is on the machine's own disks
	elsewhere          // the volume is of a provider that the target does not know
	isStripe           // the volume is a stripe
	isRegional         // the volume is in two zones
)

// refuses says why a target cannot turn one volume into another; either may be nil.
func (c *carrier) refuses(before, after *spec) refusal {
	for _, s := range []*spec{before, after} {
		switch {
		case s == nil, s == before && c.afterOnly:
		case s.local && !c.local:
			return isLocal
		case !s.local && !slices.Contains(c.providers, s.provider):
			return elsewhere
		case slices.Contains(c.not, s.kind):
			return isRegional
		}
	}

	if after != nil && after.width > 1 && !c.stripes {
		return isStripe
	}

	return carried
}

// carries refuses volumes that a target cannot make or change.
func (d *disk) carries(target string) error {
	c := carriers[target]
	refused := c.refuses(d.before, d.after)
	switch refused {
	case isLocal:
		next := "leave out --to " + target + "; --to lvm makes the file system on them"
		if target == "kubernetes" {
			next += "; pods get them as local volumes (the local volume static provisioner, sigs.k8s.io/sig-storage-local-static-provisioner), which bind a pod to its machine"
		}
		return Inputf(next, "%s is the instance's own disks, which come with the machine: %s makes %s volumes only",
			d.path, target, c.whose())
	case elsewhere:
		kind := d.before
		if kind == nil || slices.Contains(c.providers, kind.provider) {
			kind = d.after
		}
		return Inputf("leave out --to "+target, "%s is %s: %s is written for %s volumes only", d.path, kind.kind,
			target, c.whose())
	case isRegional:
		return Inputf("leave out --to "+target, "%s: %s", d.path, refused.text(target, &c))
	case isStripe:
		return Inputf("use --to lvm on the nodes with a local volume, or one larger volume (gp3 goes to 80,000 IOPS)",
			"%s is a stripe of %d: %s", d.path, d.after.width, refused.text(target, &c))
	}

	return nil
}

// text is a refusal in a few words.
func (r refusal) text(target string, c *carrier) string {
	switch r {
	case isLocal:
		return "the machine's own disks come with the machine"
	case elsewhere:
		if len(c.providers) == 0 {
			return "nothing is rented there"
		}
		return target + " is written for " + c.whose() + " volumes only"
	case isRegional:
		return target + " makes disks in one zone, and this type is in two"
	case isStripe:
		return "a claim is one volume, and Kubernetes has no stripes"
	}
	return ""
}

// products are what the providers' network volumes are called.
var products = map[string]string{"aws": "Amazon EBS", "gcp": "Google Cloud", "azure": "Azure"}

func (c *carrier) whose() string {
	var names []string
	for _, p := range c.providers {
		names = append(names, products[p])
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// A Platform is where a layout is carried out, with the targets that do it. It is what a plan asks
// so that it searches only what can be carried out there.
type Platform struct {
	name string
	// volumes are the targets that make or change volumes there; one of them is enough.
	volumes []string
	// others are further targets that are of use there, whatever the engine.
	others []string
	// refused are values that nothing there can change, with the reason.
	refused map[string]string
}

// everywhere are the platforms. A cloud's machines have local disks, which lvm makes file systems
// on.
var everywhere = []Platform{
	{name: "kubernetes", volumes: []string{"kubernetes"}, others: []string{"sysctl", "udev", budgetTarget}},
	{name: "aws", volumes: []string{"aws", "lvm"}, others: []string{"sysctl", "udev", budgetTarget}},
	{name: "gcp", volumes: []string{"gcp", "lvm"}, others: []string{"sysctl", "udev", budgetTarget}},
	{name: "azure", volumes: []string{"azure", "lvm"}, others: []string{"sysctl", "udev", budgetTarget}},
	{name: "bare", volumes: []string{"lvm"}, others: []string{"sysctl", "udev", budgetTarget},
		refused: map[string]string{
			"host.instance":   "no machine is rented there",
			"host.filesystem": "another file system needs another volume, and none is rented there",
		}},
}

// PlatformNames are the names of all platforms.
func PlatformNames() []string {
	var out []string
	for _, p := range everywhere {
		out = append(out, p.name)
	}
	return out
}

// PlatformNamed returns a platform. The error is an *[InputError].
func PlatformNamed(name string) (*Platform, error) {
	i := slices.IndexFunc(everywhere, func(p Platform) bool { return p.name == name })
	if i < 0 {
		next := ""
		if near := diagnostics.Nearest(name, PlatformNames()); near != "" {
			next = "did you mean " + near + "?"
		}
		return nil, Inputf(next, "--to %q is not a platform: one of %s", name, strings.Join(PlatformNames(), ", "))
	}
	return &everywhere[i], nil
}

// Name is the platform's, as in --to.
func (p *Platform) Name() string { return p.name }

// Targets are those whose files carry out a layout there: the platform's, and the engine's own.
func (p *Platform) Targets(l *Layout) []string {
	out := slices.Concat(p.volumes, p.others)
	for _, t := range l.targets {
		if t.engine != "" && t.engine == l.engine() {
			out = append(out, t.name)
		}
	}
	return out
}

// Volume says in a few words why a volume cannot become another one there, "" if it can. before is
// nil for a volume that does not exist yet. A volume that stays must only be one that the platform
// has.
func (p *Platform) Volume(before, after *catalog.Order) string {
	b, err1 := specOf(before, "")
	a, err2 := specOf(after, "")
	if err1 != nil || err2 != nil || a == nil {
		return "" // the catalogue refuses it
	}

	stays, why := reflect.DeepEqual(b, a), ""
	for _, name := range p.volumes {
		c := carriers[name]
		r := c.refuses(b, a)
		if r == carried || stays && (r == isStripe || a.local || !p.rents()) {
			return ""
		}
		if why == "" {
			why = r.text(name, &c)
		}
	}

	return why
}

// rents reports whether network volumes can be rented there.
func (p *Platform) rents() bool {
	return slices.ContainsFunc(p.volumes, func(name string) bool { return len(carriers[name].providers) > 0 })
}

// Value says in a few words why a value cannot be changed there, "" if it can. Volumes' values are
// Volume's.
func (p *Platform) Value(path string) string { return p.refused[path] }
