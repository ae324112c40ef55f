// Package samples contains the common parts of the readers of text: lines of bounded length with the
// times that a pipeline wrote before them, damage with its file and line, and a [Writer] that turns the
// figures of one time after another into batches.
package samples

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"plimsoll/internal/record/lineprefix"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// LineBytesMax bounds a line. Longer ones are skipped as damage.
const LineBytesMax = 64 << 10

// headBytes is how much of a text shows whether its lines have a prefix.
const headBytes = 16 << 10

// checkEvery is how many lines are read between two checks of the context.
const checkEvery = 4096

// Lines reads the lines of a file.
type Lines struct {
	*source.LineReader

	// Stamp is the time in the prefix of the current line. It stays that of the last prefix, and is
	// zero if there is none.
	Stamp time.Time

	ctx      context.Context //nolint:containedctx // of one Read
	in       io.ReadCloser
	prefix   *lineprefix.Dater
	progress func(done, total int64)
	total    int64
	path     string
	skipped  int64
	first    string // the first damage
	at       int64  // its offset
	err      error
}

// Open opens a file. The caller must close it.
func Open(ctx context.Context, from source.File, opt source.Options) (*Lines, error) {
	return OpenAs(ctx, from, opt, nil)
}

// OpenAs is Open for a text in which is recognises some lines. Then any prefix of the lines is
// removed, whatever its form.
func OpenAs(ctx context.Context, from source.File, opt source.Options,
	is func(line []byte) bool) (*Lines, error) {
	in, err := from.Open()
	if err != nil {
		return nil, err
	}

	l := &Lines{ctx: ctx, in: in, LineReader: source.NewLineReader(in, LineBytesMax), progress: opt.Progress,
		total: from.Bytes, path: from.Path}
	head := l.Peek(headBytes)
	form := lineprefix.Detect(head)
	if is != nil {
		form = lineprefix.For(head, is)
	}
	if form != nil {
		l.prefix = &lineprefix.Dater{Form: form, Year: from.Modified.Year(), Location: opt.Location}
	}

	return l, nil
}

// Close closes the file.
func (l *Lines) Close() error { return l.in.Close() }

// Next returns the next line without its prefix and its line end; false at the end. The line is
// valid until the next call.
func (l *Lines) Next() ([]byte, bool) {
	if l.err != nil {
		return nil, false
	}

	line, long, err := l.LineReader.Next()
	if l.Number%checkEvery == 0 {
		if l.err = l.ctx.Err(); l.err != nil {
			return nil, false
		}
		if l.progress != nil {
			l.progress(l.To, l.total)
		}
	}

	switch {
	case long:
		l.Damaged(fmt.Sprintf("longer than %d bytes", LineBytesMax))
		line = nil
	case err != nil && !errors.Is(err, io.EOF):
		// A truncated compressed file: the data read before is still worth a recording.
		l.Damaged("read error: " + err.Error())
		line = nil
	}

	if err != nil {
		l.err = io.EOF
		if len(line) == 0 {
			return nil, false
		}
	}

	line = bytes.TrimRight(line, "\r\n")
	if l.prefix != nil {
		if at, rest, ok := l.prefix.Cut(line); ok {
			line = rest
			if !at.IsZero() {
				l.Stamp = at
			}
		}
	}

	return line, true
}

// Err returns why the lines ended early: nil at the end of the file.
func (l *Lines) Err() error {
	if l.err == nil || errors.Is(l.err, io.EOF) {
		return nil
	}
	return l.err
}

// Damaged notes that the current line was skipped.
func (l *Lines) Damaged(what string) {
	if l.skipped++; l.skipped == 1 {
		l.first, l.at = fmt.Sprintf("skipped line %d: %s", l.Number, what), l.From
	}
}

// Notes returns the skipped lines: the first place, and how many more.
func (l *Lines) Notes() []recording.Note {
	if l.skipped == 0 {
		return nil
	}
	text := l.first
	if l.skipped > 1 {
		text += fmt.Sprintf(", and %d more", l.skipped-1)
	}
	return []recording.Note{{Kind: recording.NoteDamage, Source: l.path, File: l.path, Offset: l.at,
		Text: text}}
}
