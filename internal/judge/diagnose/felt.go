package diagnose

import (
	"context"
	"errors"
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// feltSignals returns the names of the signals that detectors of stalled time read.
func feltSignals(pack *rules.Pack) map[string]bool {
	out := map[string]bool{}
	add := func(signals ...*rules.Signal) {
		for _, s := range signals {
			out[s.Name] = true
		}
	}
	add(rules.DiskWriteAwait, rules.DiskWrites, rules.DiskReadAwait, rules.DiskReads, rules.DiskOps,
		rules.DiskBusy, rules.DiskQueue, rules.CPUBusy, rules.ContainerCPUThrottled)
	add(rules.BenchFelt...)
	for _, e := range pack.Engines() {
		add(e.Felt...)
	}
	return out
}

// Felt finds the stalled time of recordings like [Run], but no causes. It reads only a handful of
// signals, so that it is cheap enough to call every other second. The Stall and Symptoms of the
// returned case are those that Run would use; other signals are missing. It fails like Run, and if a
// signal does not fit in memory.
func Felt(ctx context.Context, in []recording.Reader, opt Options) (*rules.Case, error) {
	in = ordered(in)
	holding, metrics, err := inventory(ctx, in, opt.Pack)
	if err != nil {
		return nil, err
	}

	grid, err := chooseGrid(metrics, in, opt)
	if err != nil {
		return nil, err
	}

	felt := feltSignals(opt.Pack)
	read := slices.DeleteFunc(slices.Clone(opt.Pack.Signals()),
		func(s *rules.Signal) bool { return !felt[s.Name] })
	sig, err := gather(ctx, read, holding, grid, nil)
	if err != nil {
		return nil, err
	}

	// A watch would take a signal that is missing for the end of a stall.
	if len(sig.tooLarge) > 0 {
		return nil, errors.New(sig.tooLarge[0].Text)
	}
	return newCase(in, sig, opt), nil
}
