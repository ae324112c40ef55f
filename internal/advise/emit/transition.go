package emit

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"plimsoll/internal/advise/budget"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
)

// A Transition is a deployment before and after a change.
type Transition struct {
	Before, After *scenario.Scenario
	File          string   // the scenario's file, for comments
	Sets          []string // the assignments from Before to After, in the grammar of `simulate --set`

	isNew      bool // nothing of Before exists
	targets    targets
	others     func(l *Transition, data budget.Budget) *Part
	deployment Deployment
	log        string // the engine's separate log volume; "" if it has none
	changes    []Change
	disks      []disk
}

// NewTransition returns the change between two scenarios. name is the scenario's file name, and sets are the
// assignments between the two: both are only for comments. The error is an *[InputError] if the engine
// changes, and an *[database.LackError] if emit does not support the engine.
func NewTransition(of Engines, before, after *scenario.Scenario, name string, sets []string) (
	*Transition, error) {
	l := &Transition{Before: before, After: after, File: name, Sets: sets, targets: targetsOf(of.Deployments),
		others: of.Others}
	if b, a := before.Engine.Name(), after.Engine.Name(); b != a {
		return nil, Inputf("use two scenarios with the same engine",
			"the engine changes from %s to %s: emit cannot move a database between engines", b, a)
	}

	e, err := database.Find(of.Deployments, l.engine(), "be emitted")
	if err != nil {
		return nil, err
	}

	l.deployment, l.log = e.Part, e.Log()
	l.changes = compare(before, after)
	if l.disks, err = l.compareDisks(); err != nil {
		return nil, err
	}

	return l, nil
}

// Changes returns all differences of the deployment, including those of the workload, which the
// application must make.
func (l *Transition) Changes() []Change { return l.changes }

// Changed reports whether a path of the scenario, or anything below it, has changed.
func (l *Transition) Changed(path string) bool {
	return slices.ContainsFunc(l.changes, func(c Change) bool { return c.within(path) })
}

// Because returns a value's old and new value, for comments; "" if nothing changed.
func (l *Transition) Because(path string) string {
	for _, c := range l.changes {
		if c.Path == path {
			return c.String()
		}
	}
	return ""
}

// slug returns the scenario's name for use in resource names: a-z, 0-9 and hyphens, at most 30.
func (l *Transition) slug() string {
	name := l.After.Name
	if name == l.File {
		name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}

	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 30 {
			break
		}
	}

	s := strings.Trim(b.String(), "-")

	// Names of some resources must not start with a digit.
	if s == "" || s[0] <= '9' {
		s = strings.TrimSuffix("plimsoll-"+s, "-")
	}

	return s
}

// title returns the layout's name for comments, always on one line.
func (l *Transition) title() string { return oneLine(l.After.Name) }

// oneLine makes untrusted text safe for a comment: a line feed would end the comment, and the shell would
// execute the rest.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' ||
			r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 120 {
		s = string(r[:117]) + "..."
	}
	return s
}

func fileSystem(s *scenario.Scenario) string { return string(s.Host.FileSystem) }

// mountOptions returns the mount options of a scenario. By default, reads do not update access times.
func mountOptions(s *scenario.Scenario) []string {
	if s.Host.MountOptions == "" {
		return []string{"noatime"}
	}
	return s.Host.MountOptions.List()
}

// A spec is a volume as ordered from the provider.
type spec struct {
	kind     string // the catalogue's name of the product
	local    bool   // on the machine's local disks
	provider string // aws, gcp, azure, any
	gib      int64  // of each volume
	iops     int64  // of each volume; 0: not chosen
	rate     int64  // throughput of each volume in the provider's unit; 0: not chosen
	width    int    // of the stripe; 1: no stripe
	unit     units.Size
	fs       string
	bursting bool            // Azure's on-demand bursting
	caching  catalog.Caching // by Azure's hosts; "": none
	snapshot bool            // created from a snapshot (EBS only)
	fetch    int64           // initialization rate in MiB/s; 0: not ordered
}

