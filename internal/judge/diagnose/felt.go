package diagnose

import (
	"context"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/timeline"
)

// feltSignals are what the detectors of stalled time read.
var feltSignals = map[string]bool{}

func init() {
	for _, name := range []string{
		"mongodb_write_waiting:ratio", "mongodb_writes:rate", "mongodb_read_waiting:ratio", "mongodb_reads:rate",
		"mongodb_write_counters:rate", "mongodb_queued_writers:count",
		"postgres_commits:rate", "postgres_active:count", "postgres_sessions:count", "postgres_oldest_transaction:seconds",
		"etcd_wal_fsync_time:ratio", "etcd_wal_fsyncs:rate",
		"disk_write_await:seconds", "disk_writes:rate", "disk_busy:ratio", "disk_queue:requests",
	} {
		feltSignals[rules.SignalPrefix+name] = true
	}
}

// Felt finds the stalled time of recordings as [Run] does, and no cause of it: it reads a handful of signals where Run reads
// all, so that it can be asked every other second. Of the case it gives, Stall and Symptoms are those that Run would judge
// by; other signals are missing. It fails as Run does.
func Felt(ctx context.Context, in []recording.Reader, opt Options) (*rules.Case, error) {
	holding, metrics, err := inventory(ctx, in)
	if err != nil {
		return nil, err
	}
	grid, err := chooseGrid(metrics, holesOf(in), opt)
	if err != nil {
		return nil, err
	}
	sig := &signals{grid: grid, tracks: map[string][]timeline.Track{}}
	for _, s := range rules.Signals() {
		if !feltSignals[s.Name] {
			continue
		}
		tracks, err := evaluate(ctx, holding, grid, s)
		if err != nil {
			return nil, err
		}
		if len(tracks) > 0 {
			sig.tracks[s.Name] = tracks
		}
	}
	return newCase(in, sig), nil
}
