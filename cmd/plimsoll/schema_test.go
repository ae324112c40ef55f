//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"plimsoll/internal/advise/casebook"
	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/fit"
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/advise/prove"
	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/etcd/checkperf"
	"plimsoll/internal/engine/mongodb/buckets"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/judge/ruletest"
	"plimsoll/internal/lab/mount"
	"plimsoll/internal/lab/probe"
	"plimsoll/internal/lab/run"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/model/workload"
	"plimsoll/internal/present/results"
	"plimsoll/internal/trace/chain"
)

// contracts are the types that each command writes as JSON. A command that writes one of several types
// lists all of them.
var contracts = map[string][]reflect.Type{
	"casebook":       {reflect.TypeFor[casebook.Walk](), reflect.TypeFor[[]casebook.Entry]()},
	"catalog":        {reflect.TypeFor[[]catalog.VolumeReport](), reflect.TypeFor[[]catalog.InstanceReport]()},
	"catalog list":   {reflect.TypeFor[[]catalog.VolumeReport](), reflect.TypeFor[[]catalog.InstanceReport]()},
	"catalog show":   {reflect.TypeFor[catalog.VolumeReport](), reflect.TypeFor[catalog.InstanceReport]()},
	"catalog import": {reflect.TypeFor[[]catalog.ImportReport]()},
	"discover":       {reflect.TypeFor[discover.Found]()},
	"emit":           {reflect.TypeFor[emit.Report]()},
	"fit":            {reflect.TypeFor[fit.Fitted]()},
	"lab buckets":    {reflect.TypeFor[buckets.Result]()},
	"lab check-perf": {reflect.TypeFor[checkperf.Result]()},
	"lab mount":      {reflect.TypeFor[mount.Status]()},
	"lab run":        {reflect.TypeFor[run.Result]()},
	"lab set":        {reflect.TypeFor[mount.Status]()},
	"lab status":     {reflect.TypeFor[mount.Status]()},
	"lab table":      {reflect.TypeFor[errorTable]()},
	"mark":           {reflect.TypeFor[results.Marked]()},
	"metrics":        {reflect.TypeFor[[]metricLine]()},
	"plan":           {reflect.TypeFor[plan.Plan]()},
	"probe":          {reflect.TypeFor[probe.Result]()},
	"prove":          {reflect.TypeFor[prove.Report]()},
	"query":          {reflect.TypeFor[response]()},
	"record":         {reflect.TypeFor[results.Recorded](), reflect.TypeFor[results.Pushed]()},
	"rollout":        {reflect.TypeFor[rollout.Report]()},
	"rules":          {reflect.TypeFor[[]rules.Description]()},
	"rules list":     {reflect.TypeFor[[]rules.Description]()},
	"rules show":     {reflect.TypeFor[describedRule]()},
	"rules test":     {reflect.TypeFor[[]ruletest.Result]()},
	"simulate":       {reflect.TypeFor[simulate.Result](), reflect.TypeFor[comparison]()},
	"trace":          {reflect.TypeFor[chain.JSON]()},
	"version":        {reflect.TypeFor[results.Build]()},
}

// TestSchemas compares the schemas with the types that are written, and writes them with -update. Every
// command with JSON output has a schema.
func TestSchemas(t *testing.T) {
	a := &app{}
	var walk func(*cobra.Command)
	walk = func(parent *cobra.Command) {
		for _, cmd := range parent.Commands() {
			walk(cmd)
			name := verb(cmd)
			// diagnose has a hand-written schema; watch writes log lines.
			if !hasJSON(cmd) || slices.Contains([]string{"diagnose", "watch"}, name) {
				continue
			}

			types, ok := contracts[name]
			if !ok {
				t.Errorf("%s writes JSON of no known type", name)
				continue
			}
			compareSchema(t, cmd, name, types)
		}
	}
	walk(newRootCommand(a))
}

