package ftdc

import "io"

// A Scanner reads the chunks of one file of diagnostic.data in bounded memory.
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

// Next returns the next chunk, which is valid until the call after that. After a *[DamageError] it can
// be called again and continues after the damage. It returns io.EOF at the end of the file; any other
// error is final.
func (s *Scanner) Next() (*Chunk, error) {
	for {
		d, err := s.stream.next()
		if err != nil {
			return nil, err
		}
		if d.kind != docChunk {
			continue
		}

		c, err := s.chunks.read(d.payload)
		if err != nil {
			return nil, &DamageError{File: s.stream.file, Offset: d.offset, Bytes: s.stream.offset() - d.offset,
				Err: err}
		}
		return c, nil
	}
}
