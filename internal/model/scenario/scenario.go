package scenario

import (
	"path"
	"strconv"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/yamltree"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/workload"
)

// Version is the version of the format. Additions do not change it.
const Version = 1

// A Scenario is a deployment that was read and checked. Its fields have the values from the file, with
// defaults filled in.
type Scenario struct {
	// Version of the format: 1.
	Version int `yaml:"plimsoll"`
	// Name of the scenario, for reports.
	Name string `yaml:"name,omitempty"`
	// Seed of the random numbers: the same seed gives the same output.
	Seed random.Seed `yaml:"seed,omitempty"`
	// Run says how long to simulate.
	Run Run `yaml:"run,omitempty"`
	// Host is the machine, or each member's.
	Host Host `yaml:"host,omitempty"`
	// Volumes, by the engine's names for them: data, journal, wal, wij.
	Volumes Keyed[catalog.Order] `yaml:"volumes"`
	// Engine is exactly one engine with its settings; {} uses its defaults.
	Engine Chosen `yaml:"engine"`
	// Members of etcd, by number: how each one differs from the others.
	Members Keyed[Member] `yaml:"members,omitempty"`
	// Workload says which operations arrive, and when.
	Workload workload.Spec `yaml:"workload"`
	// Objective is the deployment's goal.
	Objective Objective `yaml:"objective,omitempty"`

	// Warnings are about values that are allowed but probably a mistake: a volume that exceeds what its
	// instance allows.
	Warnings []Problem `yaml:"-"`

	draft    *draft
	load     *workload.Workload
	catalog  *catalog.Catalog
	instance *catalog.InstanceType // nil: none named
}

// Run says how long to simulate.
type Run struct {
	// Duration is the time that is measured. Default 10min.
	Duration units.Duration `yaml:"duration,omitempty"`
	// Warmup is the time that is simulated before and not measured. Default 2min.
	Warmup units.Duration `yaml:"warmup,omitempty"`
}

// Host is the machine and its kernel.
type Host struct {
	// Instance is a machine type of AWS, Azure or Google Cloud. It determines cores, memory, and the
	// limits that its volumes share. Default: none, without limits.
	Instance string `yaml:"instance,omitempty"`
	// BandwidthWeighting of an EC2 instance of families m8, c8, r8, x8: ebs-1 increases its volumes'
	// bandwidth by a quarter, at the expense of its network bandwidth and at no charge. Default: default.
	BandwidthWeighting string `yaml:"bandwidth_weighting,omitempty"`

	kernel.Config `yaml:",inline"`
}

// A Member holds the differences of one member.
type Member struct {
	// Volumes replace those with the same name.
	Volumes Keyed[catalog.Order] `yaml:"volumes,omitempty"`
}

// Objective is the goal of a layout: bounds on latencies over the measured time.
type Objective struct {
	WriteP50 *units.Duration `yaml:"write_p50,omitempty"` // median latency of writes
	WriteP95 *units.Duration `yaml:"write_p95,omitempty"`
	WriteP99 *units.Duration `yaml:"write_p99,omitempty"`
	// WriteP999 is the latency that one write in a thousand may exceed.
	WriteP999 *units.Duration `yaml:"write_p999,omitempty"`
	WriteMax  *units.Duration `yaml:"write_max,omitempty"`
	ReadP50   *units.Duration `yaml:"read_p50,omitempty"`
	ReadP95   *units.Duration `yaml:"read_p95,omitempty"`
	ReadP99   *units.Duration `yaml:"read_p99,omitempty"`
	ReadP999  *units.Duration `yaml:"read_p999,omitempty"`
	ReadMax   *units.Duration `yaml:"read_max,omitempty"`
	// Checkpoint is the longest a checkpoint may take.
	Checkpoint *units.Duration `yaml:"checkpoint,omitempty"`
}

// Keyed is a mapping that keeps the order of the file, because the order matters.
type Keyed[T any] = yamltree.Keyed[T]

// Named is an entry of it.
type Named[T any] = yamltree.Named[T]

// Workloads returns the prepared workload.
func (s *Scenario) Workloads() *workload.Workload { return s.load }

