package scenario

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/yamltree"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/workload"
)

// A File is a scenario's text at the time it was opened. Variants are parsed from the same bytes, even
// if the file is a pipe, which can be read only once.
type File struct {
	language *Language
	path     string
	text     []byte
}

// Parse makes a scenario from the file and applies assignments, as [Language.Load] does.
func (f *File) Parse(sets []string) (*Scenario, error) {
	return f.language.parse(f.path, f.text, sets, f.open, nil)
}

// open opens a file that the scenario names.
func (f *File) open(name string) (io.ReadCloser, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(f.path), name)
	}
	return os.Open(name)
}

// parse reads a scenario. reshape, if not nil, converts the text to a scenario with volumes and
// host, and nothing else is required.
func (l *Language) parse(name string, text []byte, sets []string, open workload.OpenFile,
	reshape func(*yamltree.Node) *yamltree.Node) (*Scenario, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors begin a file with a byte order mark
	src := yamltree.NewSource(name, text)
	root, err := yamltree.Parse(text, noun, "")
	if err != nil {
		return nil, refused(src, err)
	}
	if reshape != nil {
		root = reshape(root)
	}
	d := &draft{Language: l, src: src, root: root, open: open, mounted: reshape != nil}
	return d.with(Sets(sets))
}

// A draft is a decoded scenario before it is checked.
type draft struct {
	*Language
	src     *yamltree.Source
	root    *yamltree.Node
	open    workload.OpenFile // nil: it can name no files
	mounted bool              // only volumes and host matter
}

// scenario decodes the tree and checks the result.
func (d *draft) scenario() (*Scenario, error) {
	sc := &Scenario{Name: d.src.File, Seed: 1, Run: Run{Duration: 10 * minute, Warmup: 2 * minute},
		Host: Host{Config: kernel.Defaults()}, draft: d, catalog: d.known}
	read := &yamltree.Decoder{}
	var chosen []Chosen
	var ignored inputerror.List
	read.Special = d.engines(read, &chosen, &ignored)

	if d.root.Kind == yamltree.Null {
		read.Fail("", yamltree.Position{Line: 1,
			Column: 1}, "the file is empty: a scenario has volumes, an engine and a workload")
	}

	// Decoding overwrites only the given values, so the defaults above remain elsewhere.
	read.Decode(d.root, reflect.ValueOf(sc).Elem(), "")
	if len(chosen) > 0 {
		sc.Engine = chosen[0]
	}

	check := &checker{Scenario: sc, Language: d.Language, root: d.root, open: d.open, chosen: chosen,
		undecoded: read.Problems, warnings: ignored}
	switch {
	case d.mounted:
		check.mounted()
	case d.root.Kind == yamltree.Mapping:
		check.check()
	}

	var found Problems
	for _, p := range read.Problems {
		found = append(found, d.src.Place(p.Problem, p.At))
	}

	for _, p := range check.problems {
		// Do not report consequences of a field that could not be decoded.
		if check.follows(p) {
			continue
		}
		found = append(found, d.src.Place(p, d.root.Locate(p.Field)))
	}

	if len(found) > 0 {
		return nil, found.sorted()
	}

	for _, p := range check.warnings {
		sc.Warnings = append(sc.Warnings, d.src.Place(p, d.root.Locate(p.Field)))
	}

	return sc, nil
}

// refused adds the position to an error in unreadable text.
func refused(s *yamltree.Source, err error) error {
	var u *yamltree.Unreadable
	if errors.As(err, &u) {
		return Problems{s.Place(inputerror.Problem{Text: u.Text}, u.At)}
	}
	return err
}

const minute = units.Duration(60e9)
