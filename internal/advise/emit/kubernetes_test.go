package emit_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/advise/emit"
)

// forKubernetes returns a layout with every kind of manifest.
func forKubernetes(t *testing.T) (files map[string]string, set []byte) {
	t.Helper()
	set, err := os.ReadFile("testdata/mongo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l := layoutOf(t, "telemetry.yaml", "volumes.data.iops=6000", "volumes.data.size=800GiB", "volumes.journal={type: io2, size: 10GiB, iops: 5000}", "host.memory=12GiB", "host.instance=r6i.xlarge", "host.wbt_lat_usec=0")
	return filesOf(t, l, emit.Options{StatefulSet: set, StatefulSetFile: "mongo.yaml"}, "kubernetes"), set
}

// documents returns the manifests in a file, by kind.
func documents(t *testing.T, text []byte) (docs [][]byte, kinds []string) {
	t.Helper()
	r := k8syaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return docs, kinds
		}

		if err != nil {
			t.Fatal(err)
		}

		var m struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal(doc, &m); err != nil {
			t.Fatal(err)
		}

		docs, kinds = append(docs, doc), append(kinds, m.Kind)
	}
}

// The API's own types accept every manifest and have all of its fields.
func TestManifestsDecodeStrictly(t *testing.T) {
	files, _ := forKubernetes(t)
	seen := map[string]int{}
	for path, text := range files {
		if !strings.HasSuffix(path, ".yaml") {
			continue
		}

		docs, kinds := documents(t, []byte(text))
		for i, kind := range kinds {
			seen[kind]++
			var into any
			switch kind {
			case "StorageClass":
				into = &storagev1.StorageClass{}
			case "VolumeAttributesClass":
				into = &storagev1.VolumeAttributesClass{}
			case "StatefulSet":
				into = &appsv1.StatefulSet{}
			case "DaemonSet":
				into = &appsv1.DaemonSet{}
			default:
				t.Errorf("%s has a %q", path, kind)
				continue
			}

			// A directive of the patch, which the merge removes.
			doc := bytes.ReplaceAll(docs[i], []byte("    $patch: replace\n"), nil)
			if err := yaml.UnmarshalStrict(doc, into); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}

	if seen["StorageClass"] != 2 || seen["VolumeAttributesClass"] != 2 || seen["StatefulSet"] != 2 || seen["DaemonSet"] != 1 {
		t.Errorf("manifests are %v", seen)
	}
}

// patched returns the StatefulSet with its patch, merged as by the API server.
func patched(t *testing.T) *appsv1.StatefulSet {
	t.Helper()
	files, set := forKubernetes(t)
	docs, kinds := documents(t, set)

	before, err := yaml.YAMLToJSON(docs[slices.Index(kinds, "StatefulSet")])
	if err != nil {
		t.Fatal(err)
	}

	patch, err := yaml.YAMLToJSON([]byte(files["kubernetes-patch/statefulset.yaml"]))
	if err != nil {
		t.Fatal(err)
	}

	after, err := strategicpatch.StrategicMergePatch(before, patch, appsv1.StatefulSet{})
	if err != nil {
		t.Fatal(err)
	}

	var out appsv1.StatefulSet
	if err := json.Unmarshal(after, &out); err != nil {
		t.Fatal(err)
	}

	return &out
}

// The patch only adds: other containers, mounts, claims and labels stay.
func TestPatchOfAStatefulSet(t *testing.T) {
	s := patched(t)
	pod := s.Spec.Template.Spec
	if len(pod.Containers) != 2 || pod.Containers[0].Name != "mongod" || pod.Containers[0].Image != "mongo:8.0" || len(pod.Containers[0].Args) != 4 {
		t.Fatalf("containers are %+v", pod.Containers)
	}

	var mounts, claims []string
	for _, m := range pod.Containers[0].VolumeMounts {
		mounts = append(mounts, m.Name+"="+m.MountPath)
	}

	for _, c := range s.Spec.VolumeClaimTemplates {
		claims = append(claims, c.Name+"="+c.Spec.Resources.Requests.Storage().String())
	}

	slices.Sort(mounts)
	if got := strings.Join(mounts, " "); got != "data=/data/db journal=/var/lib/mongodb-journal" {
		t.Errorf("mounts are %s", got)
	}

	if got := strings.Join(claims, " "); got != "data=800Gi backup=100Gi journal=10Gi" {
		t.Errorf("claims are %s", got)
	}

	data := s.Spec.VolumeClaimTemplates[0]
	if _, there := data.Labels["team"]; !there || data.Spec.StorageClassName == nil || *data.Spec.StorageClassName != "" {
		t.Errorf("the claim template lost fields: %+v", data)
	}

	if got := pod.Containers[0].Resources.Limits.Memory().String(); got != "12Gi" {
		t.Errorf("memory is %s", got)
	}

	if u := s.Spec.UpdateStrategy; u.Type != appsv1.OnDeleteStatefulSetStrategyType || u.RollingUpdate != nil {
		t.Errorf("pods restart by themselves: %+v", u)
	}

	if len(pod.InitContainers) != 1 || pod.InitContainers[0].Image != "mongo:8.0" || len(pod.InitContainers[0].VolumeMounts) != 2 ||
		!slices.Equal(pod.InitContainers[0].Command[4:], []string{"/data/db/journal", "/var/lib/mongodb-journal/journal", "WiredTigerLog.*", "/data/db"}) {
		t.Errorf("init containers are %+v", pod.InitContainers)
	}

	if *s.Spec.Replicas != 3 || s.Spec.ServiceName != "mongo" {
		t.Errorf("the set is %+v", s.Spec)
	}
}

// Kubernetes' own schemas, checked by kubectl-validate. It takes minutes to build: make ci does it,
// or make kubectl-validate.
func TestManifestsValidate(t *testing.T) {
	tool := kubectlValidate(t)
	files, _ := forKubernetes(t)
	dir := t.TempDir()
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for path, text := range files {
		if strings.HasPrefix(path, "kubernetes/") {
			// Its newest schemas are those of 1.30, which has this class, with the same fields, as
			// an alpha.
			text = strings.ReplaceAll(text, "apiVersion: storage.k8s.io/v1\ndriverName", "apiVersion: storage.k8s.io/v1alpha1\ndriverName")
			write(filepath.Base(path), []byte(text))
		}
	}

	set, err := yaml.Marshal(patched(t))
	if err != nil {
		t.Fatal(err)
	}

	write("statefulset.yaml", set)
	validate := func() (string, error) {
		out, err := exec.Command(tool, "--version", "1.30", dir).CombinedOutput()
		return string(out), err
	}

	if out, err := validate(); err != nil {
		t.Errorf("kubectl-validate: %v\n%s", err, out)
	}

	// Check that it does report errors.
	bad := bytes.ReplaceAll(set, []byte("memory: 12Gi"), []byte("memory: [12]"))
	write("statefulset.yaml", bad)
	if out, err := validate(); err == nil {
		t.Errorf("kubectl-validate takes a list for memory:\n%s", out)
	}
}

// kubectlValidate returns the tool's path; the test skips without it.
func kubectlValidate(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../../bin/kubectl-validate")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("kubectl-validate is not built: make kubectl-validate, which takes minutes")
	}
	return path
}
