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

// A File is a scenario's text as it was when it was opened: variants of it are parsed from the same bytes, though
// the file may be a pipe, which can be read once.
type File struct {
	language *Language
	path     string
	text     []byte
}

// Parse makes a scenario of the file, with assignments over it, as [Language.Load] does.
func (f *File) Parse(sets []string) (*Scenario, error) {
	return f.language.parse(f.path, f.text, sets, f.open, nil)
}

// open opens a file that the text names.
func (f *File) open(name string) (io.ReadCloser, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(f.path), name)
	}
	return os.Open(name)
}

// parse reads a scenario; reshape, if not nil, makes volumes and host of what the text says, and nothing else is asked for.
func (l *Language) parse(name string, text []byte, sets []string, open workload.OpenFile, reshape func(*node) *node) (*Scenario, error) {
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
	d := &decoder{language: l}
	if root.kind == null {
		d.fail("", position{line: 1, column: 1}, "the file says nothing: a scenario has volumes, an engine and a workload")
	}
	d.decode(root, reflect.ValueOf(s).Elem(), "")
	if len(d.chosen) > 0 {
		s.Engine = d.chosen[0]
	}
	c := &checker{Scenario: s, Language: l, root: root, open: open, chosen: d.chosen, undecoded: d.problems}
	switch {
	case reshape != nil:
		c.mounted()
	case root.kind == mapping:
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
