package fleet_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/judge/fleet"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// The schema describes exactly the fields of the contract, and a real report conforms to it.
func TestSchema(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(fleet.Schema(), &root); err != nil {
		t.Fatal(err)
	}

	defs := root["$defs"].(map[string]any)
	for name, of := range map[string]any{"": fleet.Report{}, "group": fleet.Group{}, "fix": fleet.FleetFix{}, "price": fleet.Price{},
		"database": fleet.Database{}, "finding": fleet.Finding{}, "missing": fleet.Missing{}} {
		object := root
		if name != "" {
			object = defs[name].(map[string]any)
		}

		var want []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && !f.Anonymous && tag != "-" {
				want = append(want, tag)
			}
		}

		var got []string
		for k := range object["properties"].(map[string]any) {
			got = append(got, k)
		}

		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Errorf("%q: the schema has %v, the contract %v", name, got, want)
		}
	}

	f := newSynthetic(hour(), 4, begin, hourly)
	r, err := fleet.Run(context.Background(), dial(t, serve(t, &answers{data: f.inMemory(t)}), f, recording.RemoteOptions{}), fleet.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}

	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}

	fits(t, "report", defs, root, doc)
}

// fits checks a document against the part of JSON Schema that schema.json uses.
func fits(t *testing.T, at string, defs, schema map[string]any, doc any) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		fits(t, at, defs, defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any), doc)
		return
	}

	if among, ok := schema["enum"].([]any); ok && !slices.Contains(among, doc) {
		t.Errorf("%s: %v is none of %v", at, doc, among)
	}

	switch schema["type"] {
	case "string":
		if _, ok := doc.(string); !ok {
			t.Errorf("%s: %v is not a string", at, doc)
		}
	case "number", "integer":
		if x, ok := doc.(float64); !ok || x < 0 {
			t.Errorf("%s: %v is not a number from 0 on", at, doc)
		}
	case "array":
		items, ok := doc.([]any)
		if !ok {
			t.Errorf("%s: %v is not an array", at, doc)
		}
		for _, x := range items {
			fits(t, at+"[]", defs, schema["items"].(map[string]any), x)
		}
	case "object":
		object, ok := doc.(map[string]any)
		if !ok {
			t.Errorf("%s: %v is not an object", at, doc)
		}

		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, ok := object[name.(string)]; !ok {
				t.Errorf("%s: %s is missing", at, name)
			}
		}

		properties, _ := schema["properties"].(map[string]any)
		for name, x := range object {
			if p, ok := properties[name].(map[string]any); ok {
				fits(t, at+"."+name, defs, p, x)
			}
		}
	}
}
