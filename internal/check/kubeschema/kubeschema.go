// Package kubeschema checks printed kubectl commands against Kubernetes' own schemas. It runs them with a
// stand-in for kubectl that records the patches, applies each patch to a sample object of its kind as the
// API server would, and lets kubectl-validate judge the result. kubectl itself is no use for that: with
// --local it drops fields that it does not know.
package kubeschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

// version is the newest Kubernetes version whose schemas kubectl-validate contains.
const version = "1.30"

// A Patch is a recorded call of kubectl patch.
type Patch struct {
	Kind  string // pod, pvc or statefulset
	Merge bool   // a merge patch instead of a strategic one
	Body  []byte // JSON
}

// standIn records patches, and answers the commands' requests.
const standIn = `#!/bin/bash
case " $* " in
*" patch "*) for word; do printf '%s\0' "$word"; done >>"$PATCHES" && printf '\0' >>"$PATCHES" ;;
*" get pvc "*) for word; do case $word in data-*) echo "$word <none> 10Gi" ;; esac; done ;;
*".requests."*) printf '2=2' ;;
*" get pod "*) printf '{"limits":{"cpu":"2","memory":"8Gi"},"requests":{"cpu":"2","memory":"8Gi"}}' ;;
*" get statefulset "*) cat "$STATEFULSET" ;;
esac
`

// Patches runs commands in a folder with a stand-in for kubectl, and returns the patches that they send.
// statefulset is the manifest that kubectl get prints.
func Patches(t *testing.T, dir, statefulset string, commands, env []string) []Patch {
	t.Helper()
	home := t.TempDir()
	record := filepath.Join(home, "patches")
	for name, text := range map[string]string{"kubectl": standIn, "set.yaml": statefulset} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}

	for _, text := range commands {
		c := exec.CommandContext(t.Context(), "bash", "-c", text) //nolint:gosec // the printed command
		c.Dir = dir
		c.Env = append([]string{"PATH=" + home + ":" + os.Getenv("PATH"), "HOME=" + home, "PATCHES=" + record,
			"STATEFULSET=" + filepath.Join(home, "set.yaml")}, env...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", text, err, out)
		}
	}

	// Without a call of kubectl there is no record, and no patch.
	text, err := os.ReadFile(record) //nolint:gosec // our own file
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}

	var out []Patch
	// The stand-in ends a word with one zero byte and a call with two.
	for call := range strings.SplitSeq(strings.TrimSuffix(string(text), "\x00\x00"), "\x00\x00") {
		if call == "" {
			continue
		}
		p, err := read(dir, strings.Split(call, "\x00"))
		if err != nil {
			t.Fatalf("%q: %v", call, err)
		}
		out = append(out, p)
	}
	return out
}

// read returns the patch of a call.
func read(dir string, words []string) (Patch, error) {
	p := Patch{}
	for i, word := range words {
		next := func() string {
			if i+1 < len(words) {
				return words[i+1]
			}
			return ""
		}
		switch word {
		case "pod", "pvc", "statefulset":
			p.Kind = word
		case "-f": // with --local
			p.Kind = "statefulset"
		case "--type":
			p.Merge = next() == "merge"
		case "-p":
			p.Body = []byte(next())
		case "--patch-file":
			text, err := os.ReadFile(filepath.Join(dir, next())) //nolint:gosec // a file of the test
			if err != nil {
				return p, err
			}
			p.Body, err = yaml.YAMLToJSON(text)
			if err != nil {
				return p, err
			}
		}
	}

	if !json.Valid(p.Body) || p.Kind == "" {
		return p, fmt.Errorf("kind %q, patch %q", p.Kind, p.Body)
	}

	return p, nil
}

// samples are objects that the schemas accept, with a container of this name.
func samples(container string) map[string]string {
	pod := `{"containers":[{"name":"` + container + `","image":"i","resources":{"limits":{"cpu":"2"}}},` +
		`{"name":"exporter","image":"e"}]}`
	return map[string]string{
		"pod": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"db-0"},"spec":` + pod + `}`,
		"pvc": `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data-db-0"},"spec":` +
			`{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"10Gi"}}}}`,
		"statefulset": `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db"},"spec":{"serviceName":"db",` +
			`"updateStrategy":{"type":"RollingUpdate"},"selector":{"matchLabels":{"app":"db"}},` +
			`"template":{"metadata":{"labels":{"app":"db"}},"spec":` + pod + `}}}`,
	}
}

