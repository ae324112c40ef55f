package accuracy_test

import (
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// Simulations do not depend on the rules. When tuning rules, keep them, and wait for the
// diagnosis only. The folder has to be emptied when a model changes.
var cacheDir = flag.String("cache", "", "a folder that keeps simulations from one run to the next, for tuning rules")

// A simulated is a run as the cache keeps it: what its clients felt and, of an original, all series.
type simulated struct {
	Latencies map[string][]float64 // by kind of operation
	Sources   []recording.Source
	Series    []cachedSeries
}

type cachedSeries struct {
	Labels []string // name and value in turn
	Times  []int64
	Values []float64
}

// simulatedRun runs a scenario, or reads from the cache what it did. Only with series is the
// recording given.
func simulatedRun(ctx context.Context, text string, series bool, sets ...string) (map[string][]float64, *recording.Memory, error) {
	file := ""
	if *cacheDir != "" {
		file = filepath.Join(*cacheDir, fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%s %q %v", text, sets, series)))[:24])
		s, err := readCache(file)
		if err == nil {
			m, err := s.memory(ctx)
			return s.Latencies, m, err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
	}

	m, err := run(ctx, text, sets...)
	if err != nil {
		return nil, nil, err
	}

	s := simulated{Latencies: map[string][]float64{}}
	for _, kind := range kinds {
		if s.Latencies[kind], err = latencies(ctx, m, kind); err != nil {
			return nil, nil, err
		}
	}

	if file == "" {
		return s.Latencies, m, nil
	}

	if series {
		if err := s.keep(ctx, m); err != nil {
			return nil, nil, err
		}
	}

	return s.Latencies, m, writeCache(file, s)
}

func readCache(file string) (s simulated, err error) {
	f, err := os.Open(file)
	if err != nil {
		return s, err
	}
	defer f.Close()
	return s, gob.NewDecoder(f).Decode(&s)
}

// writeCache renames a complete file into place: another run may read the same folder.
func writeCache(file string, s simulated) error {
	f, err := os.CreateTemp(filepath.Dir(file), "new")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := gob.NewEncoder(f).Encode(s); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// keep takes all series of a recording.
func (s *simulated) keep(ctx context.Context, m *recording.Memory) error {
	s.Sources = m.Sources()
	metrics, err := m.Metrics(ctx)
	if err != nil {
		return err
	}

	for _, name := range metrics {
		all, err := m.Samples(ctx, recording.MetricSelector(name.Name), name.From, name.To)
		if err != nil {
			return err
		}

		for _, one := range all {
			var c cachedSeries
			one.Labels.Range(func(l labels.Label) { c.Labels = append(c.Labels, l.Name, l.Value) })
			for _, p := range one.Points {
				c.Times, c.Values = append(c.Times, p.T), append(c.Values, p.F)
			}
			s.Series = append(s.Series, c)
		}
	}

	return nil
}

// memory is the recording again.
func (s *simulated) memory(ctx context.Context) (*recording.Memory, error) {
	m := recording.NewMemory(recording.MemoryOptions{})
	for _, x := range s.Sources {
		m.Source(x)
	}
	for _, x := range s.Series {
		if len(x.Times) == 0 {
			continue
		}
		if err := m.Append(ctx, &recording.Batch{TimesMs: x.Times, Columns: []recording.Column{{Labels: labels.FromStrings(x.Labels...), Values: x.Values}}}); err != nil {
			return nil, err
		}
	}
	return m, nil
}
