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
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
)

// A Layout is a deployment before and after a change.
type Layout struct {
	Before, After *scenario.Scenario
	File          string   // the scenario's, for comments
	Sets          []string // what turns Before into After, in the grammar of `simulate --set`

	targets    targets
	others     func(l *Layout, data budget.Budget) (files []File, apply []string, restarts string)
	deployment Deployment
	log        string // the volume that the engine's log may have for itself; "" if none
	changes    []Change
	disks      []disk
}

// NewLayout returns the layout that leads from one scenario to another. name is the scenario's file,
// and sets are the assignments between the two: both are for comments. The error is an *[InputError]
// if the engine changes, and an *[engine.LackError] if emit does not support the engine.
func NewLayout(of Engines, before, after *scenario.Scenario, name string, sets []string) (*Layout, error) {
	l := &Layout{Before: before, After: after, File: name, Sets: sets, targets: targetsOf(of.Deployments),
		others: of.Others}
	if b, a := before.Engine.Name(), after.Engine.Name(); b != a {
		return nil, Inputf("emit a layout of one engine",
			"the engine changes from %s to %s: emit cannot move a database between engines", b, a)
	}

	e, err := engine.Find(of.Deployments, l.engine(), "be emitted")
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

// Changes returns all differences of the deployment, by path, including those of the workload,
// which the application must make.
func (l *Layout) Changes() []Change { return l.changes }

// Changed reports whether a path of the scenario, or anything below it, has changed.
func (l *Layout) Changed(path string) bool {
	return slices.ContainsFunc(l.changes, func(c Change) bool { return c.within(path) })
}

// Because returns a value's old and new value, for comments; "" if nothing changed.
func (l *Layout) Because(path string) string {
	for _, c := range l.changes {
		if c.Path == path {
			return c.String()
		}
	}
	return ""
}

// slug is the scenario's name for use in names of resources: a-z, 0-9 and hyphens, at most 30.
func (l *Layout) slug() string {
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
	if s == "" || s[0] <= '9' {
		s = strings.TrimSuffix("plimsoll-"+s, "-")
	}

	return s
}

// title names the layout in comments, always in one line.
func (l *Layout) title() string { return oneLine(l.After.Name) }

// oneLine makes foreign text safe for a comment: a line feed would end the comment, and the rest
// would be executed.
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

// fileSystem returns that of one side of the layout.
func fileSystem(s *scenario.Scenario) string { return string(s.Host.FileSystem) }

// mountOptions returns those of one side of the layout; by default, reads do not update a file's
// access time.
func mountOptions(s *scenario.Scenario) []string {
	if s.Host.MountOptions == "" {
		return []string{"noatime"}
	}
	return s.Host.MountOptions.List()
}

// A spec is a volume as it is ordered: the figures for the provider.
type spec struct {
	kind     string // the catalogue's name of the product
	local    bool   // one of the machine's own disks
	provider string // whose: aws, gcp, azure, any
	gib      int64  // of each
	iops     int64  // of each, 0: not chosen
	rate     int64  // throughput of each in the provider's unit, 0: not chosen
	width    int    // of the stripe, 1 without
	unit     units.Size
	fs       string
	bursting bool            // on demand: Azure's
	caching  catalog.Caching // of Azure's hosts, "" without
	snapshot bool            // it is made from one: EBS
	fetch    int64           // the rate of its initialization in MiB/s, 0: not ordered
}

// stripeUnitDefault is LVM's default (lvcreate(8), --stripesize), in a scenario's unit.
const stripeUnitDefault = 64 * units.KiB

func specOf(o *catalog.Order, fs string) (*spec, error) {
	if o == nil {
		return nil, nil
	}

	t, err := catalog.Type(o.Type)
	if err != nil {
		return nil, err
	}

	limits, err := o.Limits(nil)
	if err != nil {
		return nil, err
	}

	s := &spec{kind: t.Name, local: t.Local, provider: t.Provider,
		gib: int64((o.Size + units.GiB - 1) / units.GiB), width: o.Members(), fs: fs,
		bursting: o.OnDemandBursting, snapshot: o.FromSnapshot,
		fetch: int64((o.InitializationRate + units.MiBps - 1) / units.MiBps)}

	if t.ChoosesIOPS {
		s.iops = int64(limits.Sustained.IOPS)
	}

	if t.ChoosesThroughput {
		s.rate = int64((limits.Sustained.Throughput + s.unitOfRate() - 1) / s.unitOfRate())
	}

	if o.Caching != catalog.NoCaching {
		s.caching = o.Caching
	}

	if s.width > 1 {
		s.unit = o.StripeUnit
		if s.unit == 0 {
			s.unit = stripeUnitDefault
		}
	}

	return s, nil
}

// unitOfRate is what the provider counts throughput in.
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

// A fate is what happens to a volume.
type fate int

const (
	created  fate = iota // it did not exist
	removed              // it will not exist
	modified             // the provider changes it while it is in use
	remade               // it cannot be changed: a new one gets the data
)

// A disk is a volume that changes.
type disk struct {
	name   string // in names of files and resources: "data", "m3-wal"
	volume string // the engine's name of it
	path   string // in the scenario
	member int    // the member that it belongs to, 0: all
	before *spec
	after  *spec
	fate   fate
	// resized means a different size; tuned a different type, IOPS or throughput. Both are done
	// online. switched means that on-demand bursting begins or ends, recached that the host's caching
	// changes.
	resized, tuned, switched, recached bool
}

// compareDisks finds the volumes that change.
func (l *Layout) compareDisks() ([]disk, error) {
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

		if d.judge(); d.fate == modified {
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

// isSame reports whether nothing happens to a disk. What a disk was made from never changes.
func (d *disk) isSame() bool {
	if d.before == nil || d.after == nil {
		return d.before == d.after
	}
	after := *d.after
	after.snapshot, after.fetch = d.before.snapshot, d.before.fetch
	return *d.before == after
}

// judge determines what happens to a disk. EBS changes type, IOPS, throughput and size of a volume
// in use, but never makes it smaller (Amazon EBS user guide, "Modify a volume using Elastic Volumes
// operations"). Google and Azure do the same, but for the type (Google Cloud documentation, "Change
// the disk type": by a snapshot; Azure's conversions need the machine stopped). A file system and a
// stripe are made once.
func (d *disk) judge() {
	b, a := d.before, d.after
	switch {
	case b == nil:
		d.fate = created
	case a == nil:
		d.fate = removed
	case b.provider == a.provider && !b.local && !a.local &&
		(a.provider == "aws" || a.kind == b.kind && a.provider != "any") && a.gib >= b.gib && a.width == b.width &&
		a.unit == b.unit && a.fs == b.fs:
		d.fate = modified
		d.resized = a.gib != b.gib
		d.tuned = a.kind != b.kind || a.iops != b.iops || a.rate != b.rate
		d.switched = a.bursting != b.bursting
		d.recached = a.caching != b.caching
	default:
		d.fate = remade
	}
}

// A NewVolume is one that did not exist before.
type NewVolume struct {
	Volume string // the engine's name of it
	Path   string // in the scenario
	Why    string // the change in one line
}

// NewVolumes returns those that did not exist before, without those that replace another.
func (l *Layout) NewVolumes() []NewVolume {
	var out []NewVolume
	for _, d := range l.disks {
		if d.fate == created {
			out = append(out, NewVolume{d.volume, d.path, d.why()})
		}
	}
	return out
}

// isNew reports whether volumes must be rented, and so file systems made.
func (d *disk) isNew() bool { return d.fate == created || d.fate == remade }

// why returns the disk's change in one line.
func (d *disk) why() string { return fmt.Sprintf("%s: from %s to %s", d.path, d.before, d.after) }

// local reports whether the new volume is on the instance's own disks.
func (d *disk) local() bool { return d.after != nil && d.after.local }

func names[T any](k scenario.Keyed[T]) []string {
	out := make([]string, len(k))
	for i := range k {
		out[i] = k[i].Name
	}
	return out
}

// union returns a, followed by what only b has.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}
