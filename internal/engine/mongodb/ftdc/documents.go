package ftdc

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/record/recording"
)

// Documents reads a running server's documents exactly as from a capture. getDiagnosticData returns
// the document that the server is about to store, and [Join] builds one from the replies to other
// commands. Names, numbers and omissions are those of a capture.
type Documents struct {
	layout layout
	first  []int64
	out    []recording.Column
	values []float64
}

// NewDocuments returns a reader of the wanted metrics; nil means all. Each series gets the
// additional labels.
func NewDocuments(want func(metric string) bool, more ...labels.Label) *Documents {
	d := &Documents{}
	d.layout.cache = &schemaCache{plan: func(s *Schema) *plan {
		p := makePlan(s, want)
		for i := range p.steps {
			b := labels.NewBuilder(p.steps[i].labels)
			for _, l := range more {
				b.Set(l.Name, l.Value)
			}
			p.steps[i].labels = b.Labels()
		}
		return p
	}}
	return d
}

// A Sampled is one decoded document.
type Sampled struct {
	// Columns have one value each. They are valid until the next document is read.
	Columns []recording.Column
	// Time is when the server began to collect it, Uptime how long the server has been running;
	// zero if not in the document.
	Time   time.Time
	Uptime time.Duration
}

// Read extracts the metrics of a document.
func (d *Documents) Read(doc []byte) (Sampled, error) {
	schema, first, err := d.layout.read(doc, d.first)
	if err != nil {
		return Sampled{}, err
	}

	d.first = first
	if schema.Len() > MaxMetrics {
		return Sampled{}, fmt.Errorf("a document of %d metrics; at most %d are read", schema.Len(), MaxMetrics)
	}

	// A document from a server is untrusted: its time may be impossible.
	s := Sampled{}
	if i := schema.timeAt; i >= 0 && first[i] > 0 && first[i] <= timeMax {
		s.Time = time.UnixMilli(first[i]).UTC()
	}

	if i := schema.uptimeAt; i >= 0 {
		s.Uptime = time.Duration(first[i]) * time.Millisecond
	}

	d.out = d.out[:0]
	if n := len(schema.plan.steps); len(d.values) < n {
		d.values = make([]float64, n)
	}

	for i, st := range schema.plan.steps {
		d.values[i] = float64(first[st.metric])
		d.out = append(d.out, recording.Column{Labels: st.labels, Values: d.values[i : i+1 : i+1]})
	}

	s.Columns = d.out
	return s, nil
}

// A Section is a command's reply, under its name in a capture.
type Section struct {
	Name   string
	Answer []byte // a document
}

// Join joins several sections into one document.
func Join(sections ...Section) []byte {
	b := make([]byte, 4)
	for _, s := range sections {
		b = append(b, byte(bson.TypeEmbeddedDocument))
		b = append(append(append(b, s.Name...), 0), s.Answer...)
	}
	b = append(b, 0)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}
