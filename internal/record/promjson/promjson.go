// Package promjson reads saved responses of Prometheus' HTTP API: query (a vector or a matrix) and
// query_range (a matrix), as saved by curl.
//
//	curl -G http://prometheus:9090/api/v1/query_range -d 'query={instance="db:9100"}' ... > response.json
//
// Only series with a metric name are samples. The result of an expression, such as a rate, has
// none.
package promjson

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/jsonerror"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/samples"
	"plimsoll/internal/record/source"
)

// bytesMax bounds a response. A day of 1,000 series at 15 s takes about 150 MB, and decoding needs
// several times as much memory.
const bytesMax = 256 << 20

// sniff matches the beginning of a response. Prometheus, Thanos and VictoriaMetrics write status
// first.
var sniff = regexp.MustCompile(`^\s*\{\s*"status"\s*:\s*"(success|error)"`)

// Sniff reports whether head, the first bytes of a file, is a response.
func Sniff(_ string, head []byte) bool { return sniff.Match(head) }

// New prepares a response, which is read later.
func New(from source.File) source.Source {
	f := &file{from: from}
	f.SetDescription(recording.Source{Kind: "prometheus response", Name: from.Path})
	return f
}

type file struct {
	source.Recorded

	from source.File
}

// A response is an answer of the API.
type response struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		Kind   string          `json:"resultType"`
		Result json.RawMessage `json:"result"`
	} `json:"data"`
}

// A stream is one series of a response.
type stream struct {
	labels labels.Labels
	points []model.SamplePair
}

// Read implements source.Source.
func (f *file) Read(ctx context.Context, writer recording.Writer, opt source.Options) error {
	in, err := f.from.Open()
	if err != nil {
		return fmt.Errorf("reading a Prometheus response: %w", err)
	}

	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, bytesMax+1))
	if err != nil {
		return fmt.Errorf("reading Prometheus response %s: %w", f.from.Path, err)
	}

	streams, err := parse(text)
	if err != nil {
		return fmt.Errorf("reading Prometheus response %s: %w", f.from.Path, err)
	}

	described := recording.Source{Kind: "prometheus response", Name: f.from.Path}
	steps := map[int64]int{}

	unnamed := 0

	// Series with the same times go into one batch, which shares the list of times in memory and on
	// disk.
	for _, g := range grouped(streams) {
		together := g.streams
		batch := &recording.Batch{}
		for _, p := range together[0].points {
			at := p.Timestamp.Time().Add(opt.ClockOffset)
			if opt.From.IsZero() || !at.Before(opt.From) {
				if opt.To.IsZero() || !at.After(opt.To) {
					batch.TimesMs = append(batch.TimesMs, at.UnixMilli())
				}
			}
		}

		for i := 1; i < len(batch.TimesMs); i++ {
			if batch.TimesMs[i] <= batch.TimesMs[i-1] {
				return fmt.Errorf("reading Prometheus response %s: the times of %s are not in ascending order", f.from.Path,
					together[0].labels)
			}
			steps[batch.TimesMs[i]-batch.TimesMs[i-1]]++
		}

		for _, s := range together {
			name := s.labels.Get(labels.MetricName)
			switch {
			case name == "":
				unnamed++
			case opt.Want == nil || opt.Want(name):
				batch.Columns = append(batch.Columns, recording.Column{Labels: s.labels,
					Values: s.values(batch.TimesMs, opt.ClockOffset)})
			}
		}

		if len(batch.TimesMs) == 0 || len(batch.Columns) == 0 {
			continue
		}

		if err := writer.Append(ctx, batch); err != nil {
			return err
		}

		described.Samples += int64(len(batch.TimesMs) * len(batch.Columns))
		from, to := time.UnixMilli(batch.TimesMs[0]).UTC(),
			time.UnixMilli(batch.TimesMs[len(batch.TimesMs)-1]).UTC()
		recording.Extend(&described.From, &described.To, from, to)
	}

	if unnamed > 0 {
		text := fmt.Sprintf("%d of %d series have no metric name, because they are the result of an expression: query the metrics themselves, for example {instance=\"db:9100\"}",
			unnamed, len(streams))
		if unnamed == len(streams) {
			return fmt.Errorf("reading Prometheus response %s: %s", f.from.Path, text)
		}
		writer.Note(recording.Note{Kind: recording.NoteDropped, Source: f.from.Path, File: f.from.Path, Text: text})
	}

	described.Period = samples.MostFrequent(steps)
	f.SetDescription(described)
	writer.Source(described)

	return nil
}

