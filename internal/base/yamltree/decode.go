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

	"plimsoll/internal/base/diagnostics"
)

// listMax bounds a list or a mapping.
const listMax = 10_000

// A Decoder puts a tree into Go values and notes what does not fit, all of it.
type Decoder struct {
	Problems []Placed
	// Special, if not nil, decodes types of its own, and says whether a value's is one.
	Special func(n *Node, v reflect.Value, field string) bool
}

// A Placed problem has its Position already.
type Placed struct {
	diagnostics.Problem
	At     Position
	NoSuch bool // it is about a key that does not exist
}

// Fail notes what is wrong at a place.
func (d *Decoder) Fail(field string, at Position, format string, args ...any) {
	d.Problems = append(d.Problems,
		Placed{diagnostics.Problem{Field: field, Text: fmt.Sprintf(format, args...)}, at, false})
}

// Decode puts n into v, which can be set.
func (d *Decoder) Decode(n *Node, v reflect.Value, field string) {
	if v.Kind() == reflect.Pointer {
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
		d.Fail(field, n.At, "wants a value and has %s", n.Kind)
	}
	return n.Kind == Scalar
}

func (d *Decoder) scalar(n *Node, v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(n.Text)
	case reflect.Bool:
		switch strings.ToLower(n.Text) {
		case "true", "on", "yes":
			v.SetBool(true)
		case "false", "off", "no":
			v.SetBool(false)
		default:
			d.Fail(field, n.At, "%q is neither true nor false", n.Text)
		}
	case reflect.Int, reflect.Int64:
		x, err := strconv.ParseInt(strings.ReplaceAll(n.Text, "_", ""), 10, 64)
		if err != nil {
			d.Fail(field, n.At, "%q is not a whole number", n.Text)
			return
		}
		v.SetInt(x)
	case reflect.Uint64:
		x, err := strconv.ParseUint(strings.ReplaceAll(n.Text, "_", ""), 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			d.Fail(field, n.At, "%s is more than %d", n.Text, uint64(math.MaxUint64))
			return
		}
		if err != nil {
			d.Fail(field, n.At, "%q is not a whole number from 0 on", n.Text)
			return
		}
		v.SetUint(x)
	case reflect.Float64:
		x, err := strconv.ParseFloat(n.Text, 64)
		if err != nil || x != x || x-x != 0 {
			d.Fail(field, n.At, "%q is not a number", n.Text)
			return
		}
		v.SetFloat(x)
	default:
		panic("yamltree: a field of " + v.Type().String()) // a mistake of this program, met by its tests
	}
}

func (d *Decoder) list(n *Node, v reflect.Value, field string) {
	switch {
	case n.Kind == Null:
		return
	case n.Kind != Sequence:
		d.Fail(field, n.At, "wants a list and has %s", n.Kind)
		return
	case len(n.Items) > listMax:
		d.Fail(field, n.At, "%d items are more than %d", len(n.Items), listMax)
		return
	}

	out := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		d.Decode(item, out.Index(i), fmt.Sprintf("%s[%d]", field, i))
	}

	v.Set(out)
}

// IsKeyed tells whether a type is a [Keyed].
func IsKeyed(t reflect.Type) bool { return strings.HasPrefix(t.Name(), "Keyed[") }

func (d *Decoder) keyed(n *Node, v reflect.Value, field string) {
	switch {
	case n.Kind == Null:
		return
	case n.Kind != Mapping:
		d.Fail(field, n.At, "wants a mapping of names and has %s", n.Kind)
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Entries), len(n.Entries))
	for i, e := range n.Entries {
		out.Index(i).Field(0).SetString(e.Key)
		d.Decode(e.Value, out.Index(i).Field(1), Join(field, e.Key))
	}
	v.Set(out)
}

// Join is the path of a key below a field.
func Join(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}

// IsMapping tells whether there are keys to decode: a part that is there and says nothing is its
// defaults.
func (d *Decoder) IsMapping(n *Node, keys []string, field string) bool {
	if n.Kind != Null && n.Kind != Mapping {
		d.Fail(field, n.At, "wants a mapping of %s and has %s", strings.Join(some(keys), ", "), n.Kind)
	}
	return n.Kind == Mapping
}

// mapping decodes a struct.
func (d *Decoder) mapping(n *Node, v reflect.Value, field string) {
	if !d.IsMapping(n, keysOf(v.Type()), field) {
		return
	}
	for _, e := range n.Entries {
		f, ok := fieldOf(v, e.Key)
		if !ok {
			d.Unknown(e, keysOf(v.Type()), field)
			continue
		}
		d.Decode(e.Value, f, Join(field, e.Key))
	}
}

// Unknown notes a key that does not exist.
func (d *Decoder) Unknown(e Entry, known []string, field string) {
	p := diagnostics.Problem{Field: Join(field, e.Key), Text: "there is no such key"}
	if near := diagnostics.Nearest(e.Key, known); near != "" {
		p.Text += "; did you mean " + near + "?"
	} else {
		p.Text += ": " + strings.Join(some(known), ", ")
	}
	d.Problems = append(d.Problems, Placed{p, e.At, true})
}

// some shortens a list of keys.
func some(keys []string) []string {
	const shown = 30
	if len(keys) > shown {
		return append(slices.Clone(keys[:shown]), "...")
	}
	return keys
}

// FieldName is a field's key, "" if it has none, and whether its fields are its parent's.
func FieldName(f reflect.StructField) (name string, inline bool) {
	tag := f.Tag.Get("yaml")
	name, options, _ := strings.Cut(tag, ",")
	if name == "-" || !f.IsExported() {
		return "", false
	}
	return name, name == "" && strings.Contains(options, "inline")
}

func keysOf(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		switch name, inline := FieldName(f); {
		case inline:
			out = append(out, keysOf(f.Type)...)
		case name != "":
			out = append(out, name)
		}
	}
	return out
}

func fieldOf(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		name, inline := FieldName(v.Type().Field(i))
		if inline {
			if f, ok := fieldOf(v.Field(i), key); ok {
				return f, true
			}
		}
		if name == key && name != "" {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}
