package export

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/record/recording"
)

// timeFormat is RFC 3339 with milliseconds, the resolution of a recording.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// csvWriter writes a line per sample.
type csvWriter struct{ w *csv.Writer }

func newCSV(w io.Writer) (*csvWriter, error) {
	out := &csvWriter{csv.NewWriter(w)}
	return out, out.w.Write([]string{"time", "metric", "labels", "value"})
}

func (c *csvWriter) series(metric string, l labels.Labels, points []promql.FPoint) error {
	words := pairs(l, strconv.Quote)
	for _, p := range points {
		if err := c.w.Write([]string{time.UnixMilli(p.T).UTC().Format(timeFormat), metric, words,
			number(p.F)}); err != nil {
			return err
		}
	}
	return nil
}

func (c *csvWriter) close() error {
	c.w.Flush()
	return c.w.Error()
}

// WriteWide writes series next to each other: a column for the time and one per series, a line per
// time. A field without a sample is empty. Spreadsheets plot this layout directly.
func WriteWide(w io.Writer, series []recording.Series) error {
	out := csv.NewWriter(w)
	head := []string{"time"}
	for _, s := range series {
		head = append(head, s.Labels.String())
	}

	if err := out.Write(head); err != nil {
		return err
	}

	next := make([]int, len(series)) // index of the next point of each series
	for line := make([]string, len(head)); ; {
		// The earliest of the next points decides the time of the line.
		now, found := int64(0), false
		for i, s := range series {
			if next[i] < len(s.Points) && (!found || s.Points[next[i]].T < now) {
				now, found = s.Points[next[i]].T, true
			}
		}

		if !found {
			break
		}

		line[0] = time.UnixMilli(now).UTC().Format(timeFormat)
		for i, s := range series {
			line[i+1] = ""
			if next[i] < len(s.Points) && s.Points[next[i]].T == now {
				line[i+1] = number(s.Points[next[i]].F)
				next[i]++
			}
		}

		if err := out.Write(line); err != nil {
			return err
		}
	}

	out.Flush()
	return out.Error()
}
