package ftdc

import (
	"io"
	"time"
)

// An Entry is one document of a file: a chunk or metadata.
type Entry struct {
	Offset int64     // of the document in the file
	Date   time.Time // of the document, close to the first sample's time
	// Chunk is nil for metadata. It is valid until the next call of Next.
	Chunk *Chunk
	// Metadata is nil for a chunk.
	Metadata *Metadata
}

// A Scanner reads one file of diagnostic.data, entry by entry, in bounded memory.
type Scanner struct {
	stream *stream
	chunks chunkReader
}

// NewScanner reads from r; name appears in errors.
func NewScanner(name string, r io.Reader) *Scanner {
	s := &Scanner{stream: newStream(name, r)}
	s.chunks.layout.cache = &schemaCache{}
	return s
}

// Next returns the next entry. After a *[DamageError] it can be called again and continues after
// the damage. It returns io.EOF at the end of the file; any other error is final.
func (s *Scanner) Next() (Entry, error) {
	d, err := s.stream.next()
	if err != nil {
		return Entry{}, err
	}

	e := Entry{Offset: d.offset, Date: d.date}
	if d.kind != docChunk {
		m := readMetadata(d)
		e.Metadata = &m
		return e, nil
	}

	c, err := s.chunks.read(d.payload())
	if err != nil {
		return Entry{}, &DamageError{File: s.stream.file, Offset: d.offset, Bytes: int64(len(d.raw)), Err: err}
	}

	e.Chunk = c
	return e, nil
}
