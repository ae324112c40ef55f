package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/present/results"
	"plimsoll/internal/record/recording"
)

// recordOptions are the flags of `plimsoll record`.
type recordOptions struct {
	sourceOptions
	out    string
	push   pushOptions
	output choice
}

func newRecordCommand(a *app) *cobra.Command {
	o := &recordOptions{}
	return newSourcesCommand(a, "record SOURCE... --out DIR | --remote-write URL", o)
}

func (o *recordOptions) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.out, "out", "", "folder to record into: new, empty, or a recording to continue")
	addFormat(cmd, &o.output)
	o.push.AddFlags(cmd)
	o.sourceOptions.AddFlags(cmd)
}

func (o *recordOptions) Validate(cmd *cobra.Command, args []string, now time.Time) error {
	if o.out == "" && o.push.url == "" {
		return usagef("for example --out incident", "%s: --out is missing", verb(cmd))
	}
	if err := o.push.Validate(); err != nil {
		return err
	}
	return o.sourceOptions.Validate(cmd, args, now)
}

// Run records until the sources end, --for is over, or the context ends.
func (o *recordOptions) Run(ctx context.Context, env *app, args []string) error {
	if o.push.url != "" {
		return o.runPush(ctx, env, args)
	}

	counts, stop := env.progress()
	defer stop()

	inputs, err := o.open(ctx, env, args)
	if err != nil {
		return err
	}

	defer closeAll(inputs)

	// Create makes the folder, so check beforehand whether it exists.
	_, statErr := os.Stat(o.out)
	disk, err := recording.Create(o.out, recording.DiskOptions{})
	if err != nil {
		return err
	}

	marking, stopMarking := context.WithCancel(ctx)
	defer stopMarking()

	// no one reads its output
	go onUserSignal(marking, func() { _ = disk.Mark(recording.Mark{At: time.Now(), Text: signalMark}) })
	counted := &countedWriter{Writer: disk, sources: map[string]recording.Source{}}
	err = o.record(ctx, inputs, counted, counts)

	interrupted := ctx.Err() != nil

	// Interrupting is the normal end of a recording without --for.
	if interrupted && errors.Is(err, context.Canceled) {
		err = nil
	}

	// Closing writes the last block. The signal handler must not abandon it.
	if env.closing != nil {
		env.closing.Store(true)
		defer env.closing.Store(false)
	}

	err = recording.Ended(o.out, err, disk.Close())
	stop()
	env.reportLost(counted.damaged)
	if counted.samples == 0 {
		if errors.Is(statErr, os.ErrNotExist) && recording.IsRecording(o.out) {
			err = errors.Join(err, os.RemoveAll(o.out)) // created by this run, and empty
		}
		if interrupted && err == nil {
			return context.Canceled
		}
		if err == nil {
			err = o.nothing(ctx, env, args, "nothing was recorded")
		}
		return err
	}

	if reported := o.report(env, counted, interrupted); err == nil {
		err = reported
	}

	return err
}

// nothing is the error of sources without samples.
func (o *recordOptions) nothing(ctx context.Context, a *app, args []string, what string) error {
	return cmp.Or(o.elsewhere(ctx, a, args, what), failf(exitFailure,
		"check --from and --to, and whether the source covers that time", "%s: the sources had no samples", what))
}

// record reads sources, and copies those that are already recordings.
func (o *recordOptions) record(ctx context.Context, inputs []input, w *countedWriter, t *tally) error {
	// Samples that are already in the folder belong to the servers named there.
	var before []recording.Reader
	if recording.IsRecording(o.out) {
		if r, err := recording.Open(o.out); err == nil {
			defer r.Close()
			before = append(before, r)
		}
	}

	l, err := o.labeller(ctx, inputs, t, before...)
	if err != nil {
		return err
	}

	to := labelled(l, w)
	err = o.readAll(ctx, inputs, nil, t, to)
	for i, in := range inputs {
		if err == nil && in.Reader != nil {
			err = copyReader(ctx, in.Reader, to(i), o.fromAt, o.toAt, t)
		}
		if err == nil && in.Reader != nil {
			err = o.copyMarks(in.Reader)
		}
	}

	return err
}

func (o *recordOptions) copyMarks(r recording.Reader) error {
	for _, m := range r.Marks() {
		if m.At.Before(o.fromAt) || !o.toAt.IsZero() && m.At.After(o.toAt) {
			continue
		}
		if err := recording.AddMark(o.out, m); err != nil {
			return err
		}
	}
	return nil
}

func (o *recordOptions) report(a *app, w *countedWriter, interrupted bool) error {
	dropped := w.dropped()
	r := &results.Recorded{Recording: o.out, Samples: w.samples - dropped, Dropped: dropped,
		Sources: len(w.sources), Interrupted: interrupted,
		From: time.UnixMilli(w.fromMs).UTC(), To: time.UnixMilli(w.toMs).UTC()}
	return a.showList(o.output, r, results.Recording(r))
}

// A countedWriter counts what goes through it, from several goroutines.
type countedWriter struct {
	recording.Writer

	mu           sync.Mutex
	samples      int64
	pushed       int64 // by a pusher other than the Writer
	fromMs, toMs int64
	sources      map[string]recording.Source
	damaged      []recording.Note
}

// Note keeps the notes about damage to a source, for the user.
func (w *countedWriter) Note(n recording.Note) {
	w.Writer.Note(n)
	if n.Kind == recording.NoteDamage {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.damaged = append(w.damaged, n)
	}
}

// Append counts the batch's values once they are kept.
func (w *countedWriter) Append(ctx context.Context, b *recording.Batch) error {
	if err := w.Writer.Append(ctx, b); err != nil {
		return err
	}
	if len(b.TimesMs) == 0 {
		return nil
	}

	var n int64
	for _, c := range b.Columns {
		n += countValues(c.Values, len(b.TimesMs))
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	first, last := b.TimesMs[0], b.TimesMs[len(b.TimesMs)-1]
	if w.samples == 0 || first < w.fromMs {
		w.fromMs = first
	}

	if w.samples == 0 || last > w.toMs {
		w.toMs = last
	}

	w.samples += n
	return nil
}

// dropped is how many of the samples the recording did not keep.
func (w *countedWriter) dropped() int64 {
	if d, ok := w.Writer.(interface{ Dropped() int64 }); ok {
		return min(d.Dropped(), w.samples)
	}
	return 0
}

// countValues counts a column's values over this many times; NaN is not a value.
func countValues(values []float64, times int) (n int64) {
	for _, v := range values {
		// NaN differs from itself.
		if v == v {
			n++
		}
	}
	// A column with a single value is constant over all times of the batch.
	if len(values) == 1 {
		return n * int64(times)
	}
	return n
}

// Source passes on where samples come from.
func (w *countedWriter) Source(s recording.Source) {
	w.mu.Lock()
	w.sources[s.Name] = s
	w.mu.Unlock()
	w.Writer.Source(s)
}
