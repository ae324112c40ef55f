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
		return nil, src.refused(err)
	}
	d := &draft{Language: l, src: src, root: root, open: open, mounted: reshape != nil}
	return d.scenario()
}

// A draft is what a scenario says, before it is asked what that means.
type draft struct {
	*Language
	src     *source
	root    *node
	open    workload.OpenFile // nil: it can name no files
	mounted bool              // volumes and host are all there is
}

// scenario decodes what is said and checks it.
func (d *draft) scenario() (*Scenario, error) {
	s := &Scenario{Name: d.src.file, Seed: 1, Run: Run{Duration: 10 * minute, Warmup: 2 * minute}, Host: Host{Config: kernel.Defaults()}, draft: d}
	read := &decoder{language: d.Language}
	if d.root.kind == null {
		read.fail("", position{line: 1, column: 1}, "the file says nothing: a scenario has volumes, an engine and a workload")
	}
	read.decode(d.root, reflect.ValueOf(s).Elem(), "")
	if len(read.chosen) > 0 {
		s.Engine = read.chosen[0]
	}
	c := &checker{Scenario: s, Language: d.Language, root: d.root, open: d.open, chosen: read.chosen, undecoded: read.problems}
	switch {
	case d.mounted:
		c.mounted()
	case d.root.kind == mapping:
		c.check()
	}
	var found Problems
	for _, p := range read.problems {
		found = append(found, d.src.place(p.Problem, p.at))
	}
	for _, p := range c.problems {
		if c.follows(p) {
			continue
		}
		found = append(found, d.src.place(p, d.root.locate(p.Field)))
	}
	if len(found) > 0 {
		return nil, found.sorted()
	}
	for _, p := range c.warnings {
		s.Warnings = append(s.Warnings, d.src.place(p, d.root.locate(p.Field)))
	}
	return s, nil
}

// refused places an error of text that cannot be read.
func (s *source) refused(err error) error {
	var u *unreadable
	if errors.As(err, &u) {
		return Problems{s.place(diagnostics.Problem{Text: u.text}, u.at)}
	}
	return err
}

const minute = units.Duration(60e9)
