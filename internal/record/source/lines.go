package source

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// A LineReader reads the lines of a text, of which any may be far too long.
type LineReader struct {
	// Number is the current line's, from 1. It begins at byte From, and the next line at byte To.
	Number, From, To int64

	br *bufio.Reader
}

// NewLineReader returns a reader of lines of at most the given number of bytes.
func NewLineReader(r io.Reader, most int) *LineReader {
	return &LineReader{br: bufio.NewReaderSize(r, most)}
}

// Peek returns the beginning of the text before the first line is read.
func (l *LineReader) Peek(n int) []byte {
	head, _ := l.br.Peek(n) // an error occurs again when the lines are read
	return head
}

// Next returns the next line with its line end, which is valid until the next call. Of a line that is too
// long, it returns only the beginning. The error may come with a last line without a line end.
func (l *LineReader) Next() (line []byte, long bool, err error) {
	l.Number++
	l.From = l.To
	line, err = l.br.ReadSlice('\n')
	l.To += int64(len(line))
	if long = errors.Is(err, bufio.ErrBufferFull); long {
		line = bytes.Clone(line)
	}

	for errors.Is(err, bufio.ErrBufferFull) {
		var rest []byte
		rest, err = l.br.ReadSlice('\n')
		l.To += int64(len(rest))
	}
	return line, long, err
}
