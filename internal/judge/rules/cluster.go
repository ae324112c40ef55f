package rules

import (
	"maps"
	"math"
	"slices"

	"plimsoll/internal/record/timeline"
)

// Cluster is what an engine reports about the cluster that a server is a member of, and about its log.
// All members of a cluster write the same changes, each to its own volume, so they can be compared.
type Cluster struct {
	// Of returns the cluster that a case's server belongs to.
	Of func(c *Case) Membership
	// SyncTime is the time in log syncs per second, Syncs how many ended per second, and Logged the
	// bytes logged per second, which all members report alike; nil if they do not.
	SyncTime, Syncs, Logged *Signal
}

// A Membership says which cluster a server belongs to. If no source names the cluster, a leader and its
// followers belong together if there are no others.
type Membership struct {
	Name      string // of the cluster, the same for all its members; "" if unknown
	Leads     bool   // it accepts the writes
	Follows   bool   // it receives them from another member; neither, if unknown
	Followers int    // members that receive its writes, as it counts them
}

// A Member holds one member's figures, from its recording, for comparison within a cluster.
type Member struct {
	Membership
	Engine, Server string
	Time           Time
	// Log are the durations of the log's syncs, and Device those of the writes to the volume.
	Log, Device durations
	// Logged is in bytes per second; Ops and Moved are the reads and writes of the volume. NaN if
	// unknown.
	Logged, Ops, Moved float64
	// SizeBytes is the file system's size, 0 if unknown. Volume are the limits of the volume and Machine
	// its machine's type, "" if unknown.
	SizeBytes float64
	Volume    Provision
	Machine   string
}

// durations describe a duration over the samples of a recording, in seconds.
type durations struct {
	Of                *Signal
	Low, Median, High float64 // the median and the quartiles around it
	samples           int
}

// MemberOf returns a case's server as a member of a cluster. It returns nil if the server is not one,
// or if the recording is a single page, whose means do not show how durations vary.
func MemberOf(c *Case) *Member {
	for _, e := range c.Pack.Engines() {
		x := e.Cluster
		if x == nil || c.SinceStart || !c.isOf(e) {
			continue
		}

		m := &Member{Membership: x.Of(c), Engine: e.Database, Time: c.Time, Logged: math.NaN(),
			Ops: math.NaN(), Moved: math.NaN()}
		if x.Logged != nil {
			m.Logged = timeline.Mean(c.One(x.Logged))
		}
		if c.Machine != nil {
			m.Machine = c.Machine.Name
		}

		m.Log = c.durations(x.SyncTime, Ratio(c.One(x.SyncTime), c.One(x.Syncs)))
		m.addDevice(c)
		if m.Log.samples == 0 && m.Device.samples == 0 {
			return nil
		}
		return m
	}
	return nil
}

// isOf reports whether a case is of one engine and no other, judging by its log if no source names the
// engine.
func (c *Case) isOf(e Knowledge) bool {
	if len(c.Engines) == 0 {
		return c.Measured(e.Cluster.SyncTime)
	}
	return len(c.Engines) == 1 && c.Engines[0] == e.Database
}

// addDevice adds the volume that holds the database's files, or the one that took nearly all writes.
func (m *Member) addDevice(c *Case) {
	device := c.FilesDevice()
	if device == "" {
		device = c.onlyWritten()
	}
	if device == "" {
		return
	}

	m.Ops, m.Moved = timeline.Mean(c.For(DiskOps, "device", device)), timeline.Mean(c.For(DiskMoved, "device", device))
	m.SizeBytes = timeline.Max(c.For(FilesystemSize, "device", device))
	m.Volume = c.Provisioned[device]

	await := slices.Clone(c.For(DiskWriteAwait, "device", device))
	for k, writes := range c.For(DiskWrites, "device", device) {
		if k < len(await) && !(writes >= leastWrites) {
			await[k] = math.NaN() // the mean of very few writes
		}
	}
	m.Device = c.durations(DiskWriteAwait, await)
}

// leastWrites is the rate of writes above which their mean duration is meaningful for a device.
const leastWrites = 1.0

// onlyWritten returns the device that received nearly all bytes written; "" if there is none.
func (c *Case) onlyWritten() string {
	const nearlyAll = 0.9
	bytes, all := map[string]float64{}, 0.0
	for _, t := range c.Signal(DiskWritten) {
		if device := t.Labels.Get("device"); !Stacked(device) {
			bytes[device] = timeline.Mean(t.Values)
			all += bytes[device]
		}
	}
	for _, device := range slices.Sorted(maps.Keys(bytes)) {
		if bytes[device] >= nearlyAll*all && all > 0 {
			return device
		}
	}
	return ""
}

