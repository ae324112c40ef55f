package plan

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
)

// A spaceMaker builds the space of a deployment.
type spaceMaker struct {
	now     *scenario.Scenario
	engine  Profile // of the current deployment
	opt     *Options
	keep    []string // paths that must not change
	members int
	// machineUnpriced: the instance's price is unknown, so the instance stays the same and totals
	// exclude it.
	machineUnpriced bool
	// Limits of the largest machine of the space for all its volumes: ladders stop there. 0: the
	// scenario names no machine.
	capIOPS       catalog.IOPS
	capThroughput units.Throughput
	barriers      []string // why the target rules options out; see Target
	unattached    []string // volume types that cannot be attached, with the reason
}

// makeSpace builds the space of a deployment: the grid of docs/plan.md.
func makeSpace(now *scenario.Scenario, opt *Options) (*Space, error) {
	m := &spaceMaker{now: now, engine: opt.profileOf(now), opt: opt, members: now.MemberCount()}
	if err := m.asked(); err != nil {
		return nil, err
	}

	if err := m.placed(); err != nil {
		return nil, err
	}

	if err := m.priced(); err != nil {
		return nil, err
	}

	if err := m.keeping(opt.Keep); err != nil {
		return nil, err
	}

	s := m.make()
	s.barriers = m.barriers
	s.unattached = m.unattached
	s.atOnce = opt.atOnce()
	s.isNew = opt.New

	return s, nil
}

func (m *spaceMaker) make() *Space {
	space := &Space{}
	fixed := dollars(0)

	// Machines come before volumes, because the volumes' ladders stop at the limits of the largest
	// machine.
	machines := m.instances()

	var volumes []axis
	for _, v := range m.now.Volumes {
		n := 0
		for k := 1; k <= m.members; k++ {
			// A member with its own volume of that name does not have the common one.
			if own := m.now.Members.Get(fmt.Sprint(k)); own == nil || own.Volumes.Get(v.Name) == nil {
				n++
			}
		}
		g := &volumeGrid{space: m, path: "volumes." + v.Name, now: &v.Value, machines: n}
		volumes = append(volumes, axis{path: g.path, options: g.options()})
	}

	// Members' own volumes do not change, but their cost is part of every total.
	for _, own := range m.now.Members {
		for _, v := range own.Value.Volumes {
			g := &volumeGrid{space: m, machines: 1}
			fixed += max(g.cost(&v.Value), 0)
		}
	}

	space.axes = slices.Concat(m.settings(), volumes, m.logAxis(), machines, m.membersAxis())

	// Option costs are for the current number of members; scale them to the choice's number.
	space.bill = func(choice []int) dollars {
		sum := dollars(0)
		for i, k := range choice {
			sum += space.axes[i].options[k].cost
		}
		return fixed + sum/dollars(m.members)*dollars(m.membersOf(space, choice))
	}

	if m.opt.Unpriced {
		space.amounts = func(choice []int) ordered {
			sum := ordered{}
			for i, k := range choice {
				sum = sum.plus(space.axes[i].options[k].ordered)
			}
			n := int64(m.members) // per member
			return ordered{sum.iops / n, sum.throughput / n, sum.size / n}.times(m.membersOf(space, choice))
		}
	}

	return space
}

// membersOf returns the number of machines of a choice.
func (m *spaceMaker) membersOf(s *Space, choice []int) int {
	for i, k := range choice {
		if n := s.axes[i].options[k].members; n > 0 {
			return n
		}
	}
	return m.members
}

// asked rejects options that do not apply to this deployment.
func (m *spaceMaker) asked() error {
	if m.opt.QuerySpan != 0 && m.now.Workloads().Spec().Buckets == nil {
		return inputf(
			"leave --query-span out", "--query-span only applies to workloads with buckets, and this one has none")
	}
	if !m.opt.Ephemeral {
		return nil
	}

	for _, v := range m.now.Volumes {
		if t, err := catalog.Type(v.Value.Type); err == nil && (t.Provider == "gcp" || t.Provider == "azure") {
			return inputf(
				"leave --ephemeral out", "--ephemeral: volumes.%s is %s, but the catalogue only has the local disks of Amazon's instances",
				v.Name, t.Name)
		}
	}

	if m.now.Instance() == nil {
		return inputf(
			"set it: --set host.instance=m6i.xlarge", "--ephemeral: the scenario does not name its instance type, so its disks are unknown")
	}

	return nil
}

