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

// A Mark is a time at which a user marked a change.
type Mark struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

const (
	// MarksName is the file of a recording's marks, one JSON object per line. It is not part of
	// [ManifestName], because the process that adds a mark is usually not the recorder.
	MarksName = "marks.jsonl"
	// MarksMax bounds the marks of a recording; the newest are kept.
	MarksMax = 256
	// MarkTextMax bounds the text of a mark, in bytes.
	MarkTextMax = 200
	// MarkTextDefault is the text of a mark without one.
	MarkTextDefault = "changed here"

	// marksBytesMax is how much of the file is read, from its end. From marksBytesFull on, the file
	// is rewritten with the marks that count.
	marksBytesMax  = 256 << 10
	marksBytesFull = 128 << 10
	// marksTries bounds the attempts to open a file that other processes keep rewriting.
	marksTries = 1000
)

// NewMark returns a mark whose text is one line that is safe to show in any terminal. It returns an
// error if the text is too long, or the time is outside of the range of a recording.
func NewMark(at time.Time, text string) (Mark, error) {
	m := Mark{At: at.UTC().Truncate(time.Millisecond), Text: OneLine(text)}
	if m.Text == "" {
		m.Text = MarkTextDefault
	}
	if len(m.Text) > MarkTextMax {
		return Mark{}, fmt.Errorf("the text of the mark has %d bytes: want at most %d", len(m.Text), MarkTextMax)
	}
	if ms := m.At.UnixMilli(); ms < 0 || ms > TimeMaxMs {
		return Mark{}, fmt.Errorf("mark at %s: want a time from 1970 to 2199", at.Format(time.RFC3339))
	}
	return m, nil
}

// OneLine returns the text without control and format characters, and with single spaces.
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

// Folder returns the folder of a reader, as it was given, and whether a process is recording to it.
// dir is "" for a reader without a folder.
func Folder(r Reader) (dir string, growing bool) {
	f, ok := r.(*folder)
	if !ok {
		return "", false
	}
	return f.dir, f.state == stateRecording && beingWritten(f.dir)
}

// MergeMarks merges marks in order of time, without duplicates. If there are too many, it keeps the
// newest.
func MergeMarks(all ...[]Mark) []Mark {
	out := slices.Concat(all...)
	slices.SortStableFunc(out, func(a,
		b Mark) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Text, b.Text))
	})
	out = slices.CompactFunc(out, func(a, b Mark) bool { return a.At.Equal(b.At) && a.Text == b.Text })
	return out[max(0, len(out)-MarksMax):]
}

// AddMark adds a mark to the recording in a folder. A process may be recording to it at the same
// time.
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

// appendMark appends a line to the file of marks. A large file is first rewritten with the marks
// that count.
func appendMark(file string, line []byte) error {
	if err := safefile.NoLink(file); err != nil {
		return err
	}

	if err := safefile.IsFile(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	marks, err := openMarks(file)
	if err != nil {
		return err
	}

	defer marks.Close()
	info, err := marks.Stat()
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

	// An interrupted writer may have left half a line.
	last := []byte{'\n'}
	if info.Size() > 0 {
		if _, err := marks.ReadAt(last, info.Size()-1); err != nil {
			return err
		}
	}

	if last[0] != '\n' {
		line = append([]byte{'\n'}, line...)
	}

	_, err = marks.Write(line) // in one call, for file systems without locks
	return errors.Join(err, marks.Sync())
}

// openMarks opens and locks the file of marks. While it waits for the lock, another process may
// replace the file; then it opens the new one.
func openMarks(file string) (*os.File, error) {
	for range marksTries {
		f, err := os.OpenFile(file, os.O_RDWR|os.O_APPEND|os.O_CREATE|openNoFollow, 0o644) //nolint:gosec // as readable as the recording
		if err != nil {
			return nil, err
		}

		if err := safefile.WaitLock(f); err != nil {
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

// Marks returns the marks so far. Other processes may also have added marks.
func (d *Disk) Marks() []Mark { return ReadMarks(d.dir) }

// ReadMarks returns the marks of the recording in a folder, in order of time. It skips everything
// that is not a mark: a damaged file must not make the samples inaccessible.
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

	// Only the end, because the newest marks count.
	from := max(0, info.Size()-marksBytesMax)
	text, err := io.ReadAll(io.NewSectionReader(f, from, marksBytesMax))
	if err != nil {
		return nil
	}

	return parseMarks(text)
}

// parseMarks parses lines and skips those that are not marks.
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
