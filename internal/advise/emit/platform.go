package emit

import (
	"reflect"
	"slices"
	"strings"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
)

// A carrier defines which volume changes a target can carry out. This is the single source of truth: the
// targets refuse changes based on it, and plans query it through [Platform].
type carrier struct {
	providers []string // whose network volumes it creates and changes
	stripes   bool     // supports stripes of several volumes
	local     bool     // supports the machine's local disks
	not       []string // types that it cannot create, because they span zones
	afterOnly bool     // only the new volume matters to it
}

// carriers are the targets that create or change volumes, by name.
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
	isLocal            // the volume is on the machine's local disks
	elsewhere          // the target does not support the volume's provider
	isStripe           // the volume is a stripe
	isRegional         // the volume spans two zones
)

// refuses returns why a target cannot change one volume to another; either may be nil.
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

	// An existing stripe may stay, but no new one can be created.
	if after != nil && after.width > 1 && !c.stripes {
		return isStripe
	}

	return carried
}

// carries returns an error if a target cannot create or change the volume.
func (d *disk) carries(target string) error {
	c := carriers[target]
	refused := c.refuses(d.before, d.after)
	switch refused {
	case isLocal:
		next := "leave out --target " + target + "; --target lvm creates the file system on them"
		if target == "kubernetes" {
			next += "; pods get them as local volumes (the local volume static provisioner, sigs.k8s.io/sig-storage-local-static-provisioner), which bind a pod to its machine"
		}
		return Inputf(
			next, "%s is on the instance's local disks, which come with the machine: %s only creates %s volumes",
			d.path, target, c.whose())
	case elsewhere:
		kind := d.before
		// Name the volume that causes the refusal.
		if kind == nil || slices.Contains(c.providers, kind.provider) {
			kind = d.after
		}
		return Inputf("leave out --target "+target, "%s is %s: %s only supports %s volumes", d.path, kind.kind,
			target, c.whose())
	case isRegional:
		return Inputf("leave out --target "+target, "%s: %s", d.path, refused.text(target, &c))
	case isStripe:
		return Inputf("use --target lvm on the nodes with a local volume, or one larger volume (gp3 supports up to 80,000 IOPS)",
			"%s is a stripe of %d: %s", d.path, d.after.width, refused.text(target, &c))
	}

	return nil
}

// text describes a refusal in a few words.
func (r refusal) text(target string, c *carrier) string {
	switch r {
	case isLocal:
		return "local disks come with the machine"
	case elsewhere:
		if len(c.providers) == 0 {
			return "the platform has no network volumes"
		}
		return target + " only supports " + c.whose() + " volumes"
	case isRegional:
		return target + " creates disks in one zone, but this type spans two"
	case isStripe:
		return "a claim is one volume, and Kubernetes does not support stripes"
	}
	return ""
}

// products are the names of the providers' network volumes.
var products = map[string]string{"aws": "Amazon EBS", "gcp": "Google Cloud", "azure": "Azure"}

func (c *carrier) whose() string {
	var names []string
	for _, p := range c.providers {
		names = append(names, products[p])
	}
	return units.Joined(names)
}

// A Platform is where a layout is carried out, with the targets for it. Plans use it to search only
// feasible layouts.
type Platform struct {
	name string
	// volumes are the targets that create or change volumes there; it is enough if one supports a change.
	volumes []string
	// others are further targets that are useful there with any engine.
	others []string
	// refused are values that cannot be changed there, with the reason.
	refused map[string]string
}

// everywhere are the platforms. Clouds include lvm, which creates file systems on local disks.
var everywhere = []Platform{
	{name: "kubernetes", volumes: []string{"kubernetes"}, others: []string{"sysctl", "udev", budgetTarget}},
	{name: "aws", volumes: []string{"aws", "lvm"}, others: []string{"sysctl", "udev", budgetTarget}},
	{name: "gcp", volumes: []string{"gcp", "lvm"}, others: []string{"sysctl", "udev", budgetTarget}},
	{name: "azure", volumes: []string{"azure", "lvm"}, others: []string{"sysctl", "udev", budgetTarget}},
	{name: "bare", volumes: []string{"lvm"}, others: []string{"sysctl", "udev", budgetTarget},
		refused: map[string]string{
			"host.instance":   "its machines cannot be replaced",
			"host.filesystem": "another file system needs another volume, and the platform has no network volumes",
		}},
}

// PlatformNames returns the names of all platforms.
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
		if near := inputerror.Nearest(name, PlatformNames()); near != "" {
			next = "did you mean " + near + "?"
		}
		return nil, Inputf(next, "--platform %q is not a platform: want one of %s", name,
			strings.Join(PlatformNames(), ", "))
	}
	return &everywhere[i], nil
}

// Name returns the platform's name, as in --platform.
func (p *Platform) Name() string { return p.name }

// Targets returns the targets that carry out a layout there: the platform's, and the engine's own.
func (p *Platform) Targets(l *Transition) []string {
	out := slices.Concat(p.volumes, p.others)
	for _, t := range l.targets {
		if t.engine != "" && t.engine == l.engine() {
			out = append(out, t.name)
		}
	}
	return out
}

// Volume returns why a volume cannot be changed to another one there, or "" if it can. before is nil for
// a volume that does not exist yet. A volume that stays the same must only exist on the platform.
func (p *Platform) Volume(before, after *catalog.Order) string {
	b, err1 := specOf(before, "")
	a, err2 := specOf(after, "")
	if err1 != nil || err2 != nil || a == nil {
		return "" // the catalogue rejects it
	}

	stays, why := reflect.DeepEqual(b, a), ""
	for _, name := range p.volumes {
		c := carriers[name]
		// One target that can carry out the change suffices. If none can, report the first one's
		// reason.
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

// rents reports whether the platform has network volumes.
func (p *Platform) rents() bool {
	return slices.ContainsFunc(p.volumes, func(name string) bool { return len(carriers[name].providers) > 0 })
}

// Value returns why a value outside the volumes cannot be changed there, or "" if it can.
func (p *Platform) Value(path string) string { return p.refused[path] }
