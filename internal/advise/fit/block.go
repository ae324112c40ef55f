package fit

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/model/kernel"
)

// throttlingCells is the number of cells with a saturated device that are needed to determine whether
// its writes are throttled.
const throttlingCells = 5

// stacked matches devices of the device mapper and of md. Throttling happens in the devices below them.
var stacked = regexp.MustCompile(`^(dm-|md)\d+$`)

// blockLayer adds the file system and the block layer's settings of the data device. A scenario has only
// one value for all volumes, so differences of the log device become remarks.
func (f *Fitting) blockLayer() {
	device := f.Device(0)
	switch fs := kernel.FileSystem(f.FileSystem(device)); fs {
	case kernel.XFS, kernel.Ext4:
		f.Add("host.filesystem", Word(string(fs)), Measured, "the source reports the file system of %s", device)
	case "":
		f.Add("host.filesystem", Word(string(kernel.XFS)), Assumed,
			"file system; xfs assumed").AsDefault().ToKnow("findmnt")
	default:
		f.Add("host.filesystem", Word(string(kernel.XFS)), Assumed, "%s has %s, which is not modelled; xfs assumed",
			device, fs).AsDefault()
	}

	for _, s := range []kernel.Scheduler{kernel.NoScheduler, kernel.MQDeadline, kernel.Kyber, kernel.BFQ} {
		if f.Fact("scheduler."+device) == string(s) {
			f.Add("host.scheduler", Word(string(s)), Measured, "the scheduler of %s", device)
		}
	}

	if n := f.Number("nr_requests." + device); n >= 1 && !stacked.MatchString(device) {
		f.Add("host.nr_requests", Count(n), Measured, "nr_requests of %s", device)
	}

	f.throttling(device)
	for _, u := range f.uses[1:] {
		for _, name := range []string{"wbt_lat_usec.", "scheduler.", "nr_requests."} {
			if a, b := f.Fact(name+device), f.Fact(name+u.device); a != "" && b != "" && a != b {
				f.Remark("%s%s is %s, but %s%s is %s: a scenario has one value for all volumes, so this one uses the first",
					name, device, a, name, u.device, b)
			}
		}
	}
}

// throttling adds the kernel's writeback throttling: as the source reports it, or otherwise inferred from
// the queue while the page cache saturates the device.
func (f *Fitting) throttling(device string) {
	const key = "host.wbt_lat_usec"
	usual := kernel.Defaults().WbtLatUsec
	how := "cat /sys/block/" + lastPart(device) + "/queue/wbt_lat_usec"
	reported, err := strconv.Atoi(f.Fact("wbt_lat_usec." + device))
	queue, cells := f.WritebackQueue(device, f.saturated(device))

	seen := fmt.Sprintf("in the %d seconds in which the page cache saturated %s, it had %s requests queued (median)",
		cells, device, units.Number(queue))
	switch {
	case err == nil && reported >= 0:
		f.Add(key, Count(float64(reported)), Measured,
			"writeback throttling of %s, as reported by the source", device)
	case f.Fact("scheduler."+device) == string(kernel.BFQ):
		f.Add(key, Count(0), Inferred, "the scheduler bfq turns writeback throttling off").ToKnow(how)
	case f.Fact("nr_requests."+device) != "" && !stacked.MatchString(device):
		f.Add(key, Count(0),
			Inferred, "the source reports the queue settings of %s without wbt_lat_usec: this kernel or device does not support writeback throttling",
			device).ToKnow(how)
	case cells >= throttlingCells && queue >= rules.LongQueue:
		f.Add(key, Count(0), Inferred, "%s: writeback throttling would allow fewer, so it is off", seen).ToKnow(how)
	case cells >= throttlingCells && queue < rules.LongQueue/2:
		f.Add(key, Count(float64(usual)),
			Inferred, "%s: so few means that writeback throttling is on; its target is the kernel's default",
			seen).ToKnow(how)
	default:
		f.Add(key, Count(float64(usual)), Assumed,
			"writeback throttling; the kernel's default assumed").AsDefault().ToKnow(how)
	}
}

// saturated returns the cells in which a device was saturated.
func (f *Fitting) saturated(device string) []bool {
	limits := f.Limits()
	if i := slices.IndexFunc(limits, func(l rules.Limit) bool { return l.Device == device }); i >= 0 &&
		limits[i].Saturated != nil {
		return limits[i].Saturated
	}
	return make([]bool, f.Grid.N)
}
