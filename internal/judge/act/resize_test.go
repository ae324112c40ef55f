package act_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/judge/rules"
)

// kubectlLocal is kubectl without a cluster: the pod is a file, which the real kubectl reads and
// patches.
const kubectlLocal = `#!/bin/sh
patch() { REAL patch --local -f "$PODFILE" "$@"; }
case "$*" in
*"get pod"*)
	for last; do :; done
	case "$*" in
	*status*) exit ;;
	esac
	patch -p '{}' -o "$last" ;;
*"patch pod"*"--subresource resize"*)
	for last; do :; done
	patch -p "$last" -o json >"$PODFILE.new" && mv "$PODFILE.new" "$PODFILE" ;;
*) echo "unknown: $*" >&2; exit 1 ;;
esac
`

// A pod's container is resized in place by a patch that the real kubectl applies: its sidecars keep
// their limits, a Guaranteed pod stays Guaranteed, and undo restores the exact resources.
func TestPodResizeRestored(t *testing.T) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("kubectl is not installed")
	}

	for name, resources := range map[string]string{
		"guaranteed":  `{"limits":{"cpu":"2","memory":"8Gi"},"requests":{"cpu":"2","memory":"8Gi"}}`,
		"burstable":   `{"limits":{"cpu":"2","memory":"8Gi"},"requests":{"cpu":"500m","memory":"4Gi"}}`,
		"limits only": `{"limits":{"cpu":"2","memory":"8Gi"}}`,
	} {
		for _, remedy := range []string{"cpu-limit", "memory-limit"} {
			t.Run(name+"/"+remedy, func(t *testing.T) {
				pod := filepath.Join(t.TempDir(), "pod.json")
				text := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"db-0","namespace":"prod"},"spec":{"containers":[
					{"name":"mongod","image":"mongo:7.0","resources":` + resources + `},
					{"name":"exporter","image":"exporter:1","resources":{"limits":{"cpu":"1"}}}]}}`
				if err := os.WriteFile(pod, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}

				b := newBench(t, remedy, rules.Kubernetes, rules.Values{"pod": "db-0", "namespace": "prod", "container": "mongod"},
					map[string]string{"kubectl": strings.ReplaceAll(kubectlLocal, "REAL", kubectl)})
				b.env = append(b.env, "PODFILE="+pod)
				b.brief = name != "guaranteed"
				b.restores(func() string { return containers(t, pod) })

				b.run(b.way.Look, b.way.Do)
				got := containers(t, pod)
				if !strings.Contains(got, `exporter {"limits":{"cpu":"1"}}`) {
					t.Errorf("the sidecar changes: %s", got)
				}

				if same := strings.Count(got, `"cpu":"4"`) + strings.Count(got, `"memory":"12288Mi"`); (name == "guaranteed") != (same == 2) {
					t.Errorf("the request must follow the limit only if they were equal: %s", got)
				}
			})
		}
	}
}

// containers returns the names and resources of a pod's containers.
func containers(t *testing.T, path string) string {
	t.Helper()
	var pod struct {
		Spec struct {
			Containers []struct {
				Name      string
				Resources map[string]map[string]string
			}
		}
	}

	if err := json.Unmarshal([]byte(read(t, path)), &pod); err != nil {
		t.Fatal(err)
	}

	var all strings.Builder
	for _, c := range pod.Spec.Containers {
		r, err := json.Marshal(c.Resources)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(c.Name + " " + string(r) + "\n")
	}

	return all.String()
}