// priced checks that the current deployment has a price, because otherwise nothing can be cheaper or
// more expensive. Only the machine's price may be missing: then totals cover only volumes, and the
// machine stays the same.
func (m *spaceMaker) priced() error {
	if m.opt.Unpriced {
		return nil
	}

	for k := 1; k <= m.members; k++ {
		for _, v := range m.now.VolumesOf(k) {
			_, err := m.now.Catalog().Monthly(&v.Value, m.opt.Region)
			if err == nil {
				continue
			}

			next := ""
			var none *catalog.NoPriceError
			if errors.As(err, &none) {
				next = none.Hint() + "; --unpriced plans without prices"
			}

			if t, kind := catalog.Type(v.Value.Type); kind == nil && t.Name == "custom" {
				next = "specify the product: --set 'volumes." + v.Name +
					"={type: gp3, size: 500GiB}'; plimsoll catalog list shows all types"
			}

			return inputf(next, "volumes.%s: %v, and a plan compares prices", v.Name, err)
		}
	}

	if i := m.now.Instance(); i != nil {
		_, err := i.Monthly(m.opt.Region)
		m.machineUnpriced = err != nil
	}

	return nil
}

// short expands the short name of a path.
func (m *spaceMaker) short(name string) string {
	cache := m.now.Engine.Cache
	switch {
	case name == "instance":
		return "host.instance"
	case name == "filesystem":
		return "host.filesystem"
	case name == "writeback":
		return "host.dirty_background_bytes"
	case name == "throttling":
		return "host.wbt_lat_usec"
	case name == "buckets":
		return "workload.buckets.span"
	case name == "members" && m.engine.MembersKey != "":
		return settingPath(m.now, m.engine.MembersKey)
	case name == "cache" && cache != "":
		return settingPath(m.now, cache)
	}

	return name
}

// KeepNames returns the paths that --keep accepts, apart from those of the scenario's own volumes.
func KeepNames(engines []database.With[Profiler]) []string {
	out := []string{
		"host.instance", "host.filesystem", "host.dirty_background_bytes", "host.wbt_lat_usec", "engine", "volumes",
		"volumes.data", "volumes.data.type",
		"volumes.data.iops", "volumes.data.throughput", "volumes.data.stripe",
	}

	var logs []string
	for _, e := range engines {
		for _, r := range e.Volumes {
			if r.Log {
				logs = append(logs, "volumes."+r.Name)
			}
		}
	}

	slices.Sort(logs)
	return append(append(out, slices.Compact(logs)...), "workload")
}

// keeping parses the paths that must not change.
func (m *spaceMaker) keeping(names []string) error {
	// Build the space once without restrictions, to learn which paths a plan could change.
	all := *m
	known := []string{"volumes", "host", "engine", "workload", "instance", "filesystem", "writeback",
		"throttling", "members", "cache", "buckets"}
	for _, a := range all.make().axes {
		known = append(known, a.path)
		for _, o := range a.options {
			for _, s := range o.sets {
				known = append(known, s.Path)
			}
		}
	}

	for _, v := range m.engine.ExtraVolumes {
		known = append(known, "volumes."+v.Name)
	}

	for _, v := range m.now.Volumes {
		for _, key := range []string{"", ".type", ".size", ".iops", ".throughput", ".stripe"} {
			known = append(known, "volumes."+v.Name+key)
		}
	}

	known = append(known, "host.instance")
	for _, name := range names {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) && !slices.ContainsFunc(known,
			func(k string) bool { return within(k, name) }) {
			next := "use the path of something that a plan can change: " +
				strings.Join(KeepNames(nil)[:6], ", ") + ", ..."
			if near := inputerror.Nearest(name, known); near != "" {
				next = "did you mean " + near + "?"
			}
			return inputf(next, "--keep %s: a plan cannot change anything by that name", name)
		}
		m.keep = append(m.keep, m.short(name))
	}

	return nil
}

// kept reports whether assignments change something that must not change. Assigning a parent of a
// kept path counts as a change; removing a parent does not.
func (m *spaceMaker) kept(sets []scenario.Set) bool {
	return slices.ContainsFunc(sets, func(s scenario.Set) bool {
		return slices.ContainsFunc(m.keep,
			func(k string) bool { return within(s.Path, k) || s.Path == k || within(k, s.Path) && s.Value != nil })
	})
}