// apply returns the sample with the patch.
func (p Patch) apply(container string) ([]byte, error) {
	of := []byte(samples(container)[p.Kind])
	if p.Merge {
		var is, patch map[string]any
		if err := errors.Join(json.Unmarshal(of, &is), json.Unmarshal(p.Body, &patch)); err != nil {
			return nil, err
		}
		return json.Marshal(merged(is, patch))
	}
	types := map[string]any{"pod": corev1.Pod{}, "pvc": corev1.PersistentVolumeClaim{},
		"statefulset": appsv1.StatefulSet{}}
	return strategicpatch.StrategicMergePatch(of, p.Body, types[p.Kind])
}

// merged applies a JSON merge patch (RFC 7386).
func merged(is, patch map[string]any) map[string]any {
	for key, v := range patch {
		inner, ok := v.(map[string]any)
		switch {
		case v == nil:
			delete(is, key)
		case ok:
			old, _ := is[key].(map[string]any)
			if old == nil {
				old = map[string]any{}
			}
			// An object merges key by key; null deletes, and anything else replaces.
			is[key] = merged(old, inner)
		default:
			is[key] = v
		}
	}

	return is
}

// Check fails the test unless the schemas accept each patched object, and refuse it as soon as a single field
// of the patch has another name. Without that, a schema that accepts anything would go unnoticed.
func Check(t *testing.T, container string, patches []Patch) {
	t.Helper()
	tool := program(t)
	dir := t.TempDir()
	wrong := map[string]string{} // by file: the error in it
	add := func(name, what string, p Patch) bool {
		text, err := p.apply(container)
		if err != nil {
			return false
		}
		wrong[name] = what
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		return true
	}

	for i, p := range patches {
		if !add(fmt.Sprintf("%d.json", i), "", p) {
			_, err := p.apply(container)
			t.Errorf("%s of %s: %v", p.Body, p.Kind, err)
		}
		// A copy with one misspelt field must be refused: that proves that the schema defines the field.
		for j, field := range fields(p.Body) {
			add(fmt.Sprintf("%d-%d.json", i, j), field, Patch{p.Kind, p.Merge, renamed(p.Body, j)})
		}
	}

	// One run for all objects, because reading the schemas takes seconds.
	c := exec.CommandContext(t.Context(), tool, "--version", version, "-o", "json", dir) //nolint:gosec // in bin/
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run() // it fails if an object is invalid
	var results map[string][]struct{ Status, Message string }
	if err := json.Unmarshal(out.Bytes(), &results); err != nil {
		t.Fatalf("kubectl-validate: %v\n%s%s", err, out.String(), errs.String())
	}

	for name, field := range wrong {
		all := results[filepath.Join(dir, name)]
		if len(all) != 1 {
			t.Fatalf("%s: kubectl-validate has %d results", name, len(all))
		}
		text, _ := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // for the message
		if bad := all[0].Status != "Success"; bad != (field != "") {
			t.Errorf("%s, wrong field %q: %s %s\n%s", name, field, all[0].Status, all[0].Message, text)
		}
	}
	t.Logf("%d patches, %d with a wrong field", len(patches), len(wrong)-len(patches))
}

// free lists the maps whose keys the user chooses.
var free = []string{"limits", "requests", "labels", "matchLabels", "nodeSelector", "parameters"}

// fields returns the paths of the fields of a patch.
func fields(body []byte) []string {
	var tree any
	if json.Unmarshal(body, &tree) != nil {
		return nil
	}
	var out []string
	walk(tree, "", func(m map[string]any, key, path string) { out = append(out, path) })
	return out
}

// renamed returns the patch with the field number n renamed.
func renamed(body []byte, n int) []byte {
	var tree any
	if json.Unmarshal(body, &tree) != nil {
		return nil
	}

	i := 0
	type place struct {
		m   map[string]any
		key string
	}

	var at place
	// walk visits fields in a fixed order, so their number identifies one.
	walk(tree, "", func(m map[string]any, key, _ string) {
		if i == n {
			at = place{m, key}
		}
		i++
	})

	if inner, ok := at.m[at.key].(map[string]any); ok {
		delete(inner, "$patch") // it would take the field away again
	}

	at.m[at.key+"Typo"] = at.m[at.key]
	delete(at.m, at.key)
	out, _ := json.Marshal(tree) // it was JSON
	return out
}

// walk visits all fields of a schema, in a fixed order.
func walk(v any, path string, visit func(m map[string]any, key, path string)) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			if strings.HasPrefix(key, "$") {
				continue // a directive of the patch
			}
			visit(v, key, path+"."+key)
			if !slices.Contains(free, key) {
				walk(v[key], path+"."+key, visit)
			}
		}
	// Elements of a list have no names to misspell, only their fields have.
	case []any:
		for _, x := range v {
			walk(x, path, visit)
		}
	}
}

// program returns the path of kubectl-validate; the test is skipped without it.
func program(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "bin", "kubectl-validate")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Skip("kubectl-validate is not built: make kubectl-validate, which takes minutes")
	return ""
}
