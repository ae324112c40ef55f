package scenario

import (
	"cmp"
	"fmt"
	"strings"

	"plimsoll/internal/base/yamltree"
)

// A Set is an assignment to a scenario: a value at a path of keys.
type Set struct {
	// Path is "volumes.data.iops", with [n] for items of lists.
	Path string
	// Value is a part of a scenario as a Go value, such as a [catalog.Order]. A string is a value
	// in YAML, "{type: gp3, size: 10GiB}". nil and "" remove the key.
	Value any
}

// unassigned is the value of a text that contains no assignment.
type unassigned struct{}

// Sets parses assignments in the syntax of --set. A text that is not an assignment is rejected, with its
// position, when it is applied to a scenario.
func Sets(texts []string) []Set {
	out := make([]Set, len(texts))
	for i, text := range texts {
		path, value, ok := strings.Cut(text, "=")
		if out[i] = (Set{path, value}); !ok || strings.TrimSpace(path) == "" {
			out[i] = Set{text, unassigned{}}
		}
	}
	return out
}

// Text is the value in the syntax of --set: "" removes the key.
func (s Set) Text() string {
	switch v := s.Value.(type) {
	case nil, unassigned:
		return ""
	case string:
		return v
	}
	b, err := yamltree.Encode(s.Value).YAML(true)
	if err != nil {
		return fmt.Sprint(s.Value)
	}
	return strings.TrimSpace(string(b))
}

// String is the assignment in the syntax of --set.
func (s Set) String() string {
	if s.Value == (unassigned{}) {
		return s.Path
	}
	return s.Path + "=" + s.Text()
}

// value returns the node to put at the path.
func (s Set) value() (*yamltree.Node, error) {
	switch v := s.Value.(type) {
	case unassigned:
		// A position without an assignment would be mistaken for a position in the file.
		at := yamltree.Position{Line: 1, Column: 1, Set: cmp.Or(s.Path, "''")}
		return nil, &yamltree.Unreadable{At: at, Text: "is not an assignment: write it as " + like}
	case string:
		return yamltree.Assigned(s.Path, v, noun, s.String(), like)
	}
	n := yamltree.Encode(s.Value)
	n.SetPosition(yamltree.Position{Line: 1, Column: len([]rune(s.Path)) + 2, Set: s.String()})
	return n, nil
}

// Make makes a scenario from assignments alone. name is the scenario's name if none is assigned, and
// the file's name in problems. Make opens no file.
func (l *Language) Make(name string, sets []Set) (*Scenario, error) {
	d := &draft{Language: l, src: yamltree.NewSource(name, nil),
		root: &yamltree.Node{Kind: yamltree.Mapping, At: yamltree.Position{Line: 1, Column: 1}}}
	return d.with(sets)
}

// eitherOr are settings of the host of which the kernel uses only one: writing one resets the other to
// 0 (Linux, Documentation/admin-guide/sysctl/vm.rst, dirty_background_bytes and dirty_bytes).
var eitherOr = [][2]string{{"dirty_background_bytes", "dirty_background_ratio"},
	{"dirty_bytes", "dirty_ratio"}}

// replaces removes the setting that an assignment replaces, as the kernel does.
func (d *draft) replaces(s Set) {
	host := d.root.Find("host")
	name, ok := strings.CutPrefix(s.Path, "host.")
	if !ok || host == nil || s.Text() == "" || s.Text() == "null" {
		return
	}
	for _, pair := range eitherOr {
		switch name {
		case pair[0]:
			host.Value.Remove(pair[1])
		case pair[1]:
			host.Value.Remove(pair[0])
		}
	}
}

// With returns a new scenario made from the scenario's text and further assignments. It ignores later
// changes to the fields of s.
func (s *Scenario) With(sets ...Set) (*Scenario, error) {
	d := *s.draft
	// Assignments change the tree, which other variants share.
	d.root = d.root.Clone()
	return d.with(sets)
}

// YAML returns the scenario as YAML, without the file's comments.
func (s *Scenario) YAML() ([]byte, error) {
	b, err := s.draft.root.YAML(false)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return b, nil
}

func (d *draft) with(sets []Set) (*Scenario, error) {
	if len(sets) > setsMax {
		return nil, fmt.Errorf("scenario %s: %d assignments: want at most %d", d.src.File, len(sets), setsMax)
	}

	// Assignments and the file may name the engine differently.
	d.rename(d.root)

	for _, s := range sets {
		// Remove all replaced settings before the first assignment, so that the order of
		// assignments does not matter.
		d.replaces(s)
	}

	for _, s := range sets {
		n, err := s.value()
		if err == nil {
			err = d.root.Put(d.canonicalPath(s.Path), n, s.String(), like)
		}
		if err != nil {
			return nil, refused(d.src, err)
		}
	}

	d.rename(d.root)
	return d.scenario()
}
