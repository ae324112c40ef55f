//go:build linux

package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/lab/disk"
	"plimsoll/internal/lab/mount"
)

const (
	// examplesMax bounds the number of examples of damaged documents.
	examplesMax = 10
	// apart is the minimum time between two power losses: an engine that has just started has
	// nothing to lose.
	apart = vtime.Instant(500 * time.Millisecond)
)

// cuts returns the instants of the power losses: random instants of the measured time, in order.
func (x *experiment) cuts() []vtime.Instant {
	if x.opt.PowerLoss == 0 {
		return nil
	}

	x.power = &PowerLoss{RecoverySeconds: []float64{}, Examples: []string{}}
	chance := x.sc.Seed.Stream("lab.power")

	var out []vtime.Instant
	for range x.opt.PowerLoss {
		out = append(out, x.from+vtime.Instant(chance.Below(uint64(x.end-x.from))))
	}

	slices.Sort(out)

	// In a short run there may be no space for all of them; the rest happen at its end.
	for i := range out {
		least := x.from + apart
		if i > 0 {
			least = out[i-1] + apart
		}
		out[i] = min(max(out[i], least), x.end-1)
	}

	return slices.Compact(out)
}

// cut turns the power off while operations are in flight: volumes fail and processes end at the
// same moment.
func (x *experiment) cut(ctx context.Context, cut int) error {
	if x.record != nil {
		x.record.cut.Store(true)
	}

	// In a real power loss, volumes and processes fail at the same moment, so both happen
	// concurrently.
	var report mount.CutReport
	failed := make(chan error, 1)
	go func() {
		var err error
		report, err = x.m.Cut(ctx, disk.Cut{
			Seed: x.sc.Seed + random.Seed(cut), Lose: 0.5, Torn: 0.5,
			// The smallest size that rented volumes write atomically (disk.Cut names the source).
			Sector: 4096,
		})
		failed <- err
	}()

	x.one.Lock()
	defer x.one.Unlock()
	err := errors.Join(x.server.Crash(), <-failed)

	// A checkpoint in progress ends with the power.
	now := time.Now()
	for i := range x.cycles {
		if x.cycles[i].To.IsZero() {
			x.cycles[i].To = now
		}
	}

	for _, r := range report {
		x.power.Kept += r.Kept
		x.power.Torn += r.Torn
		x.power.Dropped += r.Lost
	}

	x.power.Cuts++
	if err != nil {
		return fmt.Errorf("power loss %d: %w", cut+1, err)
	}

	return nil
}

// recover restarts everything and checks what was written; again is false if the engine no longer
// serves.
func (x *experiment) recover(ctx context.Context, cut int) (again bool, err error) {
	fail := func(err error) (bool, error) {
		return false, fmt.Errorf("cannot recover from power loss %d: %w", cut+1, err)
	}
	x.opt.report(Progress{Phase: "restarting after a power loss", Done: int64(cut + 1),
		Total: int64(x.opt.PowerLoss)})
	x.one.Lock()
	defer x.one.Unlock()
	back := time.Now()

	if err := x.m.Recover(ctx); err != nil {
		return fail(err)
	}

	if err := x.server.Restart(ctx); err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		x.power.FailedRecoveries++
		x.example("after power loss %d, the engine did not start: %v", cut+1, err)
		return false, nil
	}

	x.power.RecoverySeconds = append(x.power.RecoverySeconds, time.Since(back).Seconds())

	// Reading everything back is not part of the measurement.
	if err := x.m.pace(ctx, false); err != nil {
		return fail(err)
	}

	if err := x.check(ctx, cut); err != nil {
		return fail(err)
	}

	if err := x.m.pace(ctx, true); err != nil {
		return fail(err)
	}

	if x.record != nil {
		x.record.cut.Store(false)
	}

	return true, nil
}

// check reads each document that was written: it must match its last acknowledged write, or a write sent
// after that.
func (x *experiment) check(ctx context.Context, cut int) error {
	known := x.load.Known()
	keys := slices.Sorted(maps.Keys(known)) // probably the order in which they are stored, so the fastest
	x.power.Acknowledged, x.power.Keys = x.load.Totals().Writes.Done, 0

	for i, key := range keys {
		if i%1000 == 0 {
			x.opt.report(Progress{Phase: "verifying acknowledged writes", Done: int64(i), Total: int64(len(keys))})
		}

		// Writes that were never acknowledged may or may not have survived, so such keys are not
		// counted.
		expected := known[key]
		if expected.Acknowledged > 0 {
			x.power.Keys++
		}

		seq, found, err := x.server.Read(ctx, key)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			x.power.Unreadable++
			x.example("document %d cannot be read after power loss %d: %v", key, cut+1, err)
			continue
		case !found && expected.Acknowledged > 0:
			x.power.Lost++
			x.example("document %d is missing after power loss %d, although write %d of it was acknowledged", key, cut+1,
				expected.Acknowledged)
		case seq < expected.Acknowledged:
			x.power.Lost++
			x.example("document %d has the content of write %d after power loss %d, although write %d was acknowledged",
				key, seq,
				cut+1, expected.Acknowledged)
		case seq > expected.Issued:
			x.power.Wrong++
			x.example("document %d has the content of write %d after power loss %d, although write %d was the last one sent",
				key, seq,
				cut+1, expected.Issued)
		}

		// The next power loss must be checked against the actual state.
		x.load.Found(key, seq)
	}

	return nil
}

func (x *experiment) example(format string, args ...any) {
	if len(x.power.Examples) < examplesMax {
		x.power.Examples = append(x.power.Examples, fmt.Sprintf(format, args...))
	}
}
