package main

import (
	"context"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
)

// labeller finds the labels needed to merge several sources into one recording; nil if none are needed.
// It reads files for that, but only the metrics that a diagnosis reads.
func (o *sourceOptions) labeller(ctx context.Context, inputs []input, t *tally,
	more ...recording.Reader) (*diagnose.Labeller, error) {
	// A single source keeps its series as they are.
	if len(inputs)+len(more) < 2 {
		return nil, nil
	}

	readers, memories := readersOf(inputs)
	files := make([]input, len(inputs)) // live sources have nothing yet
	for i, in := range inputs {
		if in.Source != nil && !in.live() {
			files[i] = in
		}
	}

	if err := o.readAll(ctx, files, diagnose.Wants(pack()), t,
		func(i int) recording.Writer { return memories[i] }); err != nil {
		return nil, err
	}

	return diagnose.Label(ctx, append(readers, more...), pack(), o.hosts.of(inputs))
}

// labelled are the writers of each input into one recording.
func labelled(l *diagnose.Labeller, w recording.Writer) func(i int) recording.Writer {
	return func(i int) recording.Writer {
		if l == nil {
			return w
		}
		return l.Writer(i, w)
	}
}
