package ftdc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const (
	// MaxDocument limits a document of a file. The server's own documents stay under 16 MiB
	// (BSONObjMaxUserSize) plus 16 KiB; a chunk has about 50 KB.
	MaxDocument = 16<<20 + 16<<10
	// streamBuffer is the size of one read, and of the buffer while documents are small.
	streamBuffer = 128 << 10
)

// headLen is the length of the header that all FTDC documents share: the length, the field _id with
// a date, and the field type with an int32.
const headLen = 4 + (1 + 4 + 8) + (1 + 5 + 4)

var (
	headID   = []byte("\x09_id\x00")
	headType = []byte("\x10type\x00")
)

// A docType is the field "type" of a document in a file.
type docType int32

const (
	docMetadata      docType = 0
	docChunk         docType = 1
	docMetadataDelta docType = 2 // only what changed
)

// A document is one document of a file. Its bytes are valid until the next one is read.
type document struct {
	kind   docType
	date   time.Time // the field _id
	offset int64     // in the file
	// payload is the content: a chunk's data, or a document.
	payload []byte
}

// A DamageError reports bytes of a file that could not be read. The bytes after them may be
// readable.
type DamageError struct {
	File   string
	Offset int64 // where the unreadable bytes begin
	Bytes  int64 // how many were skipped
	Err    error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s: byte %d: %v; %d bytes skipped", e.File, e.Offset, e.Err, e.Bytes)
}

func (e *DamageError) Unwrap() error { return e.Err }

// A stream reads the documents of one file through a buffer that grows with the bytes that arrive,
// never with a stated length alone.
type stream struct {
	file string
	src  io.Reader
	buf  []byte
	pos  int   // of the next document in buf
	base int64 // offset of buf[0] in the file
	eof  bool
}

func newStream(file string, src io.Reader) *stream {
	return &stream{file: file, src: src, buf: make([]byte, 0, streamBuffer)}
}

// rest returns the unread part of the buffer.
func (s *stream) rest() []byte { return s.buf[s.pos:] }

func (s *stream) offset() int64 { return s.base + int64(s.pos) }

// want fills the buffer until it holds n unread bytes or the file ends.
func (s *stream) want(n int) error {
	for len(s.rest()) < n && !s.eof {
		// Reclaim the consumed part before growing the buffer.
		if s.pos > 0 && len(s.buf) == cap(s.buf) {
			s.base += int64(s.pos)
			s.buf = s.buf[:copy(s.buf, s.rest())]
			s.pos = 0
		}

		if len(s.buf) == cap(s.buf) {
			s.buf = append(make([]byte, 0, 2*cap(s.buf)), s.buf...)
		}

		got, err := s.src.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+got]
		if errors.Is(err, io.EOF) {
			s.eof = true
		} else if err != nil {
			return fmt.Errorf("%s: byte %d: %w", s.file, s.base+int64(len(s.buf)), err)
		}
	}
	return nil
}

// next returns the next document. It returns a *DamageError for bytes it had to skip, after which
// it can be called again; io.EOF at the end; and any other error if the rest of the file is
// unreadable.
func (s *stream) next() (document, error) {
	if err := s.want(headLen); err != nil {
		return document{}, err
	}
	if len(s.rest()) == 0 {
		return document{}, io.EOF
	}

	kind, n, err := parseHead(s.rest())
	if err != nil {
		return document{}, s.resync(err)
	}

	if err := s.want(n); err != nil {
		return document{}, err
	}

	if have := len(s.rest()); have < n {
		return document{}, s.resync(fmt.Errorf("torn: the file ends %d bytes into a document of %d", have, n))
	}

	raw := s.rest()[:n:n]
	payload, err := payloadOf(kind, raw)
	if err != nil {
		return document{}, s.resync(err)
	}

	date := int64(binary.LittleEndian.Uint64(raw[4+len(headID):]))
	doc := document{kind: kind, date: time.UnixMilli(date).UTC(), offset: s.offset(), payload: payload}
	s.pos += n

	return doc, nil
}

// parseHead returns the type and the length of the document at the start of b.
func parseHead(b []byte) (docType, int, error) {
	if len(b) < headLen {
		return 0, 0, fmt.Errorf("torn: %d bytes are not a document", len(b))
	}

	n := int(int32(binary.LittleEndian.Uint32(b)))
	at := 4 + len(headID) + 8
	if !bytes.HasPrefix(b[4:], headID) || !bytes.HasPrefix(b[at:], headType) {
		return 0, 0, errors.New("not an FTDC document: it must start with a date _id and an int32 type")
	}

	kind := docType(binary.LittleEndian.Uint32(b[at+len(headType):]))
	if kind < docMetadata || kind > docMetadataDelta {
		return 0, 0, fmt.Errorf("document of unknown type %d", kind)
	}

	if n <= headLen || n > MaxDocument {
		return 0, 0, fmt.Errorf("document of stated length %d; %d to %d are read", n, headLen+1, MaxDocument)
	}

	return kind, n, nil
}

// payloadOf returns the content of a document.
func payloadOf(kind docType, raw []byte) ([]byte, error) {
	name, want, head := "doc", bson.TypeEmbeddedDocument, 0
	if kind == docChunk {
		name, want, head = "data", bson.TypeBinary, 5 // length, subtype
	}
	for e := range fields(raw) {
		if string(e.key) == name && e.kind == want {
			return e.value[head:], nil
		}
	}
	return nil, fmt.Errorf("document of type %d without a readable field %q", kind, name)
}

// resync skips bytes up to the next document's header or the end of the file. Of a header's 27
// bytes, 14 are fixed, so compressed data do not match by chance.
func (s *stream) resync(cause error) error {
	damage := &DamageError{File: s.file, Offset: s.offset(), Err: cause}
	defer func() { damage.Bytes = s.offset() - damage.Offset }()

	// The header at this position was rejected; without advancing, resync would find it again.
	s.pos++

	for {
		if err := s.want(headLen); err != nil {
			return err
		}

		rest := s.rest()
		if len(rest) < headLen {
			s.pos = len(s.buf)
			return damage
		}

		i := bytes.Index(rest[4:], headID)
		if i < 0 {
			s.pos += len(rest) - headLen + 1
			continue
		}

		s.pos += i
		if err := s.want(headLen); err != nil {
			return err
		}

		if _, _, err := parseHead(s.rest()); err == nil {
			return damage
		}

		s.pos++
	}
}