// TestSchemasDescribeTheOutput validates what commands write, strictly: a field that the schema lacks is an
// error here.
func TestSchemasDescribeTheOutput(t *testing.T) {
	folder, example := t.TempDir(), filepath.Join("..", "..", "examples", "postgres-checkpoint")
	scenarioFile := filepath.Join("..", "..", "examples", "scenarios", "etcd.yaml")
	planned := filepath.Join(folder, "plan.json")

	for _, x := range []struct{ name, line string }{
		{"version", "version"}, {"rules", "rules"}, {"rules list", "rules list"},
		{"rules show", "rules show disk/iops-capped"},
		{"catalog list", "catalog list"}, {"catalog show", "catalog show gp3"}, {"catalog show", "catalog show m6i.xlarge"},
		{"casebook", "casebook"}, {"metrics", "metrics " + example},
		{"query", "query " + example + " node_memory_Dirty_bytes"}, {"simulate", "simulate " + scenarioFile},
		{"simulate", "simulate " + scenarioFile + " --compare a:run.duration=10s"},
		{"plan", "plan " + scenarioFile}, {"emit", "emit " + planned + " --target etcd"}, {"fit", "fit " + example},
		{"record", "record " + example + " --out " + filepath.Join(folder, "recording")},
	} {
		t.Run(x.line, func(t *testing.T) {
			var out, errs strings.Builder
			a := newApp()
			a.args = append(strings.Fields(x.line), "-o", "json")
			a.stdout, a.stderr = stream{Writer: &out}, stream{Writer: &errs}
			if code := a.run(t.Context()); code == exitUsage || code == exitFailure {
				t.Fatalf("code %d: %s", code, errs.String())
			}

			if x.name == "plan" {
				if err := os.WriteFile(planned, []byte(out.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			var doc any
			if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
				t.Fatal(err)
			}
			schema, err := schemaOf(t, x.name, contracts[x.name], true).Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Error(err)
			}
		})
	}
}

func compareSchema(t *testing.T, cmd *cobra.Command, name string, types []reflect.Type) {
	t.Helper()
	want, err := json.MarshalIndent(schemaOf(t, name, types, false), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')

	file := schemaName(cmd)
	if is, err := os.ReadFile(file); err == nil && bytes.Equal(is, want) {
		return
	}
	if !*updateSimulate {
		t.Errorf("%s differs from what %s writes; make generate", file, name)
	} else if err := os.WriteFile(file, want, 0o644); err != nil {
		t.Error(err)
	}
}

// schemaOf returns the schema of the named type among types, described by their doc comments.
// Readers must accept unknown fields, because fields are added; a strict schema rejects them, so
// that a test notices.
func schemaOf(t *testing.T, name string, types []reflect.Type, strict bool) *jsonschema.Schema {
	t.Helper()
	text := &jsonschema.Schema{Type: "string"}
	opt := &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[units.Size](): text, reflect.TypeFor[units.Throughput](): text,
		reflect.TypeFor[units.Duration](): text, reflect.TypeFor[units.Frequency](): text,
		reflect.TypeFor[units.Ratio](): text, reflect.TypeFor[units.USD](): text,
		reflect.TypeFor[catalog.IOPS](): text, reflect.TypeFor[catalog.Scale](): text,
		reflect.TypeFor[workload.Count](): text,
	}}

	var all []*jsonschema.Schema
	for _, typ := range types {
		s, err := jsonschema.ForType(typ, opt)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, typ, err)
		}
		describeFields(s, typ, map[reflect.Type]bool{})
		if !strict {
			open(s)
		}
		all = append(all, s)
	}

	out := all[0]
	if len(all) > 1 {
		out = &jsonschema.Schema{AnyOf: all}
	}
	out.Schema = "https://json-schema.org/draft/2020-12/schema"
	out.Title = "plimsoll " + name + " -o json"

	return out
}

// open allows fields that are not described.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	open(s.AdditionalProperties)
	open(s.Items)
	for _, p := range s.Properties {
		open(p)
	}
}

// describeFields gives each property its field's doc comment.
func describeFields(s *jsonschema.Schema, typ reflect.Type, within map[reflect.Type]bool) {
	switch typ.Kind() {
	case reflect.Pointer:
		describeFields(s, typ.Elem(), within)
	case reflect.Slice, reflect.Array:
		if s.Items != nil {
			describeFields(s.Items, typ.Elem(), within)
		}
	case reflect.Map:
		if s.AdditionalProperties != nil {
			describeFields(s.AdditionalProperties, typ.Elem(), within)
		}
	case reflect.Struct:
		if within[typ] || s.Properties == nil {
			return
		}
		within[typ] = true
		for _, f := range reflect.VisibleFields(typ) {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			p := s.Properties[key]
			if p == nil || f.Anonymous {
				continue
			}
			owner := typ
			for _, i := range f.Index[:len(f.Index)-1] {
				if owner = owner.Field(i).Type; owner.Kind() == reflect.Pointer {
					owner = owner.Elem()
				}
			}
			p.Description = commentOf(owner, f.Name)
			describeFields(p, f.Type, within)
		}
		delete(within, typ)
	}
}

// comments are the doc comments of a package's fields, by type and field.
var comments = map[string]map[string]string{}

// commentOf returns the comment of a struct's field: the one above it, otherwise the one on its line.
func commentOf(typ reflect.Type, field string) string {
	pkg := strings.TrimPrefix(typ.PkgPath(), "plimsoll/")
	if typ.PkgPath() == "main" || strings.HasSuffix(pkg, "cmd/plimsoll") {
		pkg = "cmd/plimsoll"
	}
	if comments[pkg] == nil {
		comments[pkg] = readComments(filepath.Join("..", "..", filepath.FromSlash(pkg)))
	}
	return comments[pkg][typ.Name()+"."+field]
}

func readComments(folder string) map[string]string {
	out := map[string]string{}
	files, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			continue // the compiler reports it
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			fields, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range fields.Fields.List {
				text := f.Doc.Text()
				if text == "" {
					text = f.Comment.Text()
				}
				for _, id := range f.Names {
					out[spec.Name.Name+"."+id.Name] = strings.Join(strings.Fields(text), " ")
				}
			}
			return true
		})
	}
	return out
}

// hasJSON reports whether a command can write JSON.
func hasJSON(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup("output")
	if f == nil || !cmd.Runnable() {
		return false
	}
	c, ok := f.Value.(*choice)
	return ok && slices.Contains(c.among, "json")
}
