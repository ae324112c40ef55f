// Package parquet writes Parquet files with a few columns: times, numbers, text and maps of text. A
// library's packages provide the encodings and the metadata; this package writes pages, chunks and
// groups, using only the parts of the format that every reader supports (data pages of version 1,
// dictionaries, Zstandard). The library's own writer, which supports everything, would take a
// fifteenth of the program's compile time. The tests read files with it.
//
// Source: github.com/apache/parquet-format (README.md, Encodings.md, LogicalTypes.md, parquet.thrift).
package parquet

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	// magic is at both ends of a file.
	magic = "PAR1"
	// version is the version of the format. Version 2 would allow encodings that fewer readers
	// support.
	version = 1
)

// A Writer writes a file. Callers add the same number of values to each column; Group writes the
// values in the columns, and Close ends the file.
type Writer struct {
	out     io.Writer
	zstd    *zstd.Encoder
	at      int64 // bytes written
	rows    int64
	columns []Column
	groups  []format.RowGroup
}

// New returns a writer of a file with the given columns.
func New(w io.Writer, columns ...Column) (*Writer, error) {
	if len(columns) == 0 {
		return nil, errors.New("a Parquet file needs at least one column")
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return &Writer{out: w, zstd: z, columns: columns}, nil
}

func (w *Writer) write(b []byte) error {
	n, err := w.out.Write(b)
	w.at += int64(n)
	return err
}

// begin writes the start of the file, once.
func (w *Writer) begin() error {
	if w.at > 0 {
		return nil
	}
	return w.write([]byte(magic))
}

// Group writes the rows in the columns and empties them. Without rows it does nothing.
func (w *Writer) Group() error {
	// All columns of a row group must have the same number of rows; the format cannot express anything else.
	rows := w.columns[0].rows()
	for _, c := range w.columns {
		if c.rows() != rows {
			return errors.New("columns of a Parquet file have different numbers of rows")
		}
	}

	if rows == 0 {
		return nil
	}

	if err := w.begin(); err != nil {
		return err
	}

	g := format.RowGroup{NumRows: int64(rows), FileOffset: w.at}
	for _, c := range w.columns {
		for _, l := range c.leaves() {
			m, err := w.chunk(l)
			if err != nil {
				return err
			}
			g.Columns = append(g.Columns, format.ColumnChunk{FileOffset: start(&m), MetaData: m})
			g.TotalByteSize += m.TotalUncompressedSize
			g.TotalCompressedSize += m.TotalCompressedSize
		}
		c.empty()
	}

	w.rows += g.NumRows
	w.groups = append(w.groups, g)
	return nil
}

// start returns the offset of a chunk's first page.
func start(m *format.ColumnMetaData) int64 {
	if m.DictionaryPageOffset > 0 {
		return m.DictionaryPageOffset
	}
	return m.DataPageOffset
}

// chunk writes the values of one leaf: its dictionary, if it has one, and one page.
func (w *Writer) chunk(l *leaf) (format.ColumnMetaData, error) {
	m := format.ColumnMetaData{
		Type: l.kind, PathInSchema: l.path, Codec: format.Zstd, NumValues: int64(l.values()),
		// RLE is for the repetition and definition levels, whatever the values use.
		Encoding: []format.Encoding{l.encoding, format.RLE},
	}

	if l.bounds != nil {
		m.Statistics.MinValue, m.Statistics.MaxValue = l.bounds()
	}

	if l.dictionary != nil {
		words, body := l.dictionary()
		// Offsets are known only now, because pages are compressed as they are written.
		m.DictionaryPageOffset = w.at
		m.Encoding = append(m.Encoding, format.Plain)
		err := w.page(&m, body, format.PageHeader{
			Type:                 format.DictionaryPage,
			DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(words), Encoding: format.Plain}), //nolint:gosec // less than a group's rows
		})
		if err != nil {
			return m, err
		}
	}

	body, err := l.page()
	if err != nil {
		return m, err
	}

	m.DataPageOffset = w.at
	return m, w.page(&m, body, format.PageHeader{
		Type: format.DataPage,
		DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: int32(m.NumValues), Encoding: l.encoding, //nolint:gosec // less than a group's pairs
			DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		}),
	})
}

// page writes a page and adds its size to that of its chunk.
func (w *Writer) page(m *format.ColumnMetaData, body []byte, head format.PageHeader) error {
	small := w.zstd.EncodeAll(body, nil)
	head.UncompressedPageSize, head.CompressedPageSize = int32(len(body)), int32(len(small)) //nolint:gosec // a group has some megabytes
	b, err := thrift.Marshal(new(thrift.CompactProtocol), head)
	if err != nil {
		return err
	}
	m.TotalUncompressedSize += int64(len(b) + len(body))
	m.TotalCompressedSize += int64(len(b) + len(small))
	if err := w.write(b); err != nil {
		return err
	}
	return w.write(small)
}

// Close writes the rows in the columns and the end of the file. It does not close the underlying
// writer.
func (w *Writer) Close() error {
	if err := w.Group(); err != nil {
		return err
	}

	if err := w.begin(); err != nil {
		return err
	}

	m := format.FileMetaData{
		Version: version, CreatedBy: "plimsoll", NumRows: w.rows, RowGroups: w.groups,
		Schema: []format.SchemaElement{{Name: "schema", NumChildren: thrift.New(int32(len(w.columns)))}}, //nolint:gosec // a few
	}

	for _, c := range w.columns {
		m.Schema = append(m.Schema, c.schema()...)
		for range c.leaves() {
			m.ColumnOrders = append(m.ColumnOrders, format.ColumnOrder{Value: &format.TypeDefinedOrder{}})
		}
	}

	b, err := thrift.Marshal(new(thrift.CompactProtocol), m)
	if err != nil {
		return err
	}

	// A reader finds the metadata from the end: its length and the magic come last.
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b))) //nolint:gosec // a file's metadata is kilobytes
	return w.write(append(b, magic...))
}
