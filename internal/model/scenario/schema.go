package scenario

import (
	"bytes"
	_ "embed"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/yamltree"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/workload"
)

// fieldsText has the comments of the fields from the source, by type and field. A test generates the
// file and compares it. The engines' settings are in separate files.
//
//go:embed fields.json
var fieldsText []byte

// Schema returns the JSON Schema of scenarios (draft 2020-12), for editors: keys, their meaning, and
// the format of their values. It allows a little more than Parse does, because it does not check
// whether values are compatible.
func (l *Language) Schema() []byte { return bytes.Clone(l.schema()) }

func (l *Language) makeSchema() []byte {
	m := &schemaMaker{language: l, defs: map[string]any{}, docs: map[string]string{},
		engines: map[string]string{}}
	m.readDocs("", fieldsText)

	for _, e := range l.able {
		key := e.Key
		m.engines[reflect.TypeOf(e.NewConfig()).Elem().PkgPath()] = key
		m.readDocs(key+".", e.FieldDocs)
	}

	root := m.object(reflect.TypeFor[Scenario]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Plimsoll scenario"
	root["description"] = "What is deployed: workload, engine, volumes, host, objective."
	root["required"] = []string{"plimsoll", "volumes", "engine", "workload"}
	root["$defs"] = m.defs

	properties, ok := root["properties"].(map[string]any)
	if ok {
		properties["plimsoll"] = map[string]any{"const": Version, "description": "Version of the format."}
	}

	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)

	if err := enc.Encode(root); err != nil {
		panic("scenario: schema: " + err.Error()) // maps and strings only
	}

	return out.Bytes()
}

type schemaMaker struct {
	language *Language
	defs     map[string]any
	docs     map[string]string
	engines  map[string]string // keys by the path of the package that has the settings
}

func (m *schemaMaker) readDocs(prefix string, text []byte) {
	var docs map[string]string
	if err := json.Unmarshal(text, &docs); err != nil {
		panic("scenario: " + prefix + "fields.json: " + err.Error()) // embedded, and tested
	}
	for key, doc := range docs {
		m.docs[prefix+key] = doc
	}
}

// name returns a type's name in definitions: "catalog.Order". For an engine's settings it is
// "etcd.Config", with the engine's key.
func (m *schemaMaker) name(t reflect.Type) string {
	if key, ok := m.engines[t.PkgPath()]; ok {
		return key + "." + t.Name()
	}
	return t.String()
}

// quantities are the schemas of types that are written as text, with an example.
var quantities = map[reflect.Type]map[string]any{
	reflect.TypeFor[units.Size]():       written(`^[0-9][0-9.,_]*\s*([kKMGTP]i?B?|B)?$`, "5GB", "800GiB"),
	reflect.TypeFor[units.Throughput](): written(`^[0-9][0-9.,_]*\s*([kKMGTP]i?B?|B)?/s$`, "125MiB/s"),
	reflect.TypeFor[units.Duration](): written(`^([0-9][0-9.,_]*\s*(ns|us|µs|ms|s|min|m|h|d)?)+$`,
		"60s", "10ms"),
	reflect.TypeFor[units.Frequency](): written(`^[0-9][0-9.,_]*\s*(/(s|min|h|d))?$`, "2000/s"),
	reflect.TypeFor[units.Ratio]():     written(`^[0-9.]+\s*%?$`, "5%", "0.05"),
	reflect.TypeFor[units.USD]():       written(`^\$?[0-9.]+(\s*USD)?$`, "500USD"),
	reflect.TypeFor[catalog.IOPS]():    written(`^[0-9][0-9.,_]*k?(/s)?$`, "16000", "16k"),
	reflect.TypeFor[catalog.Scale]():   written(`^[0-9.]+\s*%?$`, "150%"),
	reflect.TypeFor[workload.Count]():  written(`^[0-9][0-9.,_]*\s*[kMG]?$`, "150k"),
	reflect.TypeFor[random.Seed]():     {"type": "integer", "minimum": 0},
}

