package discover_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/engine"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/kubeclient"
)

// answering serves the objects of a file, with pods, bound claims and volumes for its StatefulSet, and
// nothing else. It replaces an API server for environments without one; other tests use a real one.
func answering(t *testing.T, file, driver string, denied ...string) *kubeclient.Client {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}

	at := map[string]any{}
	paths := map[string]string{
		"StorageClass": "/apis/storage.k8s.io/v1/storageclasses/", "VolumeAttributesClass": "/apis/storage.k8s.io/v1/volumeattributesclasses/",
		"Node": "/api/v1/nodes/", "ConfigMap": "/api/v1/namespaces/db/configmaps/", "StatefulSet": "/apis/apps/v1/namespaces/db/statefulsets/",
	}

	for _, doc := range strings.Split(string(text), "\n---\n") {
		var kind metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
			t.Fatal(err)
		}

		var object any
		if kind.Kind == "StatefulSet" {
			set := &appsv1.StatefulSet{}
			if err := yaml.UnmarshalStrict([]byte(doc), set); err != nil {
				t.Fatal(err)
			}
			members(at, set, driver)
			object = set
			at[strings.TrimSuffix(paths["StatefulSet"], "/")] = &appsv1.StatefulSetList{Items: []appsv1.StatefulSet{*set}}
		} else if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			t.Fatal(err)
		}

		at[paths[kind.Kind]+kind.Name] = object
	}

	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		object, code := at[r.URL.Path], http.StatusOK
		for _, part := range denied {
			if strings.Contains(r.URL.Path, part) {
				object, code = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: 403, Message: "forbidden"}, http.StatusForbidden
			}
		}

		if object == nil {
			object, code = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404, Message: "not found"}, http.StatusNotFound
		}

		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(object) // the client says what it lacks
	}))

	t.Cleanup(s.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: c, context: {cluster: c, user: u, namespace: db}}]\ncurrent-context: c\n", s.URL)

	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}

	c, err := kubeclient.Open(kubeclient.Options{Kubeconfig: path})
	if err != nil {
		t.Fatal(err)
	}

	return c
}

// members adds the objects that a set's controller, scheduler and CSI driver would have created.
func members(at map[string]any, set *appsv1.StatefulSet, driver string) {
	for i := range int(*set.Spec.Replicas) {
		name := fmt.Sprintf("%s-%d", set.Name, i)
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i)}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		at["/api/v1/namespaces/db/pods/"+name] = pod

		for _, t := range set.Spec.VolumeClaimTemplates {
			claim := t.DeepCopy()
			claim.Name, claim.Namespace = t.Name+"-"+name, "db"
			claim.Spec.VolumeName = "pv-" + claim.Name
			claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: t.Spec.Resources.Requests, CurrentVolumeAttributesClassName: t.Spec.VolumeAttributesClassName}
			at["/api/v1/namespaces/db/persistentvolumeclaims/"+claim.Name] = claim
			at["/api/v1/persistentvolumes/"+claim.Spec.VolumeName] = &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}, Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, FSType: "xfs"}},
			}}
		}
	}
}

// The scenario of each kind of database and cloud, based only on the objects.
func TestDiscoverFromAnswers(t *testing.T) {
	for _, tt := range []struct {
		file, driver, name string
		want               map[string]string
	}{
		{"mongo.yaml", "ebs.csi.aws.com", "mongo", map[string]string{
			"engine.mongodb.cache": "3GiB", "volumes.data.type": "gp3", "volumes.data.size": "500GiB", "volumes.data.iops": "6000", "volumes.data.throughput": "250MiB/s",
			"host.instance": "m6i.xlarge", "host.memory": "8GiB", "host.cpu_quota": "250%", "host.filesystem": "xfs",
		}},
		{"etcd.yaml", "pd.csi.storage.gke.io", "etcd", map[string]string{
			"engine.etcd.members": "3", "engine.etcd.heartbeat": "150ms", "engine.etcd.quota": "8GiB", "volumes.data.type": "hyperdisk-balanced", "volumes.wal.type": "hyperdisk-balanced",
			"volumes.wal.size": "20GiB", "volumes.wal.iops": "4000", "volumes.data.throughput": "200MiB/s",
		}},
		{"postgres.yaml", "disk.csi.azure.com", "store", map[string]string{
			"engine.postgres.shared_buffers": "2GiB", "engine.postgres.max_wal_size": "8GiB", "engine.postgres.checkpoint_timeout": "15min", "volumes.data.type": "premium-v2", "volumes.data.iops": "5000",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := discover.Discover(t.Context(), answering(t, tt.file, tt.driver), discover.Options{Engines: engine.All().Containers(), At: discover.Address{Name: tt.name}})
			if err != nil {
				t.Fatal(err)
			}

			if _, err := scenario.NewLanguage(engine.All().Models(), nil).Parse(tt.name, f.YAML(), nil); err != nil {
				t.Fatalf("no scenario: %v\n%s", err, f.YAML())
			}

			got := map[string]string{}
			for _, v := range f.Values {
				got[v.Key] = v.Text
			}

			for key, want := range tt.want {
				if got[key] != want {
					t.Errorf("%s is %q, want %q:\n%s", key, got[key], want, f.YAML())
				}
			}
		})
	}
}

// Errors and remarks name what is missing: a set, an essential permission, and an optional one.
func TestDiscoverNamesWhatIsMissing(t *testing.T) {
	ask := func(c *kubeclient.Client, name string) (*discover.Found, error) {
		return discover.Discover(t.Context(), c, discover.Options{Engines: engine.All().Containers(), At: discover.Address{Name: name}})
	}
	if _, err := ask(answering(t, "mongo.yaml", "ebs.csi.aws.com"), "mongodb"); err == nil || err.Error() != "no StatefulSet mongodb in namespace db" {
		t.Error(err)
	}

	if _, err := ask(answering(t, "mongo.yaml", "ebs.csi.aws.com", "/pods/"), "mongo"); err == nil || err.Error() != "no permission to get pods in namespace db" {
		t.Error(err)
	}

	f, err := ask(answering(t, "mongo.yaml", "ebs.csi.aws.com", "/storageclasses/", "/persistentvolumes/", "/nodes/"), "mongo")
	if err != nil {
		t.Fatal(err)
	}

	if text := strings.Join(f.Remarks, "\n"); !strings.Contains(text, "no permission to get nodes in the whole cluster: its values are assumed") {
		t.Errorf("remarks are %s", text)
	}

	if text := string(f.YAML()); !strings.Contains(text, "type: custom") {
		t.Error(text)
	}
}