// Catalog has the machines and prices that the scenario was read with.
func (s *Scenario) Catalog() *catalog.Catalog { return s.catalog }

// Instance is the machine's type, nil if the scenario names none.
func (s *Scenario) Instance() *catalog.InstanceType { return s.instance }

// isCluster reports whether the engine, if one is chosen, runs on several machines.
func (s *Scenario) isCluster() bool { return s.Engine.Engine != nil && s.Engine.Cluster != nil }

// MemberCount is the number of machines: a cluster's members, otherwise one.
func (s *Scenario) MemberCount() int {
	if s.isCluster() {
		return s.Engine.Cluster.Members(s.Engine.Config)
	}
	return 1
}

// MemberName returns the prefix of the devices and series of member k, from 1: "m1". It is "" if the
// engine runs on one machine.
func (s *Scenario) MemberName(k int) string {
	if s.isCluster() {
		return "m" + strconv.Itoa(k)
	}
	return ""
}

// DeviceName returns the name of a volume of member k in recordings and results: "m1/wal", or "wal" if
// the engine runs on one machine.
func (s *Scenario) DeviceName(k int, volume string) string { return path.Join(s.MemberName(k), volume) }

// Build makes member k's volumes (k from 1), attached to the member's instance if one is named, in
// the order of the scenario. label is added to each volume's name in random streams and in series.
func (s *Scenario) Build(k int, label func(name string) string) ([]volume.Volume, error) {
	volumes := s.VolumesOf(k)
	attached, err := catalog.Attachments(s.instance, orders(volumes))
	if err != nil {
		return nil, err
	}

	var out []volume.Volume
	for i, v := range volumes {
		order := v.Value
		// A custom volume has no product default, so its queue has the host's depth.
		if order.Type == "custom" && order.QueueSlots == 0 {
			order.QueueSlots = s.Host.NrRequests
		}
		built, err := order.Build(label(v.Name), s.Seed, attached[i])
		if err != nil {
			return nil, err
		}
		out = append(out, built)
	}

	return out, nil
}

// VolumesOf returns the volumes of member k, from 1.
func (s *Scenario) VolumesOf(k int) Keyed[catalog.Order] {
	out := append(Keyed[catalog.Order](nil), s.Volumes...)
	m := s.Members.Get(strconv.Itoa(k))
	if m == nil {
		return out
	}

	for _, v := range m.Volumes {
		if old := out.Get(v.Name); old != nil {
			// A member's own volume replaces the common one in place, so the order of volumes stays
			// the same.
			*old = v.Value
		} else {
			out = append(out, v)
		}
	}

	return out
}

// A Bound is an objective: the latency within which a given share of a class of operations must
// complete.
type Bound struct {
	Name string // "write_p99"
	Most units.Duration
}

// Bounds returns the given objectives in a fixed order.
func (o *Objective) Bounds() []Bound {
	var out []Bound
	for _, b := range []struct {
		name string
		most *units.Duration
	}{
		{"write_p50", o.WriteP50},
		{"write_p95", o.WriteP95},
		{"write_p99", o.WriteP99},
		{"write_p999", o.WriteP999},
		{"write_max", o.WriteMax},
		{"read_p50", o.ReadP50},
		{"read_p95", o.ReadP95},
		{"read_p99", o.ReadP99},
		{"read_p999", o.ReadP999},
		{"read_max", o.ReadMax},
		{"checkpoint", o.Checkpoint},
	} {
		if b.most != nil {
			out = append(out, Bound{b.name, *b.most})
		}
	}

	return out
}

// orders returns the orders of a machine's volumes.
func orders(volumes Keyed[catalog.Order]) []*catalog.Order {
	out := make([]*catalog.Order, len(volumes))
	for i := range volumes {
		out[i] = &volumes[i].Value
	}
	return out
}

// LimitsOf returns the limits of a volume of member k, including those that it shares with others on
// its machine.
func (s *Scenario) LimitsOf(k int, name string) (catalog.Limits, error) {
	volumes := s.VolumesOf(k)
	return volumes.Get(name).LimitsAmong(orders(volumes), s.instance)
}
