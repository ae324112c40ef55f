package recording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"plimsoll/internal/base/safefile"
)

// A Mark is a moment that somebody marked: something was changed there.
type Mark struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

const (
	// MarksName is the file of a recording's marks, one JSON object per line. It is not part of
	// [ManifestName], because whoever marks is usually not the recorder.
	MarksName = "marks.jsonl"
	// MarksMax is how many marks a recording has; of more, the newest are kept.
	MarksMax = 256
	// MarkTextMax bounds a mark's text, in bytes.
	MarkTextMax = 200
	// MarkTextDefault is the text of a mark without one.
	MarkTextDefault = "changed here"

	// marksBytesMax is what is read of the file, from its end, and marksBytesFull is the size from
	// which it is written anew with what counts.
	marksBytesMax  = 256 << 10
	marksBytesFull = 128 << 10
	// marksTries is how often a file that others write anew is opened.
	marksTries = 1000
)

// NewMark is a mark whose text is one line that any terminal shows safely. It is an error if the
// text is too long, or the time is none that a recording takes.
func NewMark(at time.Time, text string) (Mark, error) {
	m := Mark{At: at.UTC().Truncate(time.Millisecond), Text: OneLine(text)}
	if m.Text == "" {
		m.Text = MarkTextDefault
	}
	if len(m.Text) > MarkTextMax {
		return Mark{}, fmt.Errorf("a mark's text has at most %d bytes, this one has %d", MarkTextMax, len(m.Text))
	}
	if ms := m.At.UnixMilli(); ms < 0 || ms > TimeMaxMs {
		return Mark{}, fmt.Errorf("a mark at %s: want a time from 1970 to 2199", at.Format(time.RFC3339))
	}
	return m, nil
}

// OneLine is text without control and format characters, and with single spaces.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' ||
			r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// A Marker is a [Reader] that has marks.
type Marker interface {
	Marks() []Mark
}

// Marks are those of a reader, in time order; none if it has none.
func Marks(r Reader) []Mark {
	if m, ok := r.(Marker); ok {
		return m.Marks()
	}
	return nil
}

// Folder is the folder that a reader reads, as it was given, and whether something records to it now;
// "" of a reader without one.
func Folder(r Reader) (dir string, growing bool) {
	f, ok := r.(*folder)
	if !ok {
		return "", false
	}
	return f.dir, f.state == stateRecording && beingWritten(f.dir)
}

// MergeMarks are marks of several places in time order, each once, and of too many the newest.
func MergeMarks(all ...[]Mark) []Mark {
	out := slices.Concat(all...)
	slices.SortStableFunc(out, func(a,
		b Mark) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Text, b.Text))
	})
	out = slices.CompactFunc(out, func(a, b Mark) bool { return a.At.Equal(b.At) && a.Text == b.Text })
	return out[max(0, len(out)-MarksMax):]
}

// AddMark adds a mark to the recording in a folder, which may be recorded to at the same time.
func AddMark(dir string, m Mark) error {
	m, err := NewMark(m.At, m.Text)
	if err != nil {
		return err
	}

	if !IsRecording(dir) {
		return fmt.Errorf("%s is not a recording: it has no %s", dir, ManifestName)
	}

	line, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("mark: %w", err)
	}

	if err := appendMark(filepath.Join(dir, MarksName), append(line, '\n')); err != nil {
		return fmt.Errorf("mark in %s: %w", dir, err)
	}

	return nil
}

// appendMark appends a line to the file of marks. A file that has grown large is first written anew
// with the marks that count.
func appendMark(file string, line []byte) error {
	if err := safefile.NoLink(file); err != nil {
		return err
	}

	if err := safefile.IsFile(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	f, err := openMarks(file)
	if err != nil {
		return err
	}

	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}

	if info.Size() > marksBytesFull {
		var b bytes.Buffer
		for _, m := range readMarks(file) {
			old, err := json.Marshal(m)
			if err != nil {
				return err
			}
			b.Write(append(old, '\n'))
		}
		b.Write(line)
		return safefile.Write(file, b.Bytes(), safefile.Options{})
	}

	// Whoever was interrupted left half a line.
	last := []byte{'\n'}
	if info.Size() > 0 {
		if _, err := f.ReadAt(last, info.Size()-1); err != nil {
			return err
		}
	}

	if last[0] != '\n' {
		line = append([]byte{'\n'}, line...)
	}

	_, err = f.Write(line) // in one call, for file systems without locks
	return errors.Join(err, f.Sync())
}

// openMarks opens and locks the file of marks. Whoever waited for the lock may have opened a file that
// was written anew meanwhile: then the new one is opened.
func openMarks(file string) (*os.File, error) {
	for range marksTries {
		f, err := os.OpenFile(file, os.O_RDWR|os.O_APPEND|os.O_CREATE|openNoFollow, 0o644) //nolint:gosec // as readable as the recording
		if err != nil {
			return nil, err
		}

		if err := lockMarks(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}

		opened, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}

		if there, err := os.Lstat(file); err == nil && os.SameFile(opened, there) {
			return f, nil
		}

		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s was replaced %d times while it was opened", file, marksTries)
}

// Mark adds a mark.
func (d *Disk) Mark(m Mark) error { return AddMark(d.dir, m) }

// Marks implements [Marker]; others may have marked too.
func (d *Disk) Marks() []Mark { return ReadMarks(d.dir) }

// ReadMarks are the marks of the recording in a folder, in time order. What is no mark is left out:
// a damaged file must not keep anybody from the samples.
func ReadMarks(dir string) []Mark { return readMarks(filepath.Join(dir, MarksName)) }

func readMarks(file string) []Mark {
	f, err := safefile.Open(file)
	if err != nil {
		return nil
	}

	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}

	from := max(0, info.Size()-marksBytesMax)
	text, err := io.ReadAll(io.NewSectionReader(f, from, marksBytesMax))
	if err != nil {
		return nil
	}

	return parseMarks(text)
}

// parseMarks reads lines; those that are no marks are left out.
func parseMarks(text []byte) []Mark {
	var out []Mark
	for line := range bytes.Lines(text) {
		var m Mark
		if json.Unmarshal(line, &m) != nil || m.At.IsZero() {
			continue
		}
		if len(m.Text) > MarkTextMax {
			m.Text = strings.ToValidUTF8(m.Text[:MarkTextMax], "")
		}
		if m, err := NewMark(m.At, m.Text); err == nil {
			out = append(out, m)
		}
	}
	return MergeMarks(out)
}