// durations returns the quartiles of a duration. A sample that covers several cells counts once.
func (c *Case) durations(of *Signal, each []float64) durations {
	if each == nil {
		return durations{}
	}
	return durations{Of: of, Low: timeline.Quantile(each, 0.25), Median: timeline.Quantile(each, 0.5),
		High: timeline.Quantile(each, 0.75), samples: timeline.Count(each) / c.SampleCells(of)}
}

// A Slower is a member whose volume is slower than another member's, although both seem to have the same
// volume and the same load.
type Slower struct {
	Member, Fastest *Member
	Own, Best       durations
	// Alike are the members that are as fast as the fastest, including it.
	Alike int
}

// A member is slower if its durations are three times as long as the fastest member's. Below 2 ms the
// difference between two kinds of flash is not noticeable. Noise is not a difference: three quarters of
// one member's samples must be above three quarters of the other's.
const (
	slowerFactor  = 3.0
	slowerFloorS  = 0.002
	slowerSamples = 20
)

// SlowerMembers compares the members of each cluster. The result has an element for each given member,
// nil if it is not slower.
func SlowerMembers(all []*Member) []*Slower {
	out := make([]*Slower, len(all))
	for _, cluster := range clustersOf(all) {
		// A commit waits for the log's syncs. A device's writes are the second choice.
		for _, of := range []func(*Member) durations{
			func(m *Member) durations { return m.Log }, func(m *Member) durations { return m.Device }} {
			found := false
			for i, s := range slowerIn(all, cluster, of) {
				if s != nil {
					out[i], found = s, true
				}
			}
			if found {
				break
			}
		}
	}

	return out
}

// slowerIn compares one kind of duration among the members of a cluster, by their index.
func slowerIn(all []*Member, cluster []int, of func(*Member) durations) map[int]*Slower {
	var counted []int
	for _, i := range cluster {
		if of(all[i]).samples >= slowerSamples {
			counted = append(counted, i)
		}
	}
	if len(counted) < 2 {
		return nil
	}

	fastest := slices.MinFunc(counted, func(a, b int) int {
		if of(all[a]).Median < of(all[b]).Median {
			return -1
		}
		return 1
	})
	best := of(all[fastest])

	out, alike := map[int]*Slower{}, 0
	for _, i := range counted {
		own := of(all[i])
		if !(own.Median > slowerFactor*best.Median && own.Median > slowerFloorS && own.Low > best.High) {
			alike++
			continue
		}
		if sameLoad(all[i], all[fastest]) && sameVolume(all[i], all[fastest]) {
			out[i] = &Slower{Member: all[i], Fastest: all[fastest], Own: own, Best: best}
		}
	}

	for _, s := range out {
		s.Alike = alike
	}

	return out
}

// clustersOf groups members by their cluster, each group with at least two.
func clustersOf(all []*Member) [][]int {
	named, unnamed := map[[2]string][]int{}, map[string][]int{}
	for i, m := range all {
		switch {
		case m == nil:
		case m.Name != "":
			named[[2]string{m.Engine, m.Name}] = append(named[[2]string{m.Engine, m.Name}], i)
		default:
			unnamed[m.Engine] = append(unnamed[m.Engine], i)
		}
	}

	var out [][]int
	for _, of := range named {
		out = append(out, of)
	}

	for _, of := range unnamed {
		leaders, followers, counted := 0, 0, 0
		for _, i := range of {
			switch m := all[i]; {
			case m.Leads:
				leaders++
				counted += m.Followers
			case m.Follows:
				followers++
			}
		}
		// Anything else, such as two leaders, may be unrelated servers.
		if leaders == 1 && followers == len(of)-1 && followers <= counted {
			out = append(out, of)
		}
	}

	return slices.DeleteFunc(out, func(of []int) bool { return len(of) < 2 })
}

// A member that does more work is slower for that reason. One that does far less, such as one that
// receives no writes, is not comparable either.
const (
	leastLoad = 1.0 / 3
	mostLoad  = 1.5
)

func sameLoad(m, as *Member) bool {
	for _, x := range [][2]float64{{m.Logged, as.Logged}, {m.Ops, as.Ops}, {m.Moved, as.Moved}} {
		if ratio := x[0] / x[1]; ratio < leastLoad || ratio > mostLoad {
			return false // NaN: unknown, so no reason
		}
	}
	return true
}

// volumeWithin is how much the sizes and limits of the same kind of volume differ.
const volumeWithin = 0.05

// sameVolume reports whether nothing known differs between two members' volumes and machines.
func sameVolume(m, as *Member) bool {
	if m.Machine != "" && as.Machine != "" && m.Machine != as.Machine {
		return false
	}
	for _, x := range [][2]float64{{m.SizeBytes, as.SizeBytes}, {m.Volume.IOPS, as.Volume.IOPS},
		{m.Volume.Throughput, as.Volume.Throughput}} {
		if x[0] > 0 && x[1] > 0 && math.Abs(x[0]-x[1]) > volumeWithin*x[1] {
			return false
		}
	}
	return true
}