// family splits the name of an instance family: m6idn is class m, generation 6, processor i, extras
// dn. Before generation 6, families with Intel processors have no processor letter.
var family = regexp.MustCompile(`^([a-z]+?)(\d+)(i|a|g)?([a-z]*)$`)

// extras are the letters for an instance's storage features: local disks, network and EBS
// bandwidth.
const extras = "dnb"

// extends reports whether a family has all extras of another, and beyond them only storage features.
func extends(has, own string) bool {
	for _, letter := range own {
		if !strings.ContainsRune(has, letter) {
			return false
		}
	}
	return !strings.ContainsFunc(has, func(r rune) bool { return !strings.ContainsRune(own+extras, r) })
}

// sizesUp is the maximum factor by which a plan may raise the number of cores.
const sizesUp = 4

// instances returns the axis of machines: the same class, generation and processor, with at least as
// many cores and as much memory. A storage plan does not reduce cores: the model covers what that does
// to storage, but not to other work.
func (m *spaceMaker) instances() []axis {
	now := m.now.Instance()
	if now == nil {
		return nil
	}

	m.cap(now)
	if m.opt.New && !m.opt.Unpriced && !m.machineUnpriced {
		return m.machinesToBuy(now)
	}

	// Without prices, a larger machine would look free and always win.
	if m.opt.Unpriced || m.machineUnpriced {
		return []axis{{path: "host.instance", options: []option{{}}}}
	}

	ax := axis{path: "host.instance", options: []option{{cost: m.instanceCost(now)}}}
	name, _, _ := strings.Cut(now.Name, ".")
	own := family.FindStringSubmatch(name)

	all := m.now.Catalog().Instances()
	for i := range all {
		t := &all[i]
		kind, size, _ := strings.Cut(t.Name, ".")
		parts := family.FindStringSubmatch(kind)
		if t.Name == now.Name || own == nil || parts == nil ||
			!slices.Equal(parts[1:4], own[1:4]) || !extends(parts[4], own[4]) ||
			strings.HasPrefix(size, "metal") || !t.HasEBS || t.VCPU < now.VCPU || t.VCPU > sizesUp*now.VCPU ||
			t.Memory < now.Memory {
			continue
		}

		// Allow a larger machine of the same family, or another family at the same size, but not
		// both: that keeps the axis short.
		if kind != name && t.VCPU != now.VCPU {
			continue
		}

		m.addMachine(&ax, t, now, Restart)
	}

	return []axis{ax}
}

// addMachine adds a machine as an option, if its price is known and it respects --keep and the target.
func (m *spaceMaker) addMachine(ax *axis, t, now *catalog.InstanceType, need Need) {
	sets := append([]scenario.Set{{Path: "host.instance", Value: t.Name}}, m.coresOf(t, now)...)
	if cost := m.instanceCost(t); cost >= 0 && !m.kept(sets) && !m.barredValue(sets) {
		ax.options = append(ax.options, option{sets: sets, need: need, cost: cost})
		m.cap(t)
	}
}

// coresOf returns the assignment of a larger machine's cores, if the scenario states exactly the cores of
// the current one: they were measured on the host, so they belong to the machine. If it states fewer,
// they are a container's limit, which applies on any machine, like the scenario's memory.
func (m *spaceMaker) coresOf(t, now *catalog.InstanceType) []scenario.Set {
	if t.VCPU <= now.VCPU || m.now.Host.Cores != now.VCPU {
		return nil
	}
	larger, err := m.now.With(scenario.Set{Path: "host.instance", Value: t.Name})
	if err != nil || larger.Host.Cores != now.VCPU {
		return nil // the scenario already derives them from the machine
	}
	return []scenario.Set{{Path: "host.cores", Value: t.VCPU}}
}

// cap raises the upper end of the ladders to a machine's limits.
func (m *spaceMaker) cap(t *catalog.InstanceType) {
	if t.HasEBS {
		m.capIOPS = max(m.capIOPS, catalog.IOPS(t.Maximum.IOPS))
		m.capThroughput = max(m.capThroughput, t.Maximum.Throughput)
	}
}

func (m *spaceMaker) instanceCost(t *catalog.InstanceType) dollars {
	usd, err := t.Monthly(m.opt.Region)
	if err != nil {
		return -1
	}
	return micro(usd) * dollars(m.members)
}
