package scenario

import (
	"fmt"
	"strings"

	"plimsoll/internal/base/yamltree"
)

// A Set is an assignment over a scenario: a value at a path of keys.
type Set struct {
	// Path is "volumes.data.iops", with [n] for items of lists.
	Path string
	// Value is a part of a scenario as its Go type has it, a [catalog.Order] for instance; a string
	// is a value as YAML has it, "{type: gp3, size: 10GiB}". nil and "" take the key away.
	Value any
}

// String is the assignment as --set takes it.
func (s Set) String() string {
	if text, ok := s.Value.(string); ok || s.Value == nil {
		return s.Path + "=" + text
	}
	b, err := yamltree.Encode(s.Value).YAML(true)
	if err != nil {
		return s.Path + "=" + fmt.Sprint(s.Value)
	}
	return s.Path + "=" + strings.TrimSpace(string(b))
}

// value is what is put at the path.
func (s Set) value() (*yamltree.Node, error) {
	text, ok := s.Value.(string)
	if !ok {
		n := yamltree.Encode(s.Value)
		n.Stand(yamltree.Position{Line: 1, Column: len([]rune(s.Path)) + 2, Set: s.String()})
		return n, nil
	}
	return yamltree.Assigned(s.Path, text, noun, s.String())
}

// Make makes a scenario of assignments alone: what it says and nothing else is at their paths. The
// name is the scenario's where none is assigned, and the file's in problems. It opens no file.
func (l *Language) Make(name string, sets []Set) (*Scenario, error) {
	d := &draft{Language: l, src: yamltree.NewSource(name, nil), root: &yamltree.Node{Kind: yamltree.Mapping, At: yamltree.Position{Line: 1, Column: 1}}}
	return d.with(sets)
}

// With makes the scenario anew with assignments over what was written: it does not know what was
// done to its fields since.
func (s *Scenario) With(sets ...Set) (*Scenario, error) {
	d := *s.draft
	d.root = d.root.Clone()
	return d.with(sets)
}

// YAML is what the scenario says, without the comments of its file.
func (s *Scenario) YAML() ([]byte, error) {
	b, err := s.draft.root.YAML(false)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return b, nil
}

func (d *draft) with(sets []Set) (*Scenario, error) {
	if len(sets) > setsMax {
		return nil, fmt.Errorf("scenario %s: %d assignments are more than %d", d.src.File, len(sets), setsMax)
	}
	for _, s := range sets {
		n, err := s.value()
		if err == nil {
			err = d.root.Put(s.Path, n, s.String(), like)
		}
		if err != nil {
			return nil, refused(d.src, err)
		}
	}
	return d.scenario()
}
