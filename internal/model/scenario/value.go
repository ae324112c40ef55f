package scenario

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
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
	b, err := yaml.MarshalWithOptions(encode(reflect.ValueOf(s.Value)).plain(), yaml.Flow(true))
	if err != nil {
		return s.Path + "=" + fmt.Sprint(s.Value)
	}
	return s.Path + "=" + strings.TrimSpace(string(b))
}

// value is what is put at the path.
func (s Set) value() (*node, error) {
	text, ok := s.Value.(string)
	if !ok {
		n := &node{}
		if s.Value != nil {
			n = encode(reflect.ValueOf(s.Value))
		}
		n.stand(position{line: 1, column: len([]rune(s.Path)) + 2, set: s.String()})
		return n, nil
	}
	return assigned(s.Path, text, s.String())
}

// Make makes a scenario of assignments alone: what it says and nothing else is at their paths. The
// name is the scenario's where none is assigned, and the file's in problems. It opens no file.
func (l *Language) Make(name string, sets []Set) (*Scenario, error) {
	d := &draft{Language: l, src: newSource(name, nil), root: &node{kind: mapping, at: position{line: 1, column: 1}}}
	return d.with(sets)
}

// With makes the scenario anew with assignments over what was written: it does not know what was done to its fields since.
func (s *Scenario) With(sets ...Set) (*Scenario, error) {
	d := *s.draft
	d.root = d.root.clone()
	return d.with(sets)
}

// YAML is what the scenario says, without the comments of its file.
func (s *Scenario) YAML() ([]byte, error) {
	b, err := yaml.MarshalWithOptions(s.draft.root.plain(), yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return b, nil
}

func (d *draft) with(sets []Set) (*Scenario, error) {
	if len(sets) > setsMax {
		return nil, fmt.Errorf("scenario %s: %d assignments are more than %d", d.src.file, len(sets), setsMax)
	}
	for _, s := range sets {
		n, err := s.value()
		if err == nil {
			err = d.root.put(s.Path, n, s.String())
		}
		if err != nil {
			return nil, d.src.refused(err)
		}
	}
	return d.scenario()
}

// encode makes the tree that decodes to a value. A field that may be left out is left out where it is zero.
func encode(v reflect.Value) *node {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		if text, err := m.MarshalText(); err == nil {
			return &node{kind: scalar, text: string(text)}
		}
	}
	if e, ok := v.Interface().(Chosen); ok {
		return &node{kind: mapping, entries: []entry{{key: e.Name(), value: encode(reflect.ValueOf(e.Config))}}}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return &node{}
		}
		return encode(v.Elem())
	case reflect.Struct:
		n := &node{kind: mapping}
		n.fields(v)
		return n
	case reflect.Slice:
		n := &node{kind: sequence}
		if isKeyed(v.Type()) {
			n.kind = mapping
		}
		for i := range v.Len() {
			if n.kind == mapping {
				n.entries = append(n.entries, entry{key: v.Index(i).Field(0).String(), value: encode(v.Index(i).Field(1))})
				continue
			}
			n.items = append(n.items, encode(v.Index(i)))
		}
		return n
	}
	return &node{kind: scalar, text: fmt.Sprint(v.Interface())}
}

func (n *node) fields(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch name, inline := yamlName(f); {
		case inline:
			n.fields(v.Field(i))
		case name == "" || strings.HasSuffix(f.Tag.Get("yaml"), ",omitempty") && v.Field(i).IsZero():
		default:
			n.entries = append(n.entries, entry{key: name, value: encode(v.Field(i))})
		}
	}
}

// stand gives all of a tree one place.
func (n *node) stand(at position) {
	n.at = at
	for i := range n.entries {
		n.entries[i].at = at
		n.entries[i].value.stand(at)
	}
	for _, item := range n.items {
		item.stand(at)
	}
}

func (n *node) clone() *node {
	out := *n
	out.entries, out.items = nil, nil
	for _, e := range n.entries {
		out.entries = append(out.entries, entry{e.key, e.at, e.value.clone()})
	}
	for _, item := range n.items {
		out.items = append(out.items, item.clone())
	}
	return &out
}

// plain is the tree as the YAML library writes it.
func (n *node) plain() any {
	switch n.kind {
	case mapping:
		out := yaml.MapSlice{}
		for _, e := range n.entries {
			out = append(out, yaml.MapItem{Key: e.key, Value: e.value.plain()})
		}
		return out
	case sequence:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.plain()
		}
		return out
	case scalar:
		return scalarOf(n.text)
	}
	return nil
}

// scalarOf is a scalar that reads back as its text: as a number or a truth where that is written as it is.
func scalarOf(text string) any {
	if x, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(x, 10) == text {
		return x
	}
	if x, err := strconv.ParseUint(text, 10, 64); err == nil && strconv.FormatUint(x, 10) == text {
		return x
	}
	switch text {
	case "true":
		return true
	case "false":
		return false
	}
	return text
}
