package export

import (
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// A row is a sample in a Parquet file.
type row struct {
	Time   int64             `parquet:"time,timestamp(millisecond),delta"`
	Metric string            `parquet:"metric,dict"`
	Labels map[string]string `parquet:"labels"`
	Value  float64           `parquet:"value"`
}

// rowGroup is how many samples are held before they are written: some 20 MB.
const rowGroup = 256 << 10

type parquetWriter struct {
	w    *parquet.GenericWriter[row]
	name string
	rows []row
	held int // since the last row group
}

func newParquet(w io.Writer) *parquetWriter {
	return &parquetWriter{w: parquet.NewGenericWriter[row](w, parquet.Compression(&parquet.Zstd))}
}

func (p *parquetWriter) metric(name string, _ map[string]bool) error {
	p.name = name
	return nil
}

func (p *parquetWriter) series(l labels.Labels, s recording.Series) error {
	names := l.Map()
	p.rows = p.rows[:0]
	for _, pt := range s.Points {
		p.rows = append(p.rows, row{pt.T, p.name, names, pt.F})
	}
	for rest := p.rows; len(rest) > 0; {
		n := min(len(rest), rowGroup-p.held)
		if _, err := p.w.Write(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
		if p.held += n; p.held == rowGroup {
			if err := p.w.Flush(); err != nil {
				return err
			}
			p.held = 0
		}
	}
	return nil
}

func (p *parquetWriter) close() error { return p.w.Close() }
