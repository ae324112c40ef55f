package ftdc

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A Chunk is one document of type 1: some minutes of samples, all metrics.
type Chunk struct {
	Schema *Schema
	// Reference is the first sample as the server stored it, strings and all.
	Reference []byte

	samples int
	first   []int64 // the first sample's values
	deltas  deltas  // of the other samples

	columns [][]int64 // filled by the first call of Column
}

// A chunkReader decodes chunks one after the other, reusing its memory.
type chunkReader struct {
	inflater inflater
	layout   layout
	first    []int64
}

// read inflates a chunk and reads its reference document. The result is valid until the next call.
func (r *chunkReader) read(data []byte) (*Chunk, error) {
	padded, err := r.inflater.inflate(data)
	if err != nil {
		return nil, err
	}

	inflated := padded[:len(padded)-deltaPad]
	docLen, err := documentLen(inflated)
	if err != nil {
		return nil, fmt.Errorf("reference document: %w", err)
	}

	// Two counts of 4 bytes follow the reference document.
	if len(inflated) < docLen+8 {
		return nil, errors.New("chunk ends before its counts of metrics and samples")
	}

	metrics, deltaCount := binary.LittleEndian.Uint32(inflated[docLen:]),
		binary.LittleEndian.Uint32(inflated[docLen+4:])
	// Checked before anything is allocated: a damaged chunk may claim any number.
	if deltaCount >= MaxSamples {
		return nil, fmt.Errorf("chunk of %d samples; at most %d are read", uint64(deltaCount)+1, MaxSamples)
	}

	schema, first, err := r.layout.read(inflated[:docLen], r.first)
	if err != nil {
		return nil, err
	}

	r.first = first
	if n := int64(schema.Len()) * (int64(deltaCount) + 1); n > MaxValues {
		return nil, fmt.Errorf("chunk of %d metrics and %d samples; at most %d values are read", schema.Len(),
			int64(deltaCount)+1, MaxValues)
	}
	// Different numbers mean that a field has a type this reader counts differently: every value
	// after it would belong to another metric.
	if int64(metrics) != int64(schema.Len()) {
		return nil, fmt.Errorf("chunk states %d metrics, but its reference document has %d", metrics, schema.Len())
	}

	return &Chunk{
		Schema:    schema,
		Reference: inflated[:docLen],
		samples:   int(deltaCount) + 1,
		first:     first,
		deltas:    newDeltas(padded, docLen+8),
	}, nil
}

// Samples is the number of samples, at least one.
func (c *Chunk) Samples() int { return c.samples }

// Column returns metric i exactly as stored: one int64 for each sample, or a single one if it is
// constant. It fails if the chunk's deltas are damaged.
func (c *Chunk) Column(i int) ([]int64, error) {
	if c.columns == nil {
		// Deltas can only be decoded in order, so the first call decodes all columns.
		columns := make([][]int64, c.Schema.Len())
		d := c.deltas
		for i := range columns {
			if d.constant(c.samples - 1) {
				columns[i] = []int64{c.first[i]}
				continue
			}
			columns[i] = make([]int64, c.samples)
			if err := column(&d, c.first[i], columns[i]); err != nil {
				return nil, fmt.Errorf("metric %d of %d: %w", i+1, len(columns), err)
			}
		}

		c.columns = columns
	}
	return c.columns[i], nil
}

// Times returns the sample times in milliseconds since the Unix epoch. They are out of order if the
// server's clock was set back.
func (c *Chunk) Times() ([]int64, error) { return c.times(nil) }

var errNoTime = errors.New(`no sample times: the reference document has no date named "start"`)
