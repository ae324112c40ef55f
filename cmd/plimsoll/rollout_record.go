package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/advise/prove"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/record/recording"
)

// recorderOf records and compares for a rollout, as the verbs record and prove do.
func recorderOf(a *app) *steps.Recorder {
	compared := func() *proveOptions {
		p := &proveOptions{compare: prove.Options{Pack: pack(), Seed: 1}}
		p.zone = time.Local
		return p
	}
	return &steps.Recorder{
		Record: func(ctx context.Context, p steps.Period) error { return recordPeriod(ctx, a, p) },
		Least: func(ctx context.Context, dir, beside string) (time.Duration, error) {
			t := &tally{}
			o := compared()
			readers, _, done, err := o.readers(ctx, a, []string{dir}, t)
			if err != nil {
				return 0, err
			}

			defer done()
			if beside == "" {
				return prove.Least(ctx, readers, nil, o.compare)
			}

			others, _, done, err := o.readers(ctx, a, []string{beside}, t)
			if err != nil {
				return 0, err
			}

			defer done()
			return prove.Least(ctx, readers, others, o.compare)
		},
		Prove: func(ctx context.Context, before, after string) (steps.Proof, error) {
			report, err := compared().prove(ctx, a, []string{before, after})
			if err != nil {
				return steps.Proof{}, err
			}
			return steps.Proof{Verdict: string(report.Verdict), Text: report.Sentence}, nil
		},
	}
}

// recordPeriod records for a rollout. It samples the live sources, then reads the same period from
// servers that keep a history. If there are only such servers and the past will do, it does not
// wait.
func recordPeriod(ctx context.Context, env *app, period steps.Period) error {
	opt := &recordOptions{out: period.Dir}
	opt.zone, opt.period, opt.duration = time.Local, time.Second, period.Long
	if err := os.MkdirAll(filepath.Dir(period.Dir), 0o700); err != nil {
		return err
	}

	select {
	case <-time.After(period.Settle):
	case <-ctx.Done():
		return ctx.Err()
	}

	counts, stop := env.progress()
	defer stop()

	// The period begins only after the settling time.
	from := env.now()

	inputs, err := opt.open(ctx, env, period.Sources)
	if err != nil {
		return err
	}

	alone := slices.DeleteFunc(slices.Clone(inputs), func(in input) bool { return !in.live() })
	// History servers already have the past, so nothing has to be waited for.
	if len(alone) == 0 && period.Past {
		from = from.Add(-period.Long)
	}

	disk, err := recording.Create(period.Dir, recording.DiskOptions{})
	if err != nil {
		closeAll(inputs)
		return err
	}

	w := &countedWriter{Writer: disk, sources: map[string]recording.Source{}}
	if len(alone) > 0 {
		err = opt.record(ctx, alone, w, counts)
	}

	closeAll(inputs)
	if err == nil {
		err = opt.readHistory(ctx, env, period, from, w, counts)
	}

	if err := errors.Join(err, disk.Close(), ctx.Err()); err != nil {
		return err
	}
	if w.samples == 0 {
		return errors.New("nothing was recorded: the sources had no samples")
	}

	return nil
}

// readHistory waits until a period is over, and copies it from the sources that keep it.
func (o *recordOptions) readHistory(ctx context.Context, a *app, p steps.Period, from time.Time,
	w *countedWriter, t *tally) error {
	to := from.Add(p.Long)

	// A copy: the period of the history must not apply to the live sources.
	h := *o
	h.fromAt, h.toAt = from, to

	inputs, err := h.open(ctx, a, p.Sources)
	if err != nil {
		return err
	}

	defer closeAll(inputs)
	kept := slices.DeleteFunc(slices.Clone(inputs), input.live)
	if len(kept) == 0 {
		return nil
	}

	select {
	// A server has the whole period only once it is over.
	case <-time.After(to.Sub(a.now())):
	case <-ctx.Done():
		return ctx.Err()
	}

	return h.record(ctx, kept, w, t)
}

// saysStep reports the current step of a rollout on stderr.
func (a *app) saysStep(text string) {
	fmt.Fprintf(a.stderr, "plimsoll: %s %s\n", a.now().Format(time.TimeOnly), printable(text))
}