func written(pattern string, examples ...string) map[string]any {
	return map[string]any{"type": []string{"string", "number"}, "pattern": pattern, "examples": examples}
}

// of returns the schema of a type.
func (m *schemaMaker) of(t reflect.Type) map[string]any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	if q, ok := quantities[t]; ok {
		return maps.Clone(q)
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return map[string]any{"type": []string{"string", "number"}}
	}

	switch t.Kind() {
	case reflect.Struct:
		name := m.name(t)
		if _, ok := m.defs[name]; !ok {
			m.defs[name] = map[string]any{} // ends the recursion of a type that contains itself
			m.defs[name] = m.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	case reflect.Slice:
		if yamltree.IsKeyed(t) {
			return map[string]any{"type": "object", "additionalProperties": m.of(t.Elem().Field(1).Type)}
		}
		return map[string]any{"type": "array", "items": m.of(t.Elem())}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	}

	return map[string]any{"type": "string"}
}

// words returns the words that a text field accepts, if it accepts only a few.
func words(t reflect.Type, key string) []string {
	switch {
	case t == reflect.TypeFor[catalog.Order]() && key == "type":
		return catalog.TypeNames()
	case t == reflect.TypeFor[workload.Spec]() && key == "preset":
		var names []string
		for _, p := range workload.Presets() {
			names = append(names, p.Name)
		}
		return names
	case key == "filesystem":
		return []string{"xfs", "ext4"}
	}
	return nil
}

func (m *schemaMaker) object(t reflect.Type) map[string]any {
	properties := map[string]any{}
	if t == reflect.TypeFor[Chosen]() {
		for _, e := range m.language.able {
			s := m.of(reflect.TypeOf(e.NewConfig()))
			s["description"] = e.About
			properties[e.Key] = s
			for _, alias := range e.Aliases {
				properties[alias] = map[string]any{"$ref": s["$ref"], "description": "Another name of " + e.Key + "."}
			}
		}
		return map[string]any{
			"type": []string{"object", "null"}, "additionalProperties": false, "properties": properties,
			"minProperties": 1, "maxProperties": 1,
		}
	}

	m.fields(t, properties)
	m.configKeys(t, properties)
	kind := any("object")
	if t != reflect.TypeFor[Scenario]() {
		kind = []string{"object", "null"} // "iris:" alone is its defaults
	}

	return map[string]any{"type": kind, "additionalProperties": false, "properties": properties}
}

// configKeys adds the names that settings have in an engine's own configuration.
func (m *schemaMaker) configKeys(t reflect.Type, properties map[string]any) {
	for _, e := range m.language.able {
		if reflect.TypeOf(e.NewConfig()).Elem() != t {
			continue
		}

		for _, k := range e.ConfigKeys {
			// A nested part of a configuration is an object that only Parse checks.
			first, _, nested := strings.Cut(k.Name, ".")
			if nested && properties[first] == nil {
				properties[first] = map[string]any{"type": "object",
					"description": "As in " + e.Product + "'s configuration."}
			}
			if properties[k.Name] != nil {
				continue
			}
			about := "The engine's own name of " + k.Key + "."
			if k.Key == "" {
				about = "Accepted, and ignored: the model does not use it."
			}
			properties[k.Name] = map[string]any{"description": about}
		}
	}
}

func (m *schemaMaker) fields(t reflect.Type, into map[string]any) {
	for f := range t.Fields() {
		name, inline := yamltree.FieldName(f)
		if inline {
			m.fields(f.Type, into)
			continue
		}

		if name == "" {
			continue
		}

		s := m.of(f.Type)
		if w := words(t, name); w != nil {
			s["enum"] = w
			if name == "type" {
				delete(s, "enum") // other names and capitals are accepted as well
				s["examples"] = w
			}
		}

		if doc := m.docs[m.name(t)+"."+f.Name]; doc != "" {
			s["description"] = strings.TrimSpace(doc)
		}

		into[name] = s
	}
}
