package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/spf13/cobra"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/results"
	"plimsoll/internal/record/recording"
)

// pushOptions are the flags of `plimsoll record --remote-write`.
type pushOptions struct {
	url     string
	added   []string
	headers []string

	// Set by Validate.
	opt recording.PushOptions
}

func (o *pushOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(
		&o.url, "remote-write",
		"", "push to this receiver, with or without --out: http://prometheus:9090/api/v1/write")
	f.StringArrayVar(&o.added, "label",
		nil, "with --remote-write, a label for every series that does not have it: cluster=prod-17 (repeatable)")
	addHeader(cmd, &o.headers)
	complete(cmd, "label", "cluster=", "instance=")
}

func (o *pushOptions) Validate() (err error) {
	if o.url == "" {
		if len(o.added)+len(o.headers) > 0 {
			return usagef(
				"plimsoll record SOURCE --remote-write http://prometheus:9090/api/v1/write --label cluster=prod-17", "--label and --header need --remote-write")
		}
		return nil
	}

	b := labels.NewBuilder(labels.EmptyLabels())
	for _, l := range o.added {
		name, value, ok := strings.Cut(l, "=")
		if !ok || !model.LegacyValidation.IsValidLabelName(name) || name == model.MetricNameLabel || value == "" {
			return usagef("for example --label cluster=prod-17", "--label %q is not a label", l)
		}
		b.Set(name, value)
	}

	o.opt.Labels = b.Labels()
	o.opt.Header, err = parseHeaders(o.headers)
	return err
}

// dial creates the pusher. Nothing is sent yet.
func (o *pushOptions) dial(ctx context.Context, src *sourceOptions) (*recording.Pusher, error) {
	opt := o.opt
	opt.Transport = transport(src.insecure)
	return recording.NewPusher(ctx, o.url, opt)
}

// A both writes to two writers.
type both struct {
	first, second recording.Writer
}

func (w both) Append(ctx context.Context, b *recording.Batch) error {
	if err := w.first.Append(ctx, b); err != nil {
		return err
	}
	return w.second.Append(ctx, b)
}

func (w both) Note(n recording.Note) {
	w.first.Note(n)
	w.second.Note(n)
}

func (w both) Source(s recording.Source) {
	w.first.Source(s)
	w.second.Source(s)
}

// A live pushes each sample as it is taken.
type live struct{ *recording.Pusher }

// Append pushes a sample without waiting for others.
func (w live) Append(ctx context.Context, b *recording.Batch) error {
	if err := w.Pusher.Append(ctx, b); err != nil {
		return err
	}
	return w.Flush(ctx)
}

// runPush pushes sources to a receiver, and also records them in --out if given.
func (o *recordOptions) runPush(ctx context.Context, env *app, args []string) error {
	counts, stop := env.progress()
	defer stop()

	inputs, err := o.open(ctx, env, args)
	if err != nil {
		return err
	}

	defer closeAll(inputs)
	pusher, err := o.push.dial(ctx, &o.sourceOptions)
	if err != nil {
		return err
	}

	counted := &countedWriter{Writer: pusher, sources: map[string]recording.Source{}}
	var keep recording.Writer
	closeKept := func() error { return nil }

	if o.out != "" {
		disk, err := recording.Create(o.out, recording.DiskOptions{})
		if err != nil {
			return errors.Join(err, pusher.Close())
		}
		keep, closeKept = disk, disk.Close
	}

	err = o.pushAll(ctx, inputs, pusher, keep, counted, counts)
	closed := pusher.Close()

	// Read before the summary: a later signal must not turn a complete push into an interrupted
	// one.
	interrupted := ctx.Err() != nil

	// Interrupting a push to a receiver that never accepted anything is a failure, not a short
	// push.
	if interrupted && counted.samples > 0 && pusher.Sent()+counted.pushed == 0 {
		silent := failf(exitFailure, "check its address, and its log",
			"nothing was pushed: %s accepted nothing until the interruption", pusher.Name())
		return errors.Join(closeKept(), silent)
	}

	if interrupted {
		closed = nil // what was in flight is lost; the user interrupted it
		if errors.Is(err, context.Canceled) {
			err = nil
		}
	}

	if err == nil {
		err = closed
	}

	if err = errors.Join(err, closeKept()); err != nil {
		return err
	}

	stop()
	return o.reportPushed(ctx, env, args, pusher, counted, interrupted)
}

