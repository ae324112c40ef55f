package plan

import (
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// A Profiler returns the profile of an engine with a scenario's settings.
type Profiler func(sc *scenario.Scenario) Profile

// A Profile is what a plan needs to know about an engine with a scenario's settings. A plan does not
// try what the profile leaves out, and does not reject layouts because of it.
type Profile struct {
	// Settings are the settings worth trying, in grid order. They cost nothing.
	Settings []Setting
	// DirectIO: the engine bypasses the page cache, so tuning the kernel's writeback has no effect.
	DirectIO bool
	// Throttling has an entry for each file system on which the kernel's writeback throttling was
	// measured with this engine: whether it helped there.
	Throttling map[string]bool
	// FixedFileSystem: never move the engine to another file system.
	FixedFileSystem bool
	// Members are the numbers of machines to try in addition to the current one, for the setting
	// MembersKey.
	Members    []int
	MembersKey string
	// ExtraVolumes are the volumes that the engine can have in addition to its data volume.
	ExtraVolumes []ExtraVolume
	// NoCheckpoint is why checkpoints cannot have an objective; "" if they can.
	NoCheckpoint string

	// LogWait: a write is acknowledged only once its log record is durable. The log is on the first
	// existing volume with that role, or otherwise on "data".
	LogWait bool
	// LogRecord is the minimum number of bytes that a write adds to the log; 0: unknown.
	LogRecord units.Size
	// FirstReads counts the reads of the volume "data" in the measured time that no layout can
	// avoid, and that no volume can merge with the previous read. If unknown, it is nil or returns 0.
	FirstReads func(come simulate.Arrivals) int64

	// DataMost is the size at which the engine accepts no more data; 0: none.
	DataMost units.Size
	// KeptLog is the default size of the log that a member retains for other members. KeptLogHow is the
	// arithmetic behind it.
	KeptLog    units.Size
	KeptLogHow string
	// Loss describes what losing a volume on the machine's local disks means. If it is nil or returns
	// "", the deployment has no other copy.
	Loss func(volume string) string
}

// A Setting is an alternative to the current settings. Without values there is nothing to try.
type Setting struct {
	// Name is the key of the axis, below the engine's key: "checkpoint".
	Name   string
	Values []Value
	Need   Need
}

// A Value is an assignment to a key below the engine's key.
type Value struct {
	Key   string
	Value any // as in [scenario.Set]
}

// An ExtraVolume is a volume that an engine can have in addition to its data volume, with its required size.
type ExtraVolume struct {
	Name string
	Size units.Size
}

// smallestExtra is the minimum size of an additional volume.
const smallestExtra = 10 * units.GiB

// NewExtraVolume returns a volume for this many bytes, rounded up to whole GiB, and at least 10 GiB.
func NewExtraVolume(name string, holds units.Size) ExtraVolume {
	return ExtraVolume{name, max(smallestExtra, (holds+units.GiB-1)/units.GiB*units.GiB)}
}

// CacheSetting sets a cache to the size that the product recommends, rounded down to 256 MiB, if that
// differs by more than 10 % from the current size.
func CacheSetting(key string, now, to units.Size) Setting {
	to = to / (256 * units.MiB) * (256 * units.MiB)
	if to <= 0 || now > 0 && float64(to) > 0.9*float64(now) && float64(to) < 1.1*float64(now) {
		return Setting{Name: key}
	}
	return Setting{key, []Value{{key, to}}, Restart}
}

// Payload returns the document size if every write of a scenario writes a whole document of the same
// size, and 0 otherwise.
func Payload(sc *scenario.Scenario) units.Size {
	spec := sc.Workloads().Spec()
	if d := spec.Document; d != nil && d.Uniform == nil && len(d.Quantiles) == 0 && d.Change == 0 &&
		d.Growth == 0 && spec.Buckets == nil &&
		spec.Mix != nil && spec.Mix.Push == 0 {
		return d.Size
	}
	return 0
}

// profile returns the profile of a scenario's engine. The error is an [*database.LackError] if plans do
// not support the engine.
func (o *Options) profile(sc *scenario.Scenario) (Profile, error) {
	e, err := database.Find(o.Engines, sc.Engine.Name(), "be planned for")
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

// A logOrder is the volume of a member's log.
type logOrder struct {
	member int
	volume string // its name
	*catalog.Order
}

// logOrders returns the log volume of each member: the first that has the log role, or "data".
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
