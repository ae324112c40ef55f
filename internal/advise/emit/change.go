package emit

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/yamltree"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// A Change is one value that differs in the new layout.
type Change struct {
	Path string `json:"path"` // in the scenario: "volumes.data.iops"
	// in the scenario's syntax; "": not set, or the product's default
	From string `json:"from"`
	To   string `json:"to"`
}

// String formats the change for comments.
func (c Change) String() string {
	return oneLine(fmt.Sprintf("%s: from %s to %s", c.Path, said(c.From), said(c.To)))
}

func said(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

// within reports whether the change is at a path or below it.
func (c Change) within(path string) bool {
	rest, ok := strings.CutPrefix(c.Path, path)
	return ok && (rest == "" || rest[0] == '.')
}

// compare returns the differences between two scenarios that affect the deployment. The length of a run,
// its seed and its objectives do not.
func compare(before, after *scenario.Scenario) []Change {
	var out []Change
	walk(reflect.ValueOf(*before), reflect.ValueOf(*after), "", false, func(c Change) {
		// These keys describe the simulation, not the deployment.
		for _, ours := range []string{"plimsoll", "name", "seed", "run", "objective"} {
			if c.within(ours) {
				return
			}
		}
		out = append(out, c)
	})
	return out
}

// walk compares two values of a type and calls report for each leaf that differs. optional: a zero value
// means not set.
func walk(before, after reflect.Value, path string, optional bool, report func(Change)) {
	leaf := func(from, to string) {
		if optional && before.IsZero() {
			from = ""
		}
		if optional && after.IsZero() {
			to = ""
		}
		if from != to {
			report(Change{path, from, to})
		}
	}

	// Quantities are compared as text, because that is what the files and comments show.
	if from, ok := text(before); ok {
		to, _ := text(after)
		leaf(from, to)
		return
	}

	switch before.Kind() {
	case reflect.Pointer:
		switch {
		case before.IsNil() && after.IsNil():
		case !before.IsNil() && !after.IsNil():
			walk(before.Elem(), after.Elem(), path, false, report)
		default:
			report(Change{path, shown(before), shown(after)})
		}
	case reflect.Struct:
		// both sides have the same engine: NewTransition has checked that
		if b, ok := before.Interface().(scenario.Chosen); ok {
			a, _ := after.Interface().(scenario.Chosen)
			walk(reflect.ValueOf(b.Config), reflect.ValueOf(a.Config), yamltree.Join(path, b.Name()), false, report)
			return
		}
		for i := range before.NumField() {
			f := before.Type().Field(i)
			switch key, inline := yamltree.FieldName(f); {
			case inline: // its fields share their parent's path
				walk(before.Field(i), after.Field(i), path, false, report)
			case key != "":
				walk(before.Field(i), after.Field(i), yamltree.Join(path, key),
					strings.Contains(f.Tag.Get("yaml"), "omitempty"), report)
			}
		}
	case reflect.Slice:
		if yamltree.IsKeyed(before.Type()) {
			walkKeyed(before, after, path, report)
		} else if !reflect.DeepEqual(before.Interface(), after.Interface()) {
			report(Change{path, shown(before), shown(after)})
		}
	default:
		leaf(fmt.Sprint(before.Interface()), fmt.Sprint(after.Interface()))
	}
}

// walkKeyed compares ordered mappings of a scenario entry by entry.
func walkKeyed(before, after reflect.Value, path string, report func(Change)) {
	find := func(v reflect.Value, name string) (reflect.Value, bool) {
		for i := range v.Len() {
			if v.Index(i).Field(0).String() == name {
				return v.Index(i).Field(1), true
			}
		}
		return reflect.Zero(v.Type().Elem().Field(1).Type), false
	}

	var all []string
	for _, v := range []reflect.Value{before, after} {
		for i := range v.Len() {
			all = union(all, []string{v.Index(i).Field(0).String()})
		}
	}

	for _, name := range all {
		b, hadOne := find(before, name)
		a, hasOne := find(after, name)
		// A volume that appears or disappears is one change, not one per field.
		if _, order := b.Interface().(catalog.Order); order && hadOne != hasOne {
			report(Change{yamltree.Join(path, name), shown(b), shown(a)})
			continue
		}
		walk(b, a, yamltree.Join(path, name), false, report)
	}
}

// text formats a quantity in the scenario's syntax.
func text(v reflect.Value) (string, bool) {
	m, ok := v.Interface().(encoding.TextMarshaler)
	if !ok || v.Kind() == reflect.Pointer {
		return "", false
	}
	b, err := m.MarshalText()
	if err != nil {
		return "", false
	}
	if _, duration := v.Interface().(units.Duration); duration {
		return plainly(string(b)), true
	}
	return string(b), true
}

// plainly formats a duration in the scenario's syntax: 5m for 5m0s, 100us for 100µs.
func plainly(d string) string {
	d = strings.ReplaceAll(d, "µs", "us")
	for _, none := range []string{"m0s", "h0m"} {
		if rest, ok := strings.CutSuffix(d, none); ok {
			d = rest + none[:1]
		}
	}
	return d
}

// shown formats a value that either exists as a whole or not at all.
func shown(v reflect.Value) string {
	if v.IsZero() {
		return ""
	}

	if o, ok := v.Interface().(catalog.Order); ok {
		return o.String()
	}

	if v.Kind() == reflect.Pointer {
		if s, leaf := text(v.Elem()); leaf {
			return s
		}
		v = v.Elem()
	}

	if v.Kind() == reflect.Bool {
		return fmt.Sprint(v.Bool())
	}

	return "other"
}
