package identity

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// A picked recording is a part of another one, with its marks.
type picked struct {
	*recording.Memory
	of      recording.Reader
	metrics []recording.Metric
}

// Metrics are those that were listed to make it: nothing is added to it.
func (p picked) Metrics(context.Context) ([]recording.Metric, error) {
	return slices.Clone(p.metrics), nil
}

// Marks are those of the whole.
func (p picked) Marks() []recording.Mark { return recording.Marks(p.of) }

// Close leaves the whole open: its owner closes it.
func (picked) Close() error { return nil }

// pick makes a recording of some series of a recording, by the hashes of their labels, with the host of
// which they are if their devices have to name it. Its sources cover the time of these series only.
func (s *splitter) pick(i int, keep map[uint64]string) (recording.Reader, error) {
	r := s.in[i]
	part, err := recording.Pick(s.ctx, r, s.opt.Wants, func(l labels.Labels) (labels.Labels, bool) {
		host, ok := keep[l.Hash()]
		if device := l.Get("device"); ok && host != "" && device != "" {
			l = labels.NewBuilder(l).Set("device", device+" on "+host).Labels()
		}
		return l, ok
	})
	if err != nil {
		return nil, err
	}

	metrics, err := part.Metrics(s.ctx)
	if err != nil {
		return nil, err
	}

	var from, to time.Time
	var period time.Duration
	for _, m := range metrics {
		if from.IsZero() || m.From.Before(from) {
			from = m.From
		}
		if m.To.After(to) {
			to = m.To
		}
		if m.Period > 0 {
			period = cmp.Or(min(period, m.Period), m.Period)
		}
	}

	for _, x := range s.sources[i] {
		if x.To.Before(from) || x.From.After(to) {
			continue
		}
		if len(s.sources[i]) == 1 {
			x.From, x.To, x.Period = from, to, period
			if period > 0 {
				x.Samples = min(x.Samples, int64(to.Sub(from)/period)+1)
			}
		}
		part.Source(x)
	}

	for _, n := range r.Notes() {
		part.Note(n)
	}

	return picked{part, r, metrics}, nil
}
