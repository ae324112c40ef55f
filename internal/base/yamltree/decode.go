package yamltree

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/inputerror"
)

// listMax bounds the entries of a list.
const listMax = 10_000

// A Decoder puts a tree into Go values and collects all problems.
type Decoder struct {
	Problems []Placed
	// Special, if not nil, decodes the types that it supports, and reports whether v has one of them.
	Special func(n *Node, v reflect.Value, field string) bool
}

// A Placed is a problem with its position.
type Placed struct {
	inputerror.Problem
	At     Position
	NoSuch bool // about an unknown key
}

// Fail adds a problem at a position.
func (d *Decoder) Fail(field string, at Position, format string, args ...any) {
	d.Problems = append(d.Problems,
		Placed{inputerror.Problem{Field: field, Text: fmt.Sprintf(format, args...)}, at, false})
}

// Decode puts n into v, which must be settable.
func (d *Decoder) Decode(n *Node, v reflect.Value, field string) {
	if v.Kind() == reflect.Pointer {
		// The current value is kept where the text sets only some of its fields.
		p := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			p.Elem().Set(v.Elem())
		}
		d.Decode(n, p.Elem(), field)
		v.Set(p)
		return
	}

	if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if d.isScalar(n, field) {
			if err := text.UnmarshalText([]byte(n.Text)); err != nil {
				d.Fail(field, n.At, "%v", err)
			}
		}
		return
	}

	if d.Special != nil && d.Special(n, v, field) {
		return
	}

	switch v.Kind() {
	case reflect.Struct:
		d.mapping(n, v, field)
	case reflect.Slice:
		if IsKeyed(v.Type()) {
			d.keyed(n, v, field)
			return
		}
		d.list(n, v, field)
	default:
		if d.isScalar(n, field) {
			d.scalar(n, v, field)
		}
	}
}

func (d *Decoder) isScalar(n *Node, field string) bool {
	if n.Kind != Scalar {
		d.Fail(field, n.At, "want a value, got %s", n.Kind)
	}
	return n.Kind == Scalar
}

func (d *Decoder) scalar(node *Node, value reflect.Value, field string) {
	switch value.Kind() {
	case reflect.String:
		value.SetString(node.Text)
	case reflect.Bool:
		switch strings.ToLower(node.Text) {
		case "true", "on", "yes":
			value.SetBool(true)
		case "false", "off", "no":
			value.SetBool(false)
		default:
			d.Fail(field, node.At, "%q is neither true nor false", node.Text)
		}
	case reflect.Int, reflect.Int64:
		x, err := strconv.ParseInt(strings.ReplaceAll(node.Text, "_", ""), 10, 64)
		if err != nil {
			d.Fail(field, node.At, "%q is not a whole number", node.Text)
			return
		}
		value.SetInt(x)
	case reflect.Uint64:
		x, err := strconv.ParseUint(strings.ReplaceAll(node.Text, "_", ""), 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			d.Fail(field, node.At, "%s is too large: want at most %d", node.Text, uint64(math.MaxUint64))
			return
		}
		if err != nil {
			d.Fail(field, node.At, "%q is not a whole number: want 0 or more", node.Text)
			return
		}
		value.SetUint(x)
	case reflect.Float64:
		x, err := strconv.ParseFloat(node.Text, 64)
		if err != nil || x != x || x-x != 0 {
			d.Fail(field, node.At, "%q is not a number", node.Text)
			return
		}
		value.SetFloat(x)
	default:
		panic("yamltree: unsupported field type " + value.Type().String()) // a bug, which tests find
	}
}

func (d *Decoder) list(n *Node, v reflect.Value, field string) {
	switch {
	case n.Kind == Null:
		return
	case n.Kind != Sequence:
		d.Fail(field, n.At, "want a list, got %s", n.Kind)
		return
	case len(n.Items) > listMax:
		d.Fail(field, n.At, "%d items: want at most %d", len(n.Items), listMax)
		return
	}

	out := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		d.Decode(item, out.Index(i), fmt.Sprintf("%s[%d]", field, i))
	}

	v.Set(out)
}

// IsKeyed reports whether a type is a [Keyed].
func IsKeyed(t reflect.Type) bool { return strings.HasPrefix(t.Name(), "Keyed[") }

func (d *Decoder) keyed(n *Node, v reflect.Value, field string) {
	switch {
	case n.Kind == Null:
		return
	case n.Kind != Mapping:
		d.Fail(field, n.At, "want a mapping of names, got %s", n.Kind)
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Entries), len(n.Entries))
	for i, e := range n.Entries {
		out.Index(i).Field(0).SetString(e.Key)
		d.Decode(e.Value, out.Index(i).Field(1), Join(field, e.Key))
	}
	v.Set(out)
}

// Join returns the path of a key below a field.
func Join(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}

// IsMapping reports whether there are keys to decode. An empty part is valid and leaves the
// defaults.
func (d *Decoder) IsMapping(n *Node, keys []string, field string) bool {
	if n.Kind != Null && n.Kind != Mapping {
		d.Fail(field, n.At, "want a mapping of %s, got %s", strings.Join(firstKeys(keys), ", "), n.Kind)
	}
	return n.Kind == Mapping
}

// mapping decodes a struct.
func (d *Decoder) mapping(n *Node, v reflect.Value, field string) {
	if !d.IsMapping(n, Keys(v.Type()), field) {
		return
	}
	for _, e := range n.Entries {
		f, ok := Field(v, e.Key)
		if !ok {
			d.Unknown(e, Keys(v.Type()), field)
			continue
		}
		d.Decode(e.Value, f, Join(field, e.Key))
	}
}

// Unknown adds a problem about an unknown key.
func (d *Decoder) Unknown(e Entry, known []string, field string) {
	p := inputerror.Problem{Field: Join(field, e.Key), Text: "unknown key"}
	if near := inputerror.Nearest(e.Key, known); near != "" {
		p.Text += "; did you mean " + near + "?"
	} else {
		p.Text += "; known keys: " + strings.Join(firstKeys(known), ", ")
	}
	d.Problems = append(d.Problems, Placed{p, e.At, true})
}

// firstKeys shortens a list of keys for a message.
func firstKeys(keys []string) []string {
	const shown = 30
	if len(keys) > shown {
		return append(slices.Clone(keys[:shown]), "...")
	}
	return keys
}

// FieldName returns the YAML key of a field, "" if it has none, and whether its own fields belong
// to the parent's mapping.
func FieldName(f reflect.StructField) (name string, inline bool) {
	tag := f.Tag.Get("yaml")
	name, options, _ := strings.Cut(tag, ",")
	if name == "-" || !f.IsExported() {
		return "", false
	}
	return name, name == "" && strings.Contains(options, "inline")
}

// Keys returns the keys of a struct.
func Keys(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		switch name, inline := FieldName(f); {
		case inline:
			out = append(out, Keys(f.Type)...)
		case name != "":
			out = append(out, name)
		}
	}
	return out
}

// Field returns the field of a struct that has a YAML key.
func Field(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		name, inline := FieldName(v.Type().Field(i))
		if inline {
			if f, ok := Field(v.Field(i), key); ok {
				return f, true
			}
		}
		if name == key && name != "" {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}
