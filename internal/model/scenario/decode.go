package scenario

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

// A decoder puts a tree into Go values and notes what does not fit, all of it.
type decoder struct {
	language *Language
	problems []placed
	chosen   []Chosen // the engines that the tree names, in the language's order
}

// A placed problem has its position already.
type placed struct {
	diagnostics.Problem
	at     position
	noSuch bool // it is about a key that does not exist
}

func (d *decoder) fail(field string, at position, format string, args ...any) {
	d.problems = append(d.problems, placed{diagnostics.Problem{Field: field, Text: fmt.Sprintf(format, args...)}, at, false})
}

// decode puts n into v, which can be set.
func (d *decoder) decode(n *node, v reflect.Value, field string) {
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			p.Elem().Set(v.Elem())
		}
		d.decode(n, p.Elem(), field)
		v.Set(p)
		return
	}
	if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if d.isScalar(n, field) {
			if err := text.UnmarshalText([]byte(n.text)); err != nil {
				d.fail(field, n.at, "%v", err)
			}
		}
		return
	}
	if v.Type() == reflect.TypeFor[Chosen]() {
		d.engines(n, field)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.mapping(n, v, field)
	case reflect.Slice:
		if isKeyed(v.Type()) {
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

func (d *decoder) isScalar(n *node, field string) bool {
	if n.kind != scalar {
		d.fail(field, n.at, "wants a value and has %s", n.kind)
	}
	return n.kind == scalar
}

func (d *decoder) scalar(n *node, v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(n.text)
	case reflect.Bool:
		switch strings.ToLower(n.text) {
		case "true", "on", "yes":
			v.SetBool(true)
		case "false", "off", "no":
			v.SetBool(false)
		default:
			d.fail(field, n.at, "%q is neither true nor false", n.text)
		}
	case reflect.Int, reflect.Int64:
		x, err := strconv.ParseInt(strings.ReplaceAll(n.text, "_", ""), 10, 64)
		if err != nil {
			d.fail(field, n.at, "%q is not a whole number", n.text)
			return
		}
		v.SetInt(x)
	case reflect.Uint64:
		x, err := strconv.ParseUint(strings.ReplaceAll(n.text, "_", ""), 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			d.fail(field, n.at, "%s is more than %d", n.text, uint64(math.MaxUint64))
			return
		}
		if err != nil {
			d.fail(field, n.at, "%q is not a whole number from 0 on", n.text)
			return
		}
		v.SetUint(x)
	case reflect.Float64:
		x, err := strconv.ParseFloat(n.text, 64)
		if err != nil || x != x || x-x != 0 {
			d.fail(field, n.at, "%q is not a number", n.text)
			return
		}
		v.SetFloat(x)
	default:
		panic("scenario: a field of " + v.Type().String()) // a mistake of this program, met by its tests
	}
}

func (d *decoder) list(n *node, v reflect.Value, field string) {
	switch {
	case n.kind == null:
		return
	case n.kind != sequence:
		d.fail(field, n.at, "wants a list and has %s", n.kind)
		return
	case len(n.items) > listMax:
		d.fail(field, n.at, "%d items are more than %d", len(n.items), listMax)
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		d.decode(item, out.Index(i), fmt.Sprintf("%s[%d]", field, i))
	}
	v.Set(out)
}

func isKeyed(t reflect.Type) bool { return strings.HasPrefix(t.Name(), "Keyed[") }

func (d *decoder) keyed(n *node, v reflect.Value, field string) {
	switch {
	case n.kind == null:
		return
	case n.kind != mapping:
		d.fail(field, n.at, "wants a mapping of names and has %s", n.kind)
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.entries), len(n.entries))
	for i, e := range n.entries {
		out.Index(i).Field(0).SetString(e.key)
		d.decode(e.value, out.Index(i).Field(1), join(field, e.key))
	}
	v.Set(out)
}

func join(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}

// engines decodes the engines that are named; the checker refuses all but one.
func (d *decoder) engines(n *node, field string) {
	keys := d.language.keys()
	if !d.isMapping(n, keys, field) {
		return
	}
	configs := map[string]Config{}
	for _, e := range n.entries {
		i := slices.Index(keys, e.key)
		if i < 0 {
			d.unknown(e, keys, field)
			continue
		}
		cfg := d.language.engines[i].NewConfig()
		d.decode(e.value, reflect.ValueOf(cfg).Elem(), join(field, e.key))
		configs[e.key] = cfg
	}
	for i, key := range keys {
		if cfg, ok := configs[key]; ok {
			d.chosen = append(d.chosen, Chosen{d.language.engines[i], cfg, d.language.all})
		}
	}
}

// isMapping tells whether there are keys to decode: a part that is there and says nothing is its defaults.
func (d *decoder) isMapping(n *node, keys []string, field string) bool {
	if n.kind != null && n.kind != mapping {
		d.fail(field, n.at, "wants a mapping of %s and has %s", strings.Join(some(keys), ", "), n.kind)
	}
	return n.kind == mapping
}

// mapping decodes a struct.
func (d *decoder) mapping(n *node, v reflect.Value, field string) {
	if !d.isMapping(n, keysOf(v.Type()), field) {
		return
	}
	for _, e := range n.entries {
		f, ok := fieldOf(v, e.key)
		if !ok {
			d.unknown(e, keysOf(v.Type()), field)
			continue
		}
		d.decode(e.value, f, join(field, e.key))
	}
}

func (d *decoder) unknown(e entry, known []string, field string) {
	p := diagnostics.Problem{Field: join(field, e.key), Text: "there is no such key"}
	if near := diagnostics.Nearest(e.key, known); near != "" {
		p.Text += "; did you mean " + near + "?"
	} else {
		p.Text += ": " + strings.Join(some(known), ", ")
	}
	d.problems = append(d.problems, placed{p, e.at, true})
}

// some shortens a list of keys.
func some(keys []string) []string {
	const shown = 30
	if len(keys) > shown {
		return append(slices.Clone(keys[:shown]), "...")
	}
	return keys
}

// yamlName is a field's key, "" if it has none, and whether its fields are its parent's.
func yamlName(f reflect.StructField) (name string, inline bool) {
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
		switch name, inline := yamlName(f); {
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
		name, inline := yamlName(v.Type().Field(i))
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
