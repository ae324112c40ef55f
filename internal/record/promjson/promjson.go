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
	"regexp"
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
	return &file{source.OfFile(from, recording.Source{Kind: "prometheus response"})}
}

type file struct{ *source.RecordedFile }

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
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("reading a Prometheus response: %w", err)
	}

	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, bytesMax+1))
	if err != nil {
		return fmt.Errorf("reading Prometheus response %s: %w", f.Path, err)
	}

	streams, err := parse(text)
	if err != nil {
		return fmt.Errorf("reading Prometheus response %s: %w", f.Path, err)
	}

	described := recording.Source{Kind: "prometheus response", Name: f.Path}
	steps := map[int64]int{}

	unnamed := 0

	for _, x := range streams {
		batch := &recording.Batch{}
		column := recording.Column{Labels: x.labels}
		for _, p := range x.points {
			at := p.Timestamp.Time().Add(opt.ClockOffset)
			if !opt.From.IsZero() && at.Before(opt.From) || !opt.To.IsZero() && at.After(opt.To) {
				continue
			}

			ms := at.UnixMilli()
			if n := len(batch.TimesMs); n > 0 {
				if ms <= batch.TimesMs[n-1] {
					return fmt.Errorf("reading Prometheus response %s: the times of %s are not in ascending order", f.Path,
						x.labels)
				}
				steps[ms-batch.TimesMs[n-1]]++
			}
			batch.TimesMs, column.Values = append(batch.TimesMs, ms), append(column.Values, float64(p.Value))
		}

		switch name := x.labels.Get(labels.MetricName); {
		case name == "":
			unnamed++
			continue
		case len(batch.TimesMs) == 0 || opt.Want != nil && !opt.Want(name):
			continue
		}

		batch.Columns = []recording.Column{column}
		if err := writer.Append(ctx, batch); err != nil {
			return err
		}
		described.Samples += int64(len(batch.TimesMs))
		recording.Extend(&described.From, &described.To, time.UnixMilli(batch.TimesMs[0]).UTC(),
			time.UnixMilli(batch.TimesMs[len(batch.TimesMs)-1]).UTC())
	}

	if unnamed > 0 {
		text := fmt.Sprintf("%d of %d series have no metric name, because they are the result of an expression: query the metrics themselves, for example {instance=\"db:9100\"}",
			unnamed, len(streams))
		if unnamed == len(streams) {
			return fmt.Errorf("reading Prometheus response %s: %s", f.Path, text)
		}
		writer.Note(recording.Note{Kind: recording.NoteDropped, Source: f.Path, File: f.Path, Text: text})
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
			out = append(out, stream{recording.LabelsOf(s.Metric),
				[]model.SamplePair{{Timestamp: s.Timestamp, Value: s.Value}}})
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
