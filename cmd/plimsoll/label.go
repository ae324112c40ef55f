package main

import (
	"context"
	"net/url"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
)

// labeller finds the labels with which several sources fit into one recording; nil if none are
// needed. Files are read for it, but only what a diagnosis reads of them.
func (o *sourceOptions) labeller(ctx context.Context, inputs []input, t *tally, more ...recording.Reader) (*diagnose.Labeller, error) {
	if len(inputs)+len(more) < 2 {
		return nil, nil
	}
	readers := make([]recording.Reader, len(inputs), len(inputs)+len(more))
	memories := make([]*recording.Memory, len(inputs))
	files := make([]input, len(inputs))
	for i, in := range inputs {
		if readers[i] = in.Reader; in.Reader == nil {
			memories[i] = recording.NewMemory(recording.MemoryOptions{})
			readers[i] = memories[i]
			if !in.Source.Live() {
				files[i] = in // live sources have nothing yet
			}
		}
	}
	if err := o.readAll(ctx, files, diagnose.Wants(pack()), t, func(i int) recording.Writer { return memories[i] }); err != nil {
		return nil, err
	}
	return diagnose.Label(ctx, append(readers, more...), pack(), o.hosts.of(inputs))
}

// labelled are the writers of each input into one recording.
func labelled(l *diagnose.Labeller, inputs []input, w recording.Writer) func(i int) recording.Writer {
	instances := liveInstances(inputs)
	return func(i int) recording.Writer {
		switch {
		case instances[i] != "":
			return instanceWriter{w, instances[i]}
		case l != nil:
			return l.Writer(i, w)
		}
		return w
	}
}

// liveInstances are the addresses of live pages of metrics, if they are on several hosts: the pages
// themselves do not name them.
func liveInstances(inputs []input) map[int]string {
	out := map[int]string{}
	hosts := map[string]bool{}
	for i, in := range inputs {
		if in.Source == nil || in.Describe().Kind != "metrics-url" {
			continue
		}
		if u, err := url.Parse(in.Describe().Name); err == nil && u.Host != "" {
			out[i] = u.Host
			hosts[u.Hostname()] = true
		}
	}
	if len(hosts) < 2 {
		return nil
	}
	return out
}

// instanceWriter gives series without an instance the one of their source.
type instanceWriter struct {
	recording.Writer
	instance string
}

// Append implements [recording.Writer].
func (w instanceWriter) Append(ctx context.Context, b *recording.Batch) error {
	out := recording.Batch{TimesMs: b.TimesMs, Columns: make([]recording.Column, len(b.Columns))}
	for i, c := range b.Columns {
		if c.Labels.Get("instance") == "" {
			c.Labels = labels.NewBuilder(c.Labels).Set("instance", w.instance).Labels()
		}
		out.Columns[i] = c
	}
	return w.Writer.Append(ctx, &out)
}