// stripeUnitDefault is LVM's default (lvcreate(8), --stripesize), in a scenario's unit.
const stripeUnitDefault = 64 * units.KiB

func specOf(order *catalog.Order, fs string) (*spec, error) {
	if order == nil {
		return nil, nil
	}

	t, err := catalog.Type(order.Type)
	if err != nil {
		return nil, err
	}

	limits, err := order.Limits(nil)
	if err != nil {
		return nil, err
	}

	out := &spec{kind: t.Name, local: t.Local, provider: t.Provider,
		gib: int64((order.Size + units.GiB - 1) / units.GiB), width: order.Members(), fs: fs,
		bursting: order.OnDemandBursting, snapshot: order.FromSnapshot,
		fetch: int64((order.InitializationRate + units.MiBps - 1) / units.MiBps)}

	if t.ChoosesIOPS {
		out.iops = int64(limits.Sustained.IOPS)
	}

	// Round up: less than the scenario's throughput would break the plan.
	if t.ChoosesThroughput {
		out.rate = int64((limits.Sustained.Throughput + out.unitOfRate() - 1) / out.unitOfRate())
	}

	if order.Caching != catalog.NoCaching {
		out.caching = order.Caching
	}

	if out.width > 1 {
		out.unit = order.StripeUnit
		if out.unit == 0 {
			out.unit = stripeUnitDefault
		}
	}

	return out, nil
}

// unitOfRate returns the provider's unit of throughput.
func (s *spec) unitOfRate() units.Throughput {
	if s.provider == "azure" {
		return units.MBps
	}
	return units.MiBps
}

// String describes the volume briefly.
func (s *spec) String() string {
	if s == nil {
		return "none"
	}

	var parts []string
	if s.width > 1 {
		parts = append(parts, fmt.Sprintf("%d striped, each %s", s.width, s.kind))
	} else {
		parts = append(parts, s.kind)
	}

	if s.gib > 0 {
		parts = append(parts, fmt.Sprintf("%d GiB", s.gib))
	}

	if s.iops > 0 {
		parts = append(parts, fmt.Sprintf("%d IOPS", s.iops))
	}

	if s.rate > 0 {
		unit := "MiB/s"
		if s.unitOfRate() == units.MBps {
			unit = "MB/s"
		}
		parts = append(parts, fmt.Sprintf("%d %s", s.rate, unit))
	}

	if s.bursting {
		parts = append(parts, "on-demand bursting")
	}

	if s.caching != "" {
		parts = append(parts, "host caching "+string(s.caching))
	}

	if s.snapshot {
		parts = append(parts, "from a snapshot")
	}

	if s.fetch > 0 {
		parts = append(parts, fmt.Sprintf("initialized at %d MiB/s", s.fetch))
	}

	return strings.Join(parts, ", ")
}

// A diskAction is what happens to a volume.
type diskAction int

const (
	created  diskAction = iota // it did not exist before
	removed                    // it will not exist afterwards
	modified                   // the provider changes it while it is in use
	remade                     // it cannot be changed: the data moves to a new volume
)

// A disk is a volume that changes.
type disk struct {
	name   string // for file and resource names: "data", "m3-wal"
	volume string // the engine's name for it
	path   string // in the scenario
	member int    // the member that it belongs to; 0: all members
	before *spec
	after  *spec
	action diskAction
	// Which properties of a modified disk change: resized the size; tuned the type, IOPS or throughput;
	// switched on-demand bursting; recached the host's caching. The first two change online.
	resized, tuned, switched, recached bool
}

