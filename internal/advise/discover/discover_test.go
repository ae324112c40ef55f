//go:build linux

package discover_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine"
	"plimsoll/internal/engine/etcd/clustertest"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/kubeclient"
)

func ok(t *testing.T) func(any, error) {
	t.Helper()
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// deployed creates the objects of a file, and simulates the controllers until the pods are ready.
func deployed(t *testing.T, c *kubeclient.Client, file, driver, nodes string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}

	ctx := t.Context()
	name := ""
	for _, doc := range strings.Split(string(text), "\n---\n") {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
			t.Fatal(err)
		}

		switch kind.Kind {
		case "StorageClass":
			ok(t)(create(ctx, c, kubeclient.StorageClasses, "", doc, &storagev1.StorageClass{}))
		case "VolumeAttributesClass":
			ok(t)(create(ctx, c, kubeclient.AttributesClasses, "", doc, &storagev1.VolumeAttributesClass{}))
		case "Node":
			ok(t)(create(ctx, c, kubeclient.Nodes, "", doc, &corev1.Node{}))
		case "ConfigMap":
			ok(t)(create(ctx, c, kubeclient.ConfigMaps, "db", doc, &corev1.ConfigMap{}))
		case "StatefulSet":
			set := &appsv1.StatefulSet{}
			ok(t)(create(ctx, c, kubeclient.StatefulSets, "db", doc, set))
			name = set.Name
		default:
			t.Fatalf("%s has a %q", file, kind.Kind)
		}
	}

	p := &clustertest.Play{C: c, Name: name, Dir: t.TempDir(), Provider: driver, Zone: "eu-1a", Nodes: nodes}
	for deadline := time.Now().Add(3 * time.Minute); ; {
		if err := p.Turn(ctx); err != nil {
			t.Fatal(err)
		}

		all, err := kubeclient.Pods.List(ctx, c, "db", "app="+name)
		if err != nil {
			t.Fatal(err)
		}

		ready := 0
		for i := range all {
			if discover.Ready(&all[i]) {
				ready++
			}
		}

		set, err := kubeclient.StatefulSets.Get(ctx, c, "db", name)
		if err != nil {
			t.Fatal(err)
		}

		if ready == emit.Replicas(set) {
			return
		}

		if time.Now().After(deadline) {
			t.Fatalf("%d pods are ready", ready)
		}
	}
}

func create[T any](ctx context.Context, c *kubeclient.Client, kind kubeclient.Kind[T], ns, doc string, into *T) (any, error) {
	if err := yaml.UnmarshalStrict([]byte(doc), into); err != nil {
		return nil, err
	}
	_, err := kind.Create(ctx, c, ns, into, false)
	if kubeclient.IsThere(err) {
		err = nil
	}
	return nil, err
}

