package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"plimsoll/internal/base/diagnostics"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/workload"
)

// Load reads a scenario from a file, with assignments over it. Files that it names, a recorded rate, are
// looked for beside it. An error of what is written is of type [Problems].
func Load(path string, sets []string) (*Scenario, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return f.Parse(sets)
}

// A File is a scenario's text as it was when it was opened: variants of it are parsed from the same bytes, though
// the file may be a pipe, which can be read once.
type File struct {
	path string
	text []byte
}

// Open reads a file for [File.Parse], no more of it than a scenario may have.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, fileBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return &File{path, text}, nil
}

// Parse makes a scenario of the file, with assignments over it, as [Load] does.
func (f *File) Parse(sets []string) (*Scenario, error) {
	return parse(f.path, f.text, sets, f.open, nil)
}

// open opens a file that the text names.
func (f *File) open(name string) (io.ReadCloser, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(f.path), name)
	}
	return os.Open(name)
}

// Parse reads a scenario from text that came from the named file, with assignments over it
// ("volumes.data.iops=16000"). It opens no other file. An error of what is written is of type
// [Problems].
func Parse(name string, text []byte, sets []string) (*Scenario, error) {
	return parse(name, text, sets, nil, nil)
}

// parse reads a scenario; reshape, if not nil, makes one of what the text says.
func parse(name string, text []byte, sets []string, open workload.OpenFile, reshape func(*node) *node) (*Scenario, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors begin a file with a byte order mark
	src := newSource(name, text)
	root, err := parseTree(text, "")
	if err == nil && len(sets) > setsMax {
		return nil, fmt.Errorf("scenario %s: %d assignments are more than %d", name, len(sets), setsMax)
	}
	if err == nil && reshape != nil {
		root = reshape(root)
	}
	for _, set := range sets {
		if err == nil {
			err = root.assign(set)
		}
	}
	if err != nil {
		var u *unreadable
		if errors.As(err, &u) {
			return nil, Problems{src.place(diagnostics.Problem{Text: u.text}, u.at)}
		}
		return nil, err
	}
	s := &Scenario{Name: name, Seed: 1, Run: Run{Duration: 10 * minute, Warmup: 2 * minute}, Host: Host{Config: kernel.Defaults()}}
	d := &decoder{}
	if root.kind == null {
		d.fail("", position{line: 1, column: 1}, "the file says nothing: a scenario has volumes, an engine and a workload")
	}
	d.decode(root, reflect.ValueOf(s).Elem(), "")
	c := &checker{Scenario: s, root: root, open: open, undecoded: d.problems}
	if root.kind == mapping {
		c.check()
	}
	var found Problems
	for _, p := range d.problems {
		found = append(found, src.place(p.Problem, p.at))
	}
	for _, p := range c.problems {
		if c.follows(p) {
			continue
		}
		found = append(found, src.place(p, root.locate(p.Field)))
	}
	if len(found) > 0 {
		return nil, found.sorted()
	}
	for _, p := range c.warnings {
		s.Warnings = append(s.Warnings, src.place(p, root.locate(p.Field)))
	}
	return s, nil
}

const minute = units.Duration(60e9)