// parse decodes a response.
func parse(text []byte) ([]stream, error) {
	if len(text) > bytesMax {
		return nil, fmt.Errorf("larger than %d MiB: query fewer series or a shorter time", bytesMax>>20)
	}

	var decoded response
	if err := json.Unmarshal(text, &decoded); err != nil {
		return nil, fmt.Errorf("%w: save it again", jsonerror.Explain(text, err))
	}
	if decoded.Status != "success" {
		return nil, fmt.Errorf("the server returned an error: %.200s", decoded.Error)
	}

	var out []stream
	switch decoded.Data.Kind {
	case model.ValMatrix.String():
		var matrix model.Matrix
		if err := json.Unmarshal(decoded.Data.Result, &matrix); err != nil {
			return nil, fmt.Errorf("its series: %w: save it again", jsonerror.Explain(nil, err))
		}
		for _, s := range matrix {
			// A series may have only native histograms.
			if len(s.Values) > 0 {
				out = append(out, stream{recording.LabelsOf(s.Metric), s.Values})
			}
		}
	case model.ValVector.String():
		var vector model.Vector
		if err := json.Unmarshal(decoded.Data.Result, &vector); err != nil {
			return nil, fmt.Errorf("its series: %w: save it again", jsonerror.Explain(nil, err))
		}
		for _, s := range vector {
			out = append(out, stream{recording.LabelsOf(s.Metric), []model.SamplePair{{Timestamp: s.Timestamp, Value: s.Value}}})
		}
	default:
		return nil, fmt.Errorf("the result is a %.20q: want a matrix (query_range) or a vector (query)",
			decoded.Data.Kind)
	}

	if len(out) == 0 {
		return nil, errors.New("no series with floating-point samples")
	}

	return out, nil
}

// A group is a set of series that share their times.
type group struct {
	streams []stream
	has     map[string]bool // by labels, because a damaged response may repeat a series
}

// grouped returns the series grouped by the times that they share, in the order of the first of
// each group.
func grouped(all []stream) []*group {
	var out []*group
	places := map[string][]*group{}
	for _, s := range all {
		key, id := fmt.Sprint(len(s.points), s.points[0].Timestamp, s.points[len(s.points)-1].Timestamp),
			string(s.labels.Bytes(nil))
		i := slices.IndexFunc(places[key], func(g *group) bool { return !g.has[id] && sameTimes(g.streams[0], s) })
		if i < 0 {
			i = len(places[key])
			places[key] = append(places[key], &group{has: map[string]bool{}})
			out = append(out, places[key][i])
		}
		g := places[key][i]
		g.streams, g.has[id] = append(g.streams, s), true
	}

	return out
}

func sameTimes(a, b stream) bool {
	return slices.EqualFunc(a.points, b.points,
		func(p, q model.SamplePair) bool { return p.Timestamp == q.Timestamp })
}

// values returns the values at the given times, which must be a subset of the series' times.
func (s stream) values(timesMs []int64, offset time.Duration) []float64 {
	out := make([]float64, 0, len(timesMs))
	i := 0
	for _, ms := range timesMs {
		for i < len(s.points) && s.points[i].Timestamp.Time().Add(offset).UnixMilli() < ms {
			i++
		}
		v := math.NaN()
		if i < len(s.points) {
			v = float64(s.points[i].Value)
		}
		out = append(out, v)
	}
	return out
}