// pushAll pushes captures first, then live samples. Several servers and hosts get labels, as in a
// recording of them: a receiver that has two series with the same labels keeps neither whole.
func (o *recordOptions) pushAll(ctx context.Context, inputs []input, pusher *recording.Pusher,
	keep recording.Writer, counted *countedWriter, counts *tally) error {
	labeller, err := o.labeller(ctx, inputs, counts)
	if err != nil {
		return err
	}

	files, lives := make([]input, len(inputs)), make([]input, len(inputs)) // at the places of inputs
	var past []recording.Reader

	var pastInto []recording.Writer
	for i, in := range inputs {
		switch {
		case in.live():
			lives[i] = in
		case in.Reader == nil:
			files[i] = in
		default:
			past, pastInto = append(past, in.Reader), append(pastInto, labelled(labeller, counted)(i))
			if keep == nil {
				continue
			}
			if err := copyReader(ctx, in.Reader, labelled(labeller, keep)(i), o.fromAt, o.toAt, counts); err != nil {
				return err
			}
		}
	}

	given := func(in input) bool { return in.Source != nil }

	// Receivers refuse samples older than the newest, so captures go through a recording that
	// merges them by time.
	if slices.ContainsFunc(files, given) {
		spool, err := o.spool(ctx, files, keep, labeller, counts)
		if err != nil {
			return err
		}
		defer func() { _ = spool.remove() }()
		past, pastInto = append(past, spool), append(pastInto, counted)
	}

	if len(past) > 0 {
		err := recording.Push(ctx, past, func(i int) recording.Writer { return pastInto[i] }, o.fromAt, o.toAt,
			func(done, total time.Duration) {
				counts.setCount("pushing", "minutes of samples", int(done.Minutes()), int(total.Minutes()))
			})
		if err != nil {
			return err
		}
	}

	if !slices.ContainsFunc(lives, given) {
		return nil
	}

	counts.setStage("", 0, 0)
	if keep == nil {
		counted.Writer = live{pusher}
		return o.readAll(ctx, lives, nil, counts, labelled(labeller, counted))
	}

	return o.pushBeside(ctx, lives, keep, labeller, counted, counts)
}

// pushBeside records live samples to disk, and pushes them without making the recording wait.
func (o *recordOptions) pushBeside(ctx context.Context, lives []input, keep recording.Writer,
	l *diagnose.Labeller, w *countedWriter, t *tally) error {
	steady, err := newSteadyPusher(ctx, &o.push, &o.sourceOptions)
	if err != nil {
		return err
	}

	q := newPushQueue(steady.ctx, steady)
	w.Writer = both{keep, q}
	err = o.readAll(ctx, lives, nil, t, labelled(l, w))

	t.setStage("pushing the rest", 0, 0)
	limit := pushDrain
	if ctx.Err() != nil {
		limit = pushEnd // the user interrupted it
	}

	lost, why := q.end(limit)
	w.pushed += steady.Sent()
	if lost > 0 || why != nil {
		err = errors.Join(err, failf(exitFailure, o.out+" has all of them", "%d samples were not pushed: %w",
			lost, why))
	}

	return err
}

// A spool is a temporary recording for pushing: files are read one after another, but receivers
// want samples in time order.
type spool struct {
	recording.Reader

	dir string
}

func (o *recordOptions) spool(ctx context.Context, files []input, keep recording.Writer, l *diagnose.Labeller,
	t *tally) (*spool, error) {
	dir, err := os.MkdirTemp("", "plimsoll-push-*")
	if err != nil {
		return nil, err
	}

	s := &spool{dir: dir}
	disk, err := recording.Create(dir, recording.DiskOptions{})
	if err == nil {
		to := recording.Writer(disk)
		if keep != nil {
			to = both{keep, disk}
		}
		err = errors.Join(o.readAll(ctx, files, nil, t, labelled(l, to)), disk.Close())
	}

	if err == nil {
		s.Reader, err = recording.Open(dir)
	}

	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}

	return s, nil
}

func (s *spool) remove() error { return errors.Join(s.Close(), os.RemoveAll(s.dir)) }

func (o *recordOptions) reportPushed(ctx context.Context, a *app, args []string, p *recording.Pusher,
	w *countedWriter, interrupted bool) error {
	if w.samples == 0 {
		if interrupted {
			return context.Canceled
		}
		return o.nothing(ctx, a, args, "nothing was pushed")
	}
	r := &results.Pushed{RemoteWrite: p.Name(), Recording: o.out, Samples: p.Sent() + w.pushed,
		Interrupted: interrupted,
		From:        time.UnixMilli(w.fromMs).UTC(), To: time.UnixMilli(w.toMs).UTC()}
	return a.showList(o.output, r, results.Push(r))
}
