package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/yamltree"
)

// A ConfigKey maps a setting's name in the engine's own configuration to the scenario's name, so that
// users can paste lines of that configuration into a scenario.
type ConfigKey struct {
	// Name is the name in the engine's configuration: "storage.wiredTiger.engineConfig.cacheSizeGB".
	// Its last part alone is accepted as well.
	Name string
	// Key is the scenario's name; "" if the model does not use the setting, which is then ignored with
	// a warning.
	Key string
	// Unit is the unit of a number without one, and Times its multiple: KiB and 8 for pages of 8 KiB.
	Unit  string
	Times int64
}

// value writes a value in the scenario's notation.
func (k *ConfigKey) value(text string) string {
	if k.Unit == "" {
		return text
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text // it has a unit, or is wrong: decoding reports that
	}
	return strconv.FormatFloat(x*float64(max(k.Times, 1)), 'f', -1, 64) + k.Unit
}

// named returns the setting with a name, or with a name that ends in it.
func (e *Engine) named(name string) *ConfigKey {
	for i := range e.ConfigKeys {
		if k := &e.ConfigKeys[i]; strings.EqualFold(k.Name, name) {
			return k
		}
	}
	for i := range e.ConfigKeys {
		k := &e.ConfigKeys[i]
		if len(k.Name) > len(name) && strings.EqualFold(k.Name[len(k.Name)-len(name)-1:], "."+name) {
			return k
		}
	}
	return nil
}

// within reports whether a name is a prefix of settings: "storage.wiredTiger".
func (e *Engine) within(name string) bool {
	return slices.ContainsFunc(e.ConfigKeys, func(k ConfigKey) bool {
		return len(k.Name) > len(name) && strings.EqualFold(k.Name[:len(name)+1], name+".")
	})
}

// configNames returns the settings' names in the engine's configuration.
func (e *Engine) configNames() []string {
	out := make([]string, len(e.ConfigKeys))
	for i, k := range e.ConfigKeys {
		out[i] = k.Name
	}
	return out
}

// canonicalPath replaces an engine's alias in the path of an assignment.
func (l *Language) canonicalPath(path string) string {
	rest, is := strings.CutPrefix(strings.TrimSpace(path), "engine.")
	if !is {
		return path
	}
	name, below, more := strings.Cut(rest, ".")
	for _, e := range l.able {
		if slices.Contains(e.Aliases, name) {
			name = e.Key
		}
	}
	if more {
		return "engine." + name + "." + below
	}
	return "engine." + name
}

// rename replaces engines' aliases in a tree. An alias next to the name itself stays, and is reported as a
// second engine.
func (l *Language) rename(root *yamltree.Node) {
	at := root.Find("engine")
	if at == nil || at.Value == nil {
		return
	}
	for _, e := range l.able {
		for i := range at.Value.Entries {
			entry := &at.Value.Entries[i]
			if slices.Contains(e.Aliases, entry.Key) && at.Value.Find(e.Key) == nil {
				entry.Key = e.Key
			}
		}
	}
}

// A translator replaces names from an engine's configuration with the scenario's names.
type translator struct {
	engine *Engine
	keys   []string // of the settings in scenarios
	field  string   // "engine.mongodb"
	// ignored are settings that the model does not use, and problems are those that cannot be
	// translated.
	ignored  inputerror.List
	problems []yamltree.Placed
}

func newTranslator(e *Engine, cfg Config) *translator {
	return &translator{engine: e, keys: yamltree.Keys(reflect.TypeOf(cfg).Elem()), field: "engine." + e.Key}
}

// settings translates a mapping of settings in place.
func (t *translator) settings(n *yamltree.Node) {
	if n == nil || n.Kind != yamltree.Mapping || len(t.engine.ConfigKeys) == 0 {
		return
	}

	var out []yamltree.Entry
	t.below("", n.Entries, &out)
	n.Entries = out
}

// below translates entries whose names are below a prefix.
func (t *translator) below(prefix string, entries []yamltree.Entry, out *[]yamltree.Entry) {
	for _, e := range entries {
		name := yamltree.Join(prefix, e.Key)
		k := t.engine.named(name)
		switch {
		// The scenario's own key takes precedence, even if an engine setting's name begins with it.
		case slices.Contains(t.keys, name) && (k == nil || k.Key != name):
			*out = append(*out, e)
		case k != nil && k.Key == "":
			t.ignored = append(t.ignored, inputerror.Problem{Field: t.field + "." + name,
				Text: "the model does not use it: ignored"})
		case k != nil:
			t.one(k, e, out)
		case e.Value != nil && e.Value.Kind == yamltree.Mapping && t.engine.within(name):
			t.below(name, e.Value.Entries, out)
		default:
			e.Key = name
			t.unknown(e, out)
		}
	}
}

// one translates one setting.
func (t *translator) one(k *ConfigKey, e yamltree.Entry, out *[]yamltree.Entry) {
	given := func(x yamltree.Entry) bool { return x.Key == k.Key }
	if slices.ContainsFunc(*out, given) {
		t.problems = append(t.problems, yamltree.Placed{At: e.At, Problem: inputerror.Problem{
			Field: t.field + "." + e.Key, Text: fmt.Sprintf("the same setting as %s, which is given as well", k.Key)}})
		return
	}
	e.Key = k.Key
	if e.Value != nil && e.Value.Kind == yamltree.Scalar {
		v := *e.Value
		v.Text = k.value(v.Text)
		e.Value = &v
	}
	*out = append(*out, e)
}

// unknown keeps an unknown key, which decoding reports, or suggests a name of the engine's configuration.
func (t *translator) unknown(e yamltree.Entry, out *[]yamltree.Entry) {
	near := ""
	if inputerror.Nearest(e.Key, t.keys) == "" {
		near = inputerror.Nearest(e.Key, t.engine.configNames())
	}
	if near == "" {
		*out = append(*out, e)
		return
	}
	t.problems = append(t.problems, yamltree.Placed{At: e.At, NoSuch: true, Problem: inputerror.Problem{
		Field: t.field + "." + e.Key, Text: "unknown key; did you mean " + near + "?"}})
}
