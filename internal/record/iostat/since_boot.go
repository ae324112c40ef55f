package iostat

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/samples"
	"plimsoll/internal/record/source"
)

// sinceBootSpan is the assumed time since boot. Rates do not depend on it.
const sinceBootSpan = time.Hour

// readSinceBoot reads a log that has only averages since boot, such as the output of iostat without
// an interval. The last report becomes one sample of its counters, like a page of metrics: the diagnosis
// treats such a sample as a sum.
func (l *log) readSinceBoot(ctx context.Context, writer recording.Writer, opt source.Options, sv *survey,
	ck *clock) error {
	var at time.Time
	var cpu *[6]float64
	devices := map[string]rates{}
	// The last report wins, although all of them should be the same.
	_, err := l.each(ctx, opt, 1, func(r *report) error {
		ms, ok := ck.at(sv.withoutPartitions(r))
		if !ok {
			return nil
		}
		at = time.UnixMilli(ms)
		if r.hasCPU {
			values := r.cpu
			cpu = &values
		}
		for i := range r.devices {
			devices[r.devices[i].name] = r.devices[i].rates
		}
		return nil
	})

	switch {
	case err != nil:
		return err
	case len(devices) == 0 && cpu == nil:
		return fmt.Errorf("iostat log %s contains only the average since boot, without figures: record again with: S_TIME_FORMAT=ISO iostat -xt 1",
			l.from.Path)
	case at.IsZero():
		return fmt.Errorf("iostat log %s: cannot determine the time of its average since boot; record again with: S_TIME_FORMAT=ISO iostat -xt 1",
			l.from.Path)
	}

	out := samples.NewWriter(ctx, writer, opt, l.from.Path)
	if err := out.Time(at); err != nil {
		return err
	}

	// Averages multiplied by an assumed time since boot become counters; dividing by that time later cancels
	// the assumption.
	seconds := sinceBootSpan.Seconds()
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		for q, rate := range devices[name] {
			out.Add(rate*seconds, metricNames[q], "device", name)
		}
	}
	if cpu != nil {
		// sysstat reports a share of all CPUs.
		for i, percent := range cpu {
			out.Add(percent/100*seconds*float64(max(sv.found.cpus, 1)), "node_cpu_seconds_total", "cpu", "all", "mode",
				cpuModes[i])
		}
	}

	l.SetDescription(recording.Source{Kind: l.kind(), Name: l.from.Path, Host: sv.found.host,
		Facts: map[string]string{"averages since": "boot"}})
	if err := out.End(&l.Recorded); err != nil {
		return err
	}
	out.Note(recording.NoteLimit,
		"the log has only the average since boot: no interval shows when requests were slow; record with S_TIME_FORMAT=ISO iostat -xt 1")
	if x := sv.found.damage; x.count > 0 {
		out.Note(recording.NoteDamage, fmt.Sprintf("skipped %d unreadable places in the log, the first at %s: %s", x.count,
			x.where(), x.what))
	}
	return nil
}
