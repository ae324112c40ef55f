package scenario_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"plimsoll/internal/engine"
	"plimsoll/internal/model/scenario"
)

var language = scenario.NewLanguage(engine.All().Models(), nil)

var update = flag.Bool("update", false, "write fields.json and the golden files anew")

// structs collects a type's structs, and those of its fields.
func structs(t reflect.Type, into map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || into[t] {
		return
	}
	into[t] = true
	for f := range t.Fields() {
		if f.IsExported() && f.Tag.Get("yaml") != "-" {
			structs(f.Type, into)
		}
	}
}

// TestFieldDocs compares each fields.json with the comments in the source.
func TestFieldDocs(t *testing.T) {
	all := map[reflect.Type]bool{reflect.TypeFor[scenario.Chosen](): true}
	structs(reflect.TypeFor[scenario.Scenario](), all)
	delete(all, reflect.TypeFor[scenario.Chosen]())
	holdDocs(t, all, "fields.json", scenario.FieldsText, reflect.Type.String)
	for _, e := range engine.All().Models() {
		own := maps.Clone(all)
		settings := reflect.TypeOf(e.NewConfig()).Elem()
		structs(settings, own)
		maps.DeleteFunc(own, func(t reflect.Type, _ bool) bool { return all[t] })
		holdDocs(t, own, filepath.Join(folder(settings), "fields.json"), e.FieldDocs, reflect.Type.Name)
	}
}

// folder is the folder of a type's package.
func folder(t reflect.Type) string {
	return filepath.Join("..", "..", "..", strings.TrimPrefix(t.PkgPath(), "plimsoll/"))
}

// holdDocs compares a file of field comments with the source.
func holdDocs(t *testing.T, all map[reflect.Type]bool, file string, text []byte, name func(reflect.Type) string) {
	t.Helper()
	packages := map[string]map[string]*ast.StructType{}

	docs := map[string]string{}
	for s := range all {
		path := folder(s)
		if packages[path] == nil {
			packages[path] = parseStructs(t, path)
		}

		bare, _, _ := strings.Cut(s.Name(), "[")
		node := packages[path][bare]
		if node == nil {
			t.Errorf("%v has no source", s)
			continue
		}

		for _, f := range node.Fields.List {
			text := f.Doc.Text()
			if f.Comment != nil {
				text += f.Comment.Text()
			}
			for _, n := range f.Names {
				if text = strings.Join(strings.Fields(text), " "); text != "" {
					docs[name(s)+"."+n.Name] = text
				}
			}
		}
	}

	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)

	if err := enc.Encode(docs); err != nil {
		t.Fatal(err)
	}

	if *update {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}

	if !bytes.Equal(out.Bytes(), text) {
		t.Errorf("%s is not what the comments say: go test ./internal/model/scenario -run FieldDocs -update", file)
	}
}

func parseStructs(t *testing.T, dir string) map[string]*ast.StructType {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s: %v", dir, err)
	}

	out := map[string]*ast.StructType{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}

		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				if x, ok := s.Type.(*ast.StructType); ok {
					out[s.Name.Name] = x
				}
			}
			return true
		})
	}

	return out
}