// compareDisks returns the volumes that change.
func (l *Transition) compareDisks() ([]disk, error) {
	var out []disk
	add := func(d disk, before, after *catalog.Order) error {
		var err error
		if d.before, err = specOf(before, fileSystem(l.Before)); err != nil {
			return err
		}

		if d.after, err = specOf(after, fileSystem(l.After)); err != nil {
			return err
		}
		if d.isSame() {
			return nil
		}

		// A modified volume keeps its origin, so a different snapshot in the scenario has no effect
		// on it.
		if d.judge(); d.action == modified {
			d.after.snapshot, d.after.fetch = d.before.snapshot, d.before.fetch
		}

		out = append(out, d)
		return nil
	}

	for _, name := range union(names(l.Before.Volumes), names(l.After.Volumes)) {
		d := disk{name: name, volume: name, path: "volumes." + name}
		if err := add(d, l.Before.Volumes.Get(name), l.After.Volumes.Get(name)); err != nil {
			return nil, err
		}
	}

	// Members may have their own volumes, which exist in addition to or instead of the common ones.
	for _, m := range union(names(l.Before.Members), names(l.After.Members)) {
		k, err := strconv.Atoi(m)
		if err != nil {
			return nil, err
		}

		var own []string
		for _, s := range []*scenario.Scenario{l.Before, l.After} {
			if member := s.Members.Get(m); member != nil {
				own = union(own, names(member.Volumes))
			}
		}

		for _, name := range own {
			before, after := l.Before.VolumesOf(k), l.After.VolumesOf(k)
			d := disk{name: "m" + m + "-" + name, volume: name, path: "members." + m + ".volumes." + name, member: k}
			if err := add(d, before.Get(name), after.Get(name)); err != nil {
				return nil, err
			}
		}
	}

	return out, nil
}

// isSame reports whether a disk does not change. The origin of a disk (a snapshot) never counts as a
// change.
func (d *disk) isSame() bool {
	if d.before == nil || d.after == nil {
		return d.before == d.after
	}
	after := *d.after
	after.snapshot, after.fetch = d.before.snapshot, d.before.fetch
	return *d.before == after
}

// judge determines what happens to a disk. EBS can change the type, IOPS, throughput and size of a volume
// in use, but never shrink it (Amazon EBS user guide, "Modify a volume using Elastic Volumes
// operations"). Google and Azure can do the same except for the type (Google Cloud documentation, "Change
// the disk type": it needs a snapshot; Azure's conversions require stopping the machine). File systems
// and stripes cannot be changed in place.
func (d *disk) judge() {
	b, a := d.before, d.after
	switch {
	case b == nil:
		d.action = created
	case a == nil:
		d.action = removed
	// In place: same provider, no shrinking, and neither stripe nor file system changes.
	case b.provider == a.provider && !b.local && !a.local &&
		(a.provider == "aws" || a.kind == b.kind && a.provider != "any") && a.gib >= b.gib && a.width == b.width &&
		a.unit == b.unit && a.fs == b.fs:
		d.action = modified
		d.resized = a.gib != b.gib
		d.tuned = a.kind != b.kind || a.iops != b.iops || a.rate != b.rate
		d.switched = a.bursting != b.bursting
		d.recached = a.caching != b.caching
	default:
		d.action = remade
	}
}

// A NewVolume is a volume that did not exist before.
type NewVolume struct {
	Volume string // the engine's name for it
	Path   string // in the scenario
	Why    string // the change on one line
}

// NewVolumes returns the volumes that did not exist before, without those that replace another.
func (l *Transition) NewVolumes() []NewVolume {
	var out []NewVolume
	for _, d := range l.disks {
		if d.action == created {
			out = append(out, NewVolume{d.volume, d.path, d.why()})
		}
	}
	return out
}

// IsNew reports whether the layout is of a deployment that does not exist yet.
func (l *Transition) IsNew() bool { return l.isNew }

// isNew reports whether the volume has to be created, with a new file system.
func (d *disk) isNew() bool { return d.action == created || d.action == remade }

// why returns the disk's change on one line.
func (d *disk) why() string { return fmt.Sprintf("%s: from %s to %s", d.path, d.before, d.after) }

// local reports whether the new volume is on the instance's local disks.
func (d *disk) local() bool { return d.after != nil && d.after.local }

func names[T any](k scenario.Keyed[T]) []string {
	out := make([]string, len(k))
	for i := range k {
		out[i] = k[i].Name
	}
	return out
}

// union returns a, followed by the elements that only b has.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}
