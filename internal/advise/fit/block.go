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

// throttlingCells is how many cells with a saturated device show whether its writes are throttled.
const throttlingCells = 5

// stacked matches devices of the device mapper and of md: the throttling is that of the devices under
// them.
var stacked = regexp.MustCompile(`^(dm-|md)\d+$`)

// blockLayer enters the file system and what the kernel's block layer does with the data's device. A
// scenario has these once, so a log's device that differs is a remark.
func (f *Fitting) blockLayer() {
	device := f.Device(0)
	switch fs := kernel.FileSystem(f.FileSystem(device)); fs {
	case kernel.XFS, kernel.Ext4:
		f.Add("host.filesystem", word(string(fs)), Measured, "the source reports the file system of %s", device)
	case "":
		f.Add("host.filesystem", word(string(kernel.XFS)), Assumed,
			"the file system; xfs assumed").AsDefault().ToKnow("findmnt")
	default:
		f.Add("host.filesystem", word(string(kernel.XFS)), Assumed, "%s has %s, which is not modelled; xfs assumed",
			device, fs).AsDefault()
	}

	for _, s := range []kernel.Scheduler{kernel.NoScheduler, kernel.MQDeadline, kernel.Kyber, kernel.BFQ} {
		if f.Fact("scheduler."+device) == string(s) {
			f.Add("host.scheduler", word(string(s)), Measured, "the scheduler of %s", device)
		}
	}

	if n := f.Number("nr_requests." + device); n >= 1 && !stacked.MatchString(device) {
		f.Add("host.nr_requests", Count(n), Measured, "nr_requests of %s", device)
	}

	f.throttling(device)
	for _, u := range f.uses[1:] {
		for _, name := range []string{"wbt_lat_usec.", "scheduler.", "nr_requests."} {
			if a, b := f.Fact(name+device), f.Fact(name+u.device); a != "" && b != "" && a != b {
				f.Remark("%s%s is %s, and %s%s is %s: a scenario has one value for all volumes, and this one has the first",
					name, device, a, name, u.device, b)
			}
		}
	}
}

// throttling enters the kernel's writeback throttling: as reported, else as the queue shows it while
// the page cache saturates the device.
func (f *Fitting) throttling(device string) {
	const key = "host.wbt_lat_usec"
	usual := kernel.Defaults().WbtLatUsec
	how := "cat /sys/block/" + lastPart(device) + "/queue/wbt_lat_usec"
	told, err := strconv.Atoi(f.Fact("wbt_lat_usec." + device))
	queue, cells := f.WritebackQueue(device, f.saturated(device))

	seen := fmt.Sprintf("in the %d seconds in which the page cache saturated %s, %s requests stood in its queue (median)",
		cells, device, units.Number(queue))
	switch {
	case err == nil && told >= 0:
		f.Add(key, Count(float64(told)), Measured, "writeback throttling of %s, as the source reports it", device)
	case f.Fact("scheduler."+device) == string(kernel.BFQ):
		f.Add(key, Count(0), Inferred, "the scheduler bfq turns writeback throttling off").ToKnow(how)
	case f.Fact("nr_requests."+device) != "" && !stacked.MatchString(device):
		f.Add(key, Count(0),
			Inferred, "the source reports the queue of %s without wbt_lat_usec: this kernel or device has no writeback throttling",
			device).ToKnow(how)
	case cells >= throttlingCells && queue >= rules.LongQueue:
		f.Add(key, Count(0), Inferred, "%s: writeback throttling, which lets fewer in, is off", seen).ToKnow(how)
	case cells >= throttlingCells && queue < rules.LongQueue/2:
		f.Add(key, Count(float64(usual)),
			Inferred, "%s: so few are in flight with writeback throttling; the kernel's default of its target",
			seen).ToKnow(how)
	default:
		f.Add(key, Count(float64(usual)), Assumed,
			"writeback throttling; the kernel's default assumed").AsDefault().ToKnow(how)
	}
}

// saturated is where a device was.
func (f *Fitting) saturated(device string) []bool {
	limits := f.Limits()
	if i := slices.IndexFunc(limits, func(l rules.Limit) bool { return l.Device == device }); i >= 0 &&
		limits[i].Saturated != nil {
		return limits[i].Saturated
	}
	return make([]bool, f.Grid.N)
}
