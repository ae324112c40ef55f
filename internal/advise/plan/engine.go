package plan

import (
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// A Profiler returns what matters to a plan of a scenario with an engine.
type Profiler func(sc *scenario.Scenario) Profile

// A Profile is what a plan needs to know about an engine with a scenario's settings. What it leaves
// out is not tried, and rejects no layout without a run.
type Profile struct {
	// Settings are worth trying and cost nothing, in the order of the grid.
	Settings []Setting
	// DirectIO: the engine writes past the page cache, so the kernel's writeback changes nothing.
	DirectIO bool
	// Throttling says on which file systems the kernel's writeback throttling was measured with this
	// engine, and whether it helped there.
	Throttling map[string]bool
	// FixedFileSystem: do not move the engine to another file system.
	FixedFileSystem bool
	// Members are the numbers of machines to try besides the present one, for the setting
	// MembersKey.
	Members    []int
	MembersKey string
	// Apart are the volumes that it can have besides its data.
	Apart []Apart
	// NoCheckpoint says why no checkpoint can be an objective, "" if one can.
	NoCheckpoint string

	// LogWait: each write is acknowledged only when its log record is durable. The log is on the
	// first existing volume with that role, else on "data".
	LogWait bool
	// LogRecord is the least that a write adds to the log, 0 if unknown.
	LogRecord units.Size
	// FirstReads counts the reads of the volume "data" in the measured time that no layout can
	// avoid and no volume merges with the previous one. It is nil, or returns 0, if they are
	// unknown.
	FirstReads func(come simulate.Arrivals) int64

	// KeptLog is the default size of the log that a member keeps for others, and KeptLogHow the
	// arithmetic behind it.
	KeptLog    units.Size
	KeptLogHow string
	// Loss says what the loss of a volume on the machine's own disks means; nil, or "": that the
	// deployment has no other copy.
	Loss func(volume string) string
}

// A Setting is an alternative to the present settings. Without values there is nothing to try.
type Setting struct {
	// Name is the key of the axis, under the engine's own: "checkpoint".
	Name   string
	Values []Value
	Need   Need
}

// A Value is an assignment to a key below the engine's.
type Value struct {
	Key   string
	Value any // as in [scenario.Set]
}

// An Apart is a volume that an engine can have besides its data, and how large it has to be.
type Apart struct {
	Name string
	Size units.Size
}

// smallestApart is the size of a volume besides the data if nothing requires more.
const smallestApart = 10 * units.GiB

// NewApart is a volume that has to hold this much, in whole GiB, and at least 10 GiB.
func NewApart(name string, holds units.Size) Apart {
	return Apart{name, max(smallestApart, (holds+units.GiB-1)/units.GiB*units.GiB)}
}

// CacheSetting makes a cache as large as its product recommends, in steps of 256 MiB, if that
// differs by more than a tenth.
func CacheSetting(key string, now, to units.Size) Setting {
	to = to / (256 * units.MiB) * (256 * units.MiB)
	if to <= 0 || now > 0 && float64(to) > 0.9*float64(now) && float64(to) < 1.1*float64(now) {
		return Setting{Name: key}
	}
	return Setting{key, []Value{{key, to}}, Restart}
}

// Payload is the size of the documents if every write of a scenario writes a full one of the same
// size, else 0.
func Payload(sc *scenario.Scenario) units.Size {
	spec := sc.Workloads().Spec()
	if d := spec.Document; d != nil && d.Uniform == nil && len(d.Quantiles) == 0 && d.Change == 0 &&
		d.Growth == 0 && spec.Buckets == nil &&
		spec.Mix != nil && spec.Mix.Push == 0 {
		return d.Size
	}
	return 0
}

// profile returns the profile of a scenario. The error is an [*engine.LackError] if plans do not
// support its engine.
func (o *Options) profile(sc *scenario.Scenario) (Profile, error) {
	e, err := engine.Find(o.Engines, sc.Engine.Name(), "be planned for")
	if err != nil {
		return Profile{}, err
	}
	return e.Part(sc), nil
}

// profileOf returns the profile of a scenario whose engine is known to support plans.
func (o *Options) profileOf(sc *scenario.Scenario) Profile {
	p, _ := o.profile(sc) // the zero Profile if there is none
	return p
}

// settingPath returns the path of an engine's setting in a scenario.
func settingPath(sc *scenario.Scenario, key string) string {
	return "engine." + sc.Engine.Name() + "." + key
}

// A logOrder is the volume that holds a member's log.
type logOrder struct {
	member int
	volume string // its name
	*catalog.Order
}

// logOrders returns the volumes that hold the members' logs.
func logOrders(sc *scenario.Scenario) []logOrder {
	var names []string
	for _, r := range sc.Engine.Traits.Volumes {
		if r.Log {
			names = append(names, r.Name)
		}
	}

	names = append(names, "data")
	var out []logOrder
	for k := 1; k <= sc.MemberCount(); k++ {
		volumes := sc.VolumesOf(k)
		if i := slices.IndexFunc(names, func(name string) bool { return volumes.Get(name) != nil }); i >= 0 {
			out = append(out, logOrder{k, names[i], volumes.Get(names[i])})
		}
	}

	return out
}
