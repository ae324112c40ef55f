package identity

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// A picked recording is a part of another one and keeps its marks.
type picked struct {
	*recording.Memory
	of      recording.Reader
	metrics []recording.Metric
}

// Metrics returns the metrics that were listed to create the part. Nothing is added to it later.
func (p picked) Metrics(context.Context) ([]recording.Metric, error) {
	return slices.Clone(p.metrics), nil
}

// Marks returns the marks of the whole recording.
func (p picked) Marks() []recording.Mark { return p.of.Marks() }

// Close does not close the whole recording, which belongs to its owner.
func (picked) Close() error { return nil }

// pick returns a recording with some series of a recording, by the hashes of their labels. If a
// host is given, it is added to their devices. The sources cover only the time of these series.
func (s *splitter) pick(index int, keep map[uint64]string) (recording.Reader, error) {
	reader := s.in[index]
	part, err := recording.Pick(s.ctx, reader, s.opt.Wants, func(l labels.Labels) (labels.Labels, bool) {
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
		recording.Extend(&from, &to, m.From, m.To)
		if m.Period > 0 {
			period = cmp.Or(min(period, m.Period), m.Period)
		}
	}

	for _, x := range s.sources[index] {
		if x.To.Before(from) || x.From.After(to) {
			continue
		}
		// Only then do the metrics describe this source.
		if len(s.sources[index]) == 1 {
			x.From, x.To, x.Period = from, to, period
			if period > 0 {
				x.Samples = min(x.Samples, int64(to.Sub(from)/period)+1)
			}
		}
		part.Source(x)
	}

	for _, n := range reader.Notes() {
		part.Note(n)
	}

	return picked{part, reader, metrics}, nil
}
