package yamltree

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// A Marshaler encodes itself as a tree.
type Marshaler interface{ MarshalTree() *Node }

// Encode returns the tree that decodes to a value. It omits zero fields that are marked omitempty.
func Encode(v any) *Node {
	if v == nil {
		return &Node{}
	}
	return encode(reflect.ValueOf(v))
}

func encode(value reflect.Value) *Node {
	// Text comes first, because quantities are structs or numbers that are written with units.
	if m, ok := value.Interface().(encoding.TextMarshaler); ok &&
		(value.Kind() != reflect.Pointer || !value.IsNil()) {
		if text, err := m.MarshalText(); err == nil {
			return &Node{Kind: Scalar, Text: string(text)}
		}
	}

	if m, ok := value.Interface().(Marshaler); ok {
		return m.MarshalTree()
	}

	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return &Node{}
		}
		return encode(value.Elem())
	case reflect.Struct:
		n := &Node{Kind: Mapping}
		n.fields(value)
		return n
	case reflect.Slice:
		n := &Node{Kind: Sequence}
		if IsKeyed(value.Type()) {
			n.Kind = Mapping
		}

		for i := range value.Len() {
			if n.Kind == Mapping {
				n.Entries = append(n.Entries, Entry{Key: value.Index(i).Field(0).String(),
					Value: encode(value.Index(i).Field(1))})
				continue
			}
			n.Items = append(n.Items, encode(value.Index(i)))
		}

		return n
	}

	return &Node{Kind: Scalar, Text: fmt.Sprint(value.Interface())}
}

func (n *Node) fields(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch name, inline := FieldName(f); {
		case inline:
			n.fields(v.Field(i))
		case name == "" || strings.HasSuffix(f.Tag.Get("yaml"), ",omitempty") && v.Field(i).IsZero():
		default:
			n.Entries = append(n.Entries, Entry{Key: name, Value: encode(v.Field(i))})
		}
	}
}

// SetPosition sets the position of a tree and of everything in it.
func (n *Node) SetPosition(at Position) {
	n.At = at
	for i := range n.Entries {
		n.Entries[i].At = at
		n.Entries[i].Value.SetPosition(at)
	}
	for _, item := range n.Items {
		item.SetPosition(at)
	}
}

// Clone returns a deep copy.
func (n *Node) Clone() *Node {
	out := *n
	out.Entries, out.Items = nil, nil
	for _, e := range n.Entries {
		out.Entries = append(out.Entries, Entry{e.Key, e.At, e.Value.Clone()})
	}
	for _, item := range n.Items {
		out.Items = append(out.Items, item.Clone())
	}
	return &out
}

// YAML formats the tree as text, in block style or in one line.
func (n *Node) YAML(flow bool) ([]byte, error) {
	return yaml.MarshalWithOptions(n.plain(), yaml.Flow(flow), yaml.IndentSequence(true))
}

// plain converts the tree to the YAML library's types.
func (n *Node) plain() any {
	switch n.Kind {
	case Mapping:
		out := yaml.MapSlice{}
		for _, e := range n.Entries {
			out = append(out, yaml.MapItem{Key: e.Key, Value: e.Value.plain()})
		}
		return out
	case Sequence:
		out := make([]any, len(n.Items))
		for i, item := range n.Items {
			out[i] = item.plain()
		}
		return out
	case Scalar:
		return scalarOf(n.Text)
	}

	return nil
}

// scalarOf returns the value that the library writes so that it reads back as the text: a number or
// a boolean if the text is its canonical form, otherwise the text.
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
