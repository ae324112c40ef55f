package diagnosis

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// schemaChecker checks documents against the part of JSON Schema that schema.json uses. It reports
// any other keyword, so that nothing goes unchecked silently. It is stricter than a reader should
// be: a field that is not described is an error.
type schemaChecker struct {
	root, defs map[string]any
}

func readSchema(t *testing.T) schemaChecker {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	return schemaChecker{root: root, defs: root["$defs"].(map[string]any)}
}

func (s schemaChecker) check(at string, schema map[string]any, doc any) (problems []string) {
	report := func(format string, args ...any) {
		problems = append(problems, at+": "+fmt.Sprintf(format, args...))
	}
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		def, ok := s.defs[name].(map[string]any)
		if !ok {
			report("no definition %s", ref)
			return problems
		}
		return s.check(at, def, doc)
	}

	for keyword, arg := range schema {
		switch keyword {
		case "$schema", "$defs", "title", "description", "properties", "additionalProperties":
		case "type":
			if !hasType(arg, doc) {
				report("%v, want %v", doc, arg)
			}
		case "const":
			if !reflect.DeepEqual(arg, doc) {
				report("%v, want %v", doc, arg)
			}
		case "enum":
			if !slices.Contains(arg.([]any), doc) {
				report("%v, want one of %v", doc, arg)
			}
		case "minimum":
			if x, ok := doc.(float64); ok && x < arg.(float64) {
				report("%v is under %v", x, arg)
			}
		case "format":
			if text, ok := doc.(string); ok {
				if _, err := time.Parse(time.RFC3339Nano, text); err != nil || arg != "date-time" {
					report("%v is no %v", doc, arg)
				}
			}
		case "required":
			obj, _ := doc.(map[string]any)
			for _, name := range arg.([]any) {
				if _, ok := obj[name.(string)]; !ok {
					report("%s is required", name)
				}
			}
		case "items":
			list, _ := doc.([]any)
			for i, x := range list {
				problems = append(problems, s.check(fmt.Sprintf("%s/%d", at, i), arg.(map[string]any), x)...)
			}
		default:
			report("the checker does not know the keyword %s", keyword)
		}
	}

	return append(problems, s.checkProperties(at, schema, doc)...)
}

func (s schemaChecker) checkProperties(at string, schema map[string]any, doc any) (problems []string) {
	obj, ok := doc.(map[string]any)
	if !ok {
		return nil
	}

	properties, _ := schema["properties"].(map[string]any)
	additional, _ := schema["additionalProperties"].(map[string]any)
	for name, value := range obj {
		switch sub, ok := properties[name].(map[string]any); {
		case ok:
			problems = append(problems, s.check(at+"/"+name, sub, value)...)
		case additional != nil:
			problems = append(problems, s.check(at+"/"+name, additional, value)...)
		default:
			problems = append(problems, at+": "+name+" is not in the schema")
		}
	}

	return problems
}

func hasType(want, doc any) bool {
	if list, ok := want.([]any); ok {
		return slices.ContainsFunc(list, func(w any) bool { return hasType(w, doc) })
	}

	switch x := doc.(type) {
	case nil:
		return want == "null"
	case bool:
		return want == "boolean"
	case string:
		return want == "string"
	case float64:
		return want == "number" || want == "integer" && x == math.Trunc(x)
	case []any:
		return want == "array"
	case map[string]any:
		return want == "object"
	}

	return false
}