func found(t *testing.T, c *kubeclient.Client, name string) *discover.Found {
	t.Helper()
	f, err := discover.Discover(t.Context(), c, discover.Options{Engines: engine.All().Containers(), At: discover.Address{Namespace: "db", Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scenario.NewLanguage(engine.All().Models(), nil).Parse(name, f.YAML(), nil); err != nil {
		t.Fatalf("no scenario: %v\n%s", err, f.YAML())
	}
	return f
}

// wants checks values and parts of their evidence.
func wants(t *testing.T, f *discover.Found, want map[string][2]string) {
	t.Helper()
	for key, w := range want {
		at := -1
		for i := range f.Values {
			if f.Values[i].Key == key {
				at = i
			}
		}
		if at < 0 || f.Values[at].Text != w[0] || !strings.Contains(f.Values[at].Evidence, w[1]) {
			t.Errorf("%s: want %q by %q:\n%s", key, w[0], w[1], f.YAML())
		}
	}
}

// Each value is as declared by an object on a real API server.
func TestDiscover(t *testing.T) {
	s := clustertest.Run(t)
	c := s.Client(t, clustertest.Admin, "db")
	t.Run("MongoDB on EBS", func(t *testing.T) {
		deployed(t, c, "mongo.yaml", "ebs.csi.aws.com", "node-")
		f := found(t, c, "mongo")
		wants(t, f, map[string][2]string{
			"engine.mongodb.cache":      {"3GiB", "--wiredTigerCacheSizeGB 3"},
			"volumes.data.type":         {"gp3", "StorageClass fast"},
			"volumes.data.size":         {"500GiB", "claim data-mongo-0, status.capacity: 500Gi"},
			"volumes.data.iops":         {"6000", "VolumeAttributesClass quick of claim data-mongo-0"},
			"volumes.data.throughput":   {"250MiB/s", "VolumeAttributesClass quick"},
			"host.instance":             {"m6i.xlarge", "node node-0"},
			"host.memory":               {"8GiB", "resources.limits.memory: 8Gi"},
			"host.cpu_quota":            {"250%", "resources.limits.cpu: 2500m"},
			"host.filesystem":           {"xfs", "PersistentVolume pvc-"},
			"workload.arrivals.poisson": {"100/s", "load: 100 writes per second assumed"},
		})

		if f.Engine != "mongodb" || f.Members != 3 || len(f.Remarks) > 0 {
			t.Errorf("%s, %d members, remarks %q", f.Engine, f.Members, f.Remarks)
		}
	})

	t.Run("etcd on Hyperdisk", func(t *testing.T) {
		deployed(t, c, "etcd.yaml", "pd.csi.storage.gke.io", "google-")
		f := found(t, c, "etcd")
		wants(t, f, map[string][2]string{
			"engine.etcd.members":     {"3", "StatefulSet etcd, replicas"},
			"engine.etcd.heartbeat":   {"150ms", "ETCD_HEARTBEAT_INTERVAL 150"},
			"engine.etcd.quota":       {"8GiB", "--quota-backend-bytes 8589934592"},
			"volumes.data.type":       {"hyperdisk-balanced", "StorageClass hyper"},
			"volumes.wal.type":        {"hyperdisk-balanced", "StorageClass hyper"},
			"volumes.wal.iops":        {"4000", "StorageClass hyper"},
			"volumes.data.throughput": {"200MiB/s", "StorageClass hyper"},
		})
	})

	t.Run("PostgreSQL on Azure", func(t *testing.T) {
		deployed(t, c, "postgres.yaml", "disk.csi.azure.com", "azure-")
		f := found(t, c, "store")
		wants(t, f, map[string][2]string{
			"engine.postgres.shared_buffers":     {"2GiB", "ConfigMap store-conf, shared_buffers 2GB"},
			"engine.postgres.max_wal_size":       {"8GiB", "-c max_wal_size 8GB"},
			"engine.postgres.checkpoint_timeout": {"15min", "ConfigMap store-conf"},
			"volumes.data.type":                  {"premium-v2", "StorageClass azure"},
			"volumes.data.iops":                  {"5000", "StorageClass azure"},
		})

		if text := strings.Join(f.Remarks, "\n"); !strings.Contains(text, "StorageClass azure does not allow volumes to grow") {
			t.Errorf("remarks are %s", text)
		}
	})

	t.Run("what is wrong", func(t *testing.T) { wrong(t, s, c) })
}

// wrong requests objects that do not exist, may not be read, or are not bound.
func wrong(t *testing.T, s *clustertest.Server, c *kubeclient.Client) {
	ask := func(c *kubeclient.Client, name string) error {
		_, err := discover.Discover(t.Context(), c, discover.Options{Engines: engine.All().Containers(), At: discover.Address{Namespace: "db", Name: name}})
		return err
	}

	is := func(err error, text, hint string) {
		t.Helper()
		var h interface{ Hint() string }
		if err == nil || !strings.Contains(err.Error(), text) || !errors.As(err, &h) || !strings.Contains(h.Hint(), hint) {
			t.Errorf("%v, want %q and %q", err, text, hint)
		}
	}

	is(ask(c, "mongodb"), "no StatefulSet mongodb in namespace db", "it has mongo")
	guest := s.Client(t, clustertest.Guest, "db")
	is(ask(guest, "mongo"), "no permission to get statefulsets.apps in namespace db", "kubectl auth can-i get statefulsets.apps -n db")
	granted := func(resource, group string) {
		t.Helper()
		allow(t, c, resource, group)
		// The API server's authorizer sees a new role some time after it was created.
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if err := ask(guest, "mongo"); err == nil || !strings.Contains(err.Error(), "no permission to get "+resource) {
				return
			}
		}
		t.Fatalf("%s are not granted after a minute", resource)
	}

	granted("statefulsets", "apps")
	is(ask(guest, "mongo"), "no permission to get pods in namespace db", "kubectl auth can-i")
	granted("pods", "")
	granted("persistentvolumeclaims", "")

	// Objects without a namespace are optional; missing ones are named.
	f := found(t, guest, "mongo")
	if text := strings.Join(f.Remarks, "\n"); !strings.Contains(text, "no permission to get nodes in the whole cluster") || !strings.Contains(text, "no permission to get storageclasses.storage.k8s.io in the whole cluster") {
		t.Errorf("remarks are %s", text)
	}

	wants(t, f, map[string][2]string{"volumes.data.type": {"custom", `its StorageClass "fast" is not readable`}})
	bad := kubeclient.Options{Kubeconfig: s.Kubeconfig(t, "expired", "db")}
	expired, err := kubeclient.Open(bad)
	if err != nil {
		t.Fatal(err)
	}

	is(ask(expired, "mongo"), "does not accept the credentials", "log in to the cluster again")

	// A claim that is not bound yet.
	claim, err := kubeclient.Claims.Get(t.Context(), c, "db", "data-mongo-2")
	if err != nil {
		t.Fatal(err)
	}

	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
	ok(t)(kubeclient.Claims.UpdateStatus(t.Context(), c, "db", claim.Name, claim))
	is(ask(c, "mongo"), "claim data-mongo-2 is not bound to a volume: it is pending", "kubectl describe pvc data-mongo-2 -n db")
}

// allow permits the guest to read a resource.
func allow(t *testing.T, c *kubeclient.Client, resource, group string) {
	t.Helper()
	ok(t)(clustertest.Roles.Create(t.Context(), c, "db", &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: resource}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"get", "list"}}},
	}, false))
	ok(t)(clustertest.RoleBindings.Create(t.Context(), c, "db", &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: resource},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: resource},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "guest"}},
	}, false))
}

// An address consists of a namespace and a name.
func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"k8s://db/mongo": "db mongo", "k8s://db/mongo/": "db mongo", "k8s://mongo": " mongo",
		"": "", "mongo": "", "k8s://": "", "k8s:///mongo": "", "k8s://a/b/c": "", "http://db/mongo": "",
	} {
		at, err := discover.ParseAddress(text)
		if got := at.Namespace + " " + at.Name; err == nil && got != want || err != nil && want != "" {
			t.Errorf("%q: %s, %v; want %q", text, got, err, want)
		}
		if err == nil && at.Namespace != "" && at.String() != strings.TrimSuffix(text, "/") {
			t.Errorf("%q became %s", text, at)
		}
	}
}