// TestSchema checks the repository's scenarios, and deliberately wrong ones, against the schema.
func TestSchema(t *testing.T) {
	var s validator
	if err := json.Unmarshal(language.Schema(), &s.root); err != nil {
		t.Fatal(err)
	}

	files, err := filepath.Glob("../../../examples/scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}

	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.validate(asJSON(t, text)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}

	const good = "plimsoll: 1\nvolumes: {data: {type: gp3, size: 100GiB}}\nengine: {iris: }\nworkload: {preset: telemetry}\n"
	if err := s.validate(asJSON(t, []byte(good))); err != nil {
		t.Error(err)
	}

	for name, bad := range map[string]string{
		"unknown key":  strings.Replace(good, "size", "sise", 1),
		"no unit":      strings.Replace(good, "100GiB", "a lot", 1),
		"two engines":  strings.Replace(good, "{iris: }", "{iris: {}, etcd: {}}", 1),
		"no engine":    strings.Replace(good, "engine: {iris: }", "", 1),
		"other preset": strings.Replace(good, "telemetry", "nonesuch", 1),
		"version":      strings.Replace(good, "plimsoll: 1", "plimsoll: 2", 1),
	} {
		if s.validate(asJSON(t, []byte(bad))) == nil {
			t.Errorf("%s: the schema takes it", name)
		}
	}
}

func asJSON(t *testing.T, text []byte) any {
	t.Helper()
	j, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(j, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSchemaDescribes: the schema contains what an editor shows.
func TestSchemaDescribes(t *testing.T) {
	for _, want := range []string{`"cache"`, "MongoDB's engine", `"checkpoint_completion_target"`, "telemetry-buckets", `"dirty_background_bytes"`} {
		if !bytes.Contains(language.Schema(), []byte(want)) {
			t.Errorf("no %s in the schema", want)
		}
	}
}

// A validator supports the JSON Schema keywords that the schema uses. Any other keyword is an error,
// so that none goes unchecked silently.
type validator struct{ root map[string]any }

func (v validator) validate(doc any) error { return v.at("", v.root, doc) }

func (v validator) at(path string, schema map[string]any, doc any) error {
	if ref, ok := schema["$ref"].(string); ok {
		def, ok := v.root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		if !ok {
			return fmt.Errorf("%s: no definition %s", path, ref)
		}
		return v.at(path, def, doc)
	}

	object, _ := doc.(map[string]any)
	for keyword, arg := range schema {
		ok := true
		switch keyword {
		case "$schema", "$defs", "title", "description", "examples":
		case "type":
			ok = isOneOf(arg, doc)
		case "const":
			ok = reflect.DeepEqual(arg, doc)
		case "enum":
			ok = slices.Contains(arg.([]any), doc)
		case "minimum":
			x, number := doc.(float64)
			ok = !number || x >= arg.(float64)
		case "pattern":
			text, isText := doc.(string)
			ok = !isText || regexp.MustCompile(arg.(string)).MatchString(text)
		case "minProperties":
			ok = object == nil || len(object) >= int(arg.(float64))
		case "maxProperties":
			ok = len(object) <= int(arg.(float64))
		case "required":
			for _, name := range arg.([]any) {
				if _, has := object[name.(string)]; !has {
					ok = false
				}
			}
		case "items":
			list, _ := doc.([]any)
			for i, x := range list {
				if err := v.at(fmt.Sprintf("%s/%d", path, i), arg.(map[string]any), x); err != nil {
					return err
				}
			}
		case "properties":
			for name, sub := range arg.(map[string]any) {
				if x, has := object[name]; has {
					if err := v.at(path+"/"+name, sub.(map[string]any), x); err != nil {
						return err
					}
				}
			}
		case "additionalProperties":
			known, _ := schema["properties"].(map[string]any)
			for name, x := range object {
				if _, has := known[name]; has {
					continue
				}
				sub, isSchema := arg.(map[string]any)
				if !isSchema {
					return fmt.Errorf("%s/%s is not known", path, name)
				}
				if err := v.at(path+"/"+name, sub, x); err != nil {
					return err
				}
			}
		default:
			return fmt.Errorf("%s: keyword %s is not checked here", path, keyword)
		}

		if !ok {
			return fmt.Errorf("%s: %v is not %s %v", path, doc, keyword, arg)
		}
	}

	return nil
}

func isOneOf(types, doc any) bool {
	if one, ok := types.(string); ok {
		types = []any{one}
	}

	for _, t := range types.([]any) {
		switch x := doc.(type) {
		case nil:
			if t == "null" {
				return true
			}
		case string:
			if t == "string" {
				return true
			}
		case bool:
			if t == "boolean" {
				return true
			}
		case float64:
			if t == "number" || t == "integer" && x == math.Trunc(x) {
				return true
			}
		case map[string]any:
			if t == "object" {
				return true
			}
		case []any:
			if t == "array" {
				return true
			}
		}
	}

	return false
}
