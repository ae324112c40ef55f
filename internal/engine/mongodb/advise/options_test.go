package advise_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine/mongodb"
	"plimsoll/internal/engine/mongodb/advise"
	"plimsoll/internal/engine/parts"
)

// Every option of the emitted mongod.conf exists in mongod, with the right type and within its limits.
func TestMongodTakesItsOptions(t *testing.T) {
	text, err := os.ReadFile("../../../../examples/scenarios/telemetry.yaml")
	if err != nil {
		t.Fatal(err)
	}

	p := &emit.Request{File: "telemetry.yaml", Text: string(text), Sets: []string{"engine.mongodb.cache=6GB", "engine.mongodb.eviction_dirty_target=0.02", "engine.mongodb.checkpoint=30s", "engine.mongodb.journal_interval=50ms"}}
	l, err := p.Transition(parts.List{&mongodb.Engine}.Deployments())
	if err != nil {
		t.Fatal(err)
	}

	r, err := emit.Files(l, []string{"mongod"}, emit.Options{})
	if err != nil {
		t.Fatal(err)
	}

	i := slices.IndexFunc(r.Files, func(f emit.File) bool { return f.Path == "mongod/mongod.conf" })
	var tree map[string]any
	if err := yaml.UnmarshalStrict(r.Files[i].Text, &tree); err != nil {
		t.Fatal(err)
	}

	seen := 0
	var walk func(path string, v any)
	walk = func(path string, v any) {
		if m, ok := v.(map[string]any); ok {
			for key, x := range m {
				walk(strings.TrimPrefix(path+"."+key, "."), x)
			}
			return
		}

		seen++
		i := slices.IndexFunc(advise.Options, func(o advise.Option) bool { return o.Path() == path })
		if i < 0 {
			t.Errorf("mongod has no option %s", path)
			return
		}

		_, number := v.(float64)
		if number != (advise.Options[i].Kind() != "string") {
			t.Errorf("%s is %T %v, want a %s", path, v, v, advise.Options[i].Kind())
		}

		if err := advise.Options[i].Check(fmt.Sprint(v)); err != nil {
			t.Error(err)
		}
	}

	walk("", tree)
	if seen != len(advise.Options) {
		t.Errorf("%d options are written, want all %d", seen, len(advise.Options))
	}
}
