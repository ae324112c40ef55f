package iostat

import (
	"context"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/record/source"
)

// A survey is what must be known about the whole log before the first sample can be placed.
type survey struct {
	found    findings
	reports  int64 // total
	counted  int64 // without averages since boot
	stamped  int64
	first    stamp
	last     stamp
	dates    []stamp // distinct ones, in order of appearance; the banner's first
	comma    bool
	ampm     bool
	disks    bool
	split    bool // reads and writes are separate
	awaits   bool
	together bool // one await for reads and writes
	sar      bool
	cpu      bool
	zeroRow  bool // there is a row of zeros, so -z was not given
	missing  bool // a device is missing from a report
	stepsSec []int
	prev     stamp
	prevRun  int
	seen     map[string]int // by device, the run in which it was last seen
	starts   []runStart
	parts    []string // partitions whose disks are also in the log, sorted (iostat -p)
}

// survey reads the whole log once.
func (l *log) survey(ctx context.Context, opt source.Options) (*survey, error) {
	s := &survey{seen: map[string]int{}}
	about, err := l.each(ctx, opt, 0, func(r *report) error {
		s.add(r)
		return nil
	})
	if err != nil {
		return nil, err
	}

	s.found = *about
	s.findPartitions()
	if d := s.found.date; d.hasDate {
		s.dates = append([]stamp{d}, s.dates...)
	}

	return s, nil
}

// findPartitions lists the devices whose disk is also in the log.
func (s *survey) findPartitions() {
	for name := range s.seen {
		if disk, ok := source.DiskOf(name); ok {
			if _, whole := s.seen[disk]; whole {
				s.parts = append(s.parts, name)
			}
		}
	}
	slices.Sort(s.parts)
}

// withoutPartitions removes partitions from a report, because their disks count the same requests.
func (s *survey) withoutPartitions(r *report) *report {
	if len(s.parts) > 0 {
		r.devices = slices.DeleteFunc(r.devices, func(d device) bool {
			_, found := slices.BinarySearch(s.parts, d.name)
			return found
		})
	}
	return r
}

func (s *survey) add(seen *report) {
	s.reports++
	s.comma = s.comma || seen.comma
	s.cpu = s.cpu || seen.hasCPU || seen.hasHost
	s.addStamp(seen)

	if seen.hasDevices {
		s.disks = true
		if len(seen.devices) == 0 && !seen.torn {
			s.missing = true
		}
	}

	known := 0
	for i := range seen.devices {
		d := &seen.devices[i]
		s.split = s.split || d.rates[writes] == d.rates[writes]
		s.awaits = s.awaits || d.rates[writeTime] == d.rates[writeTime]
		s.together = s.together || d.rates[requestTime] == d.rates[requestTime]

		run, ok := s.seen[d.name]
		if ok && run == seen.run {
			known++
		}

		if len(s.seen) < devicesMax || ok {
			s.seen[d.name] = seen.run
		}

		if !seen.sinceBoot && d.rates.idle() {
			s.zeroRow = true
		}
	}

	if seen.sinceBoot {
		return
	}

	s.counted++

	// A device of this run is missing from this report.
	if seen.hasDevices && !seen.torn && known < s.inRun(seen.run) {
		s.missing = true
	}
}

// inRun returns how many devices the run has shown. It counts only while -z is still possible,
// which the first row of zeros excludes in most logs.
func (s *survey) inRun(run int) int {
	if s.zeroRow || s.missing {
		return 0
	}
	n := 0
	for _, r := range s.seen {
		if r == run {
			n++
		}
	}
	return n
}

func (s *survey) addStamp(r *report) {
	st := r.stamp
	if !st.hasTime {
		return
	}

	if n := len(s.starts); n <= runsOrdered && (n == 0 || s.starts[n-1].run != r.run) {
		s.starts = append(s.starts, runStart{r.run, st})
	}

	s.stamped++
	s.ampm = s.ampm || st.ampm
	if !s.first.hasTime {
		s.first = st
	}

	if n := len(s.dates); st.hasDate && n < datesKept && (n == 0 || s.dates[n-1].date != st.date) {
		s.dates = append(s.dates, st)
	}

	if s.prev.hasTime && s.prevRun == r.run && len(s.stepsSec) < stampsKept {
		// The step needs no date, because steps within a run are far below a day.
		step := (st.secondOfDay() - s.prev.secondOfDay() + 86400) % 86400
		s.stepsSec = append(s.stepsSec, step)
	}

	s.prev, s.prevRun, s.last = st, r.run, st
}

// idleWhenMissing reports whether -z is evident: devices come and go, and no row is ever zero.
func (s *survey) idleWhenMissing() bool { return s.missing && !s.zeroRow }

// period returns the typical distance between reports: the median of those with times, or the given
// period.
func (s *survey) period(given time.Duration) time.Duration {
	if len(s.stepsSec) > 0 {
		steps := slices.Clone(s.stepsSec)
		slices.Sort(steps)
		if m := steps[len(steps)/2]; m > 0 {
			return time.Duration(m) * time.Second
		}
	}
	if given > 0 {
		return given
	}
	return time.Second
}

// usable returns an error that says why a log is unusable.
func (s *survey) usable(path string) error {
	const again = "record again with: S_TIME_FORMAT=ISO iostat -xt 1"
	switch {
	case s.sar && !s.disks && !s.cpu:
		return fmt.Errorf("sar report %s has no statistics of devices or CPUs: create it with sar -d -u -f FILE, or sadf -j FILE -- -d -u",
			path)
	case s.reports > 0:
		return nil
	case s.found.damage.count > 0:
		d := s.found.damage
		return fmt.Errorf("iostat log %s contains no readable report; first error at %s: %s; %s", path, d.where(),
			d.what, again)
	}

	return fmt.Errorf("iostat log %s contains headings but no reports: %s", path, again)
}

func (d *damage) where() string {
	if d.line > 0 {
		return fmt.Sprintf("line %d (byte %d)", d.line, d.offset)
	}
	return fmt.Sprintf("byte %d", d.offset)
}
