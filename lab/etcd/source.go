//go:build linux

package etcd

import (
	"context"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/observe/exposition"
	"plimsoll/observe/source"
	"plimsoll/recording"
)

// instanced is a member's /metrics, its series told apart from the other members' by the label instance, as package
// engine/etcd has it.
type instanced struct {
	source.Source
	name string
}

func newSource(p *place) (source.Source, error) {
	// A process of ours: credentials for other exporters are none of its business.
	opt := exposition.URLOptions{Getenv: func(string) string { return "" }}
	s, err := exposition.OpenURL("http://"+address(p.client)+"/metrics", opt)
	return &instanced{s, p.name}, err
}

func (s *instanced) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	return s.Source.Read(ctx, &labelling{Writer: w, instance: s.name, known: map[uint64]labels.Labels{}}, opt)
}

// labelling adds the label to what passes.
type labelling struct {
	recording.Writer
	instance string

	mu    sync.Mutex
	known map[uint64]labels.Labels // by the hash of what came: the same hundreds of series come each second
}

func (l *labelling) Append(ctx context.Context, b *recording.Batch) error {
	out := *b
	out.Columns = slices.Clone(b.Columns)
	l.mu.Lock()
	for i := range out.Columns {
		c := &out.Columns[i]
		hash := c.Labels.Hash()
		with, ok := l.known[hash]
		if !ok {
			with = labels.NewBuilder(c.Labels).Set("instance", l.instance).Labels()
			l.known[hash] = with
		}
		c.Labels = with
	}
	l.mu.Unlock()
	return l.Writer.Append(ctx, &out)
}
