package kernel

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
)

// Bounds for a Config. If the kernel has none, the bound exceeds any machine that can be rented
// (assumed).
const (
	coresMax      = 1024
	quotaMin      = units.Ratio(0.01)
	memoryMin     = 64 * units.MiB
	memoryMax     = 64 * units.TiB
	dirtyMin      = 2 * PageSize
	timeMax       = units.Duration(24 * time.Hour)
	intervalMin   = units.Duration(10 * time.Millisecond) // a hundredth of a second, the setting's unit
	maxRequestMax = 16 * units.MiB
	depthMax      = 1024
	wbtMax        = 10_000_000 // microseconds
	requestsMax   = 1 << 20
	wakeupMax     = 10 * time.Millisecond
)

// Sources of the bounds.
const (
	sysctl  = "Linux, Documentation/admin-guide/sysctl/vm.rst, 6.18"
	block   = "Linux, Documentation/ABI/stable/sysfs-block, 6.18"
	quotas  = "Linux, Documentation/scheduler/sched-bwc.rst, 6.18: at least 1 ms per period of 100 ms"
	assumed = "assumed: beyond any machine for rent, or too small for a database"
)

// Check reports impossible settings, each with its limit and the nearest legal value.
func (c *Config) Check() inputerror.List {
	var problems inputerror.List
	bounded(&problems, "cores", c.Cores, 1, coresMax, strconv.Itoa, inputerror.Problem{
		Text: fmt.Sprintf("a host cannot have %d cores", c.Cores), Limit: fmt.Sprintf("1 to %d", coresMax),
		Source: assumed,
	})

	if q := c.CPUQuota; q != 0 && !(q >= quotaMin && q <= coresMax) {
		nearest := quotaMin
		if q > coresMax {
			nearest = coresMax
		}
		problems = append(problems, inputerror.Problem{
			Field: "cpu_quota", Text: fmt.Sprintf("a quota cannot be %s of a core", q),
			Limit: fmt.Sprintf("0 (no quota), or %s to %s", quotaMin, units.Ratio(coresMax)), Source: quotas,
			Nearest: nearest.String(),
		})
	}

	size(&problems, "memory", c.Memory, memoryMin, memoryMax, assumed)
	most := min(max(c.Memory, memoryMin), memoryMax)
	if c.DirtyBackground != 0 {
		size(&problems, "dirty_background_bytes", c.DirtyBackground, dirtyMin, most,
			sysctl+": two pages up to the host's memory")
	}

	if c.Dirty != 0 {
		size(&problems, "dirty_bytes", c.Dirty, dirtyMin, most, sysctl+": two pages up to the host's memory")
	}

	defaults := Defaults()
	if c.DirtyBackground == 0 {
		ratio(&problems, "dirty_background_ratio", c.DirtyBackgroundRatio, 0, defaults.DirtyBackgroundRatio)
	}

	if c.Dirty == 0 {
		ratio(&problems, "dirty_ratio", c.DirtyRatio, 0.01, defaults.DirtyRatio)
	}

	duration(&problems, "dirty_expire", c.DirtyExpire, 0)
	if c.WritebackInterval != 0 {
		duration(&problems, "writeback_interval", c.WritebackInterval, intervalMin)
	}

	bounded(&problems, "wakeup", c.Wakeup.Std(), 0, wakeupMax, time.Duration.String, inputerror.Problem{
		Text:  fmt.Sprintf("a core cannot take %v to wake up", c.Wakeup.Std()),
		Limit: "0s to " + wakeupMax.String(), Source: assumed,
	})

	if c.FileSystem != XFS && c.FileSystem != Ext4 {
		problems = append(problems, inputerror.Problem{
			Field: "filesystem", Text: fmt.Sprintf("%q is not modelled", c.FileSystem),
			Limit: "xfs or ext4", Source: "these two were measured", Nearest: string(XFS),
		})
	}

	c.checkMounting(&problems)
	bounded(&problems, "writeback_depth", c.WritebackDepth, 0, depthMax, strconv.Itoa, inputerror.Problem{
		Text:  fmt.Sprintf("%d requests is out of range", c.WritebackDepth),
		Limit: fmt.Sprintf("0 (no bound) to %d", depthMax), Source: assumed,
	})

	count(&problems, "wbt_lat_usec", c.WbtLatUsec, wbtMax, "microseconds", block+", wbt_lat_usec")
	count(&problems, "nr_requests", c.NrRequests, requestsMax, "requests", block+", nr_requests")
	size(&problems, "max_request", c.MaxRequest, PageSize, maxRequestMax, block+", max_sectors_kb")

	if n := c.MaxRequest; n > PageSize && n <= maxRequestMax && n%PageSize != 0 {
		problems = append(problems, inputerror.Problem{
			Field: "max_request", Text: fmt.Sprintf("%s is not a whole number of pages", n.Exact()),
			Limit: "a multiple of " + PageSize.Exact(), Source: block + ", max_sectors_kb",
			Nearest: (n / PageSize * PageSize).Exact(),
		})
	}

	return problems
}

// bounded adds a problem if a setting is not within its bounds, with the nearest legal value.
func bounded[T cmp.Ordered](l *inputerror.List, field string, x, least, most T, show func(T) string,
	p inputerror.Problem) {
	if x < least || x > most {
		p.Field, p.Nearest = field, show(min(max(x, least), most))
		*l = append(*l, p)
	}
}

func size(l *inputerror.List, field string, n, least, most units.Size, source string) {
	bounded(l, field, n, least, most, units.Size.Exact, inputerror.Problem{
		Text: n.Exact() + " is out of range", Limit: least.Exact() + " to " + most.Exact(), Source: source,
	})
}

func count(l *inputerror.List, field string, n, most int, of, source string) {
	bounded(l, field, n, 0, most, strconv.Itoa, inputerror.Problem{
		Text: fmt.Sprintf("%d %s is out of range", n, of), Limit: fmt.Sprintf("0 to %d", most), Source: source,
	})
}

func duration(l *inputerror.List, field string, d, least units.Duration) {
	bounded(l, field, d.Std(), least.Std(), timeMax.Std(), time.Duration.String, inputerror.Problem{
		Text:  fmt.Sprintf("%v is out of range", d.Std()),
		Limit: fmt.Sprintf("%v to %v", least.Std(), timeMax.Std()), Source: sysctl + "; a day is assumed",
	})
}

// ratio rejects NaN too: every comparison with NaN is false. NaN's nearest legal value is the
// default.
func ratio(l *inputerror.List, field string, r, least, usual units.Ratio) {
	if r >= least && r <= 1 {
		return
	}
	nearest := usual
	if !math.IsNaN(float64(r)) {
		nearest = min(max(r, least), 1)
	}
	*l = append(*l, inputerror.Problem{
		Field: field, Text: fmt.Sprintf("%v of memory is out of range", float64(r)),
		Limit: fmt.Sprintf("%v to 1", float64(least)), Source: sysctl, Nearest: fmt.Sprint(float64(nearest)),
	})
}
