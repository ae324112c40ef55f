package export

import (
	"io"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/record/export/parquet"
)

// rowGroup is the number of samples in memory before they are written: about 20 MB.
const rowGroup = 256 << 10

// parquetWriter writes a row per sample.
type parquetWriter struct {
	w      *parquet.Writer
	times  *parquet.Times
	names  *parquet.Texts
	labels *parquet.Maps
	values *parquet.Doubles
	held   int // since the last row group
}

func newParquet(w io.Writer) (*parquetWriter, error) {
	p := &parquetWriter{
		times: parquet.NewTimes("time"), names: parquet.NewTexts("metric"), labels: parquet.NewMaps("labels"),
		values: parquet.NewDoubles("value"),
	}
	var err error
	p.w, err = parquet.New(w, p.times, p.names, p.labels, p.values)
	return p, err
}

func (p *parquetWriter) series(metric string, l labels.Labels, points []promql.FPoint) error {
	var pairs []string
	l.Range(func(l labels.Label) { pairs = append(pairs, l.Name, l.Value) })

	for _, pt := range points {
		p.times.Add(pt.T)
		p.names.Add(metric)
		p.labels.Add(pairs...)
		p.values.Add(pt.F)
		if p.held++; p.held == rowGroup {
			if err := p.w.Group(); err != nil {
				return err
			}
			p.held = 0
		}
	}

	return nil
}

func (p *parquetWriter) close() error { return p.w.Close() }
