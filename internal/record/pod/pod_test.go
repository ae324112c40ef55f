//go:build linux

package pod_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/engine/etcd/clustertest"
	"plimsoll/internal/record/kubeclient"
	"plimsoll/internal/record/pod"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A provider answers each address with a fact about its volumes, or with an error.
type provider struct {
	scheme string
	asked  *[]string
	fails  string // addresses that contain this
}

func (p provider) Scheme() string { return p.scheme }

func (p provider) Open(_ context.Context, address string) (source.Source, error) {
	*p.asked = append(*p.asked, address)
	a := &answer{fail: p.fails != "" && strings.Contains(address, p.fails)}
	a.SetDescription(recording.Source{Kind: p.scheme, Name: address})
	return a, nil
}

type answer struct {
	source.Recorded
	fail bool
}

func (a *answer) Charge() string { return "3 API calls" }

func (a *answer) Read(_ context.Context, w recording.Writer, _ source.Options) error {
	d := a.Describe()
	if a.fail {
		return errors.New(d.Name + ": there are no samples")
	}
	d.Facts = map[string]string{"volume.vol-0123456789abcdef0": "gp3", "volume.data-1": "premium-v2", "volume.db-data": "pd-ssd"}
	w.Source(d)
	return nil
}

// put creates a claim on the server that is bound to a volume of a driver.
func put(t *testing.T, c *kubeclient.Client, name, driver, handle, zone string) {
	t.Helper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name, Labels: map[string]string{corev1.LabelTopologyZone: zone}},
		Spec: corev1.PersistentVolumeSpec{Capacity: size, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle}}}}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: pv.Spec.AccessModes, Resources: corev1.VolumeResourceRequirements{Requests: size}}}

	if handle != "" {
		claim.Spec.VolumeName = pv.Name
		if _, err := kubeclient.Volumes.Create(t.Context(), c, "", pv, false); err != nil {
			t.Fatal(err)
		}
	}

	if _, err := kubeclient.Claims.Create(t.Context(), c, "db", claim, false); err != nil {
		t.Fatal(err)
	}
}

// run creates a pod that mounts claims.
func run(t *testing.T, c *kubeclient.Client, name string, claims ...string) {
	t.Helper()
	box := corev1.Container{Name: "mongod", Image: "mongo:8.0"}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i, claim := range claims {
		v := fmt.Sprintf("v%d", i)
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: v, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
		box.VolumeMounts = append(box.VolumeMounts, corev1.VolumeMount{Name: v, MountPath: "/" + claim})
	}
	p.Spec.Containers = []corev1.Container{box}
	if _, err := kubeclient.Pods.Create(t.Context(), c, "db", p, false); err != nil {
		t.Fatal(err)
	}
}

// A real API server returns the volumes of a pod to a user who may read pods, claims and volumes.
func TestPod(t *testing.T) {
	s := clustertest.Run(t)
	admin := s.Client(t, clustertest.Admin, "db")
	put(t, admin, "data", "ebs.csi.aws.com", "vol-0123456789abcdef0", "eu-central-1a")
	put(t, admin, "journal", "ebs.csi.aws.com", "vol-0123456789abcdef1", "eu-central-1a")
	put(t, admin, "gdata", "pd.csi.storage.gke.io", "projects/shop/zones/europe-west1-b/disks/db-data", "europe-west1-b")
	put(t, admin, "gboth", "pd.csi.storage.gke.io", "projects/shop/regions/europe-west1/disks/db-ha", "")
	const disk = "/subscriptions/1/resourceGroups/db/providers/Microsoft.Compute/disks/data-1"
	put(t, admin, "adata", "disk.csi.azure.com", disk, "")
	put(t, admin, "local", "local.csi.example.com", "x", "")
	put(t, admin, "new", "", "", "")
	run(t, admin, "aws-0", "data", "journal")
	run(t, admin, "mixed-0", "gdata", "adata", "gboth")
	run(t, admin, "local-0", "local")
	run(t, admin, "new-0", "new")
	run(t, admin, "bare-0")

	const refused = "k8s://db/aws-0"
	t.Setenv("KUBECONFIG", s.Kubeconfig(t, clustertest.Guest, "db"))
	if _, err := read(t, refused, "", new([]string)); err == nil || err.Error() != "no permission to get pods in namespace db" {
		t.Errorf("%v", err)
	}

	s.Grant(t, clustertest.Guest, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"persistentvolumes", "persistentvolumeclaims", "pods"}, Verbs: []string{"get"}}})

	for name, x := range map[string]struct{ address, fails, asked, failed, noted, claim string }{
		"aws, in one": {address: "k8s://db/aws-0", asked: "aws://vol-0123456789abcdef0,vol-0123456789abcdef1?region=eu-central-1",
			claim: "data, mounted by mongod at /data"},
		"the context's namespace": {address: "k8s://aws-0", asked: "aws://vol-0123456789abcdef0,vol-0123456789abcdef1?region=eu-central-1"},
		"others":                  {address: "k8s://db/mixed-0", asked: "gcp://projects/shop/zones/europe-west1-b/disks/db-data azure://" + disk, noted: "claim gboth: its disk projects/shop/regions/europe-west1/disks/db-ha is in two zones"},
		"one that fails":          {address: "k8s://db/mixed-0", fails: "gcp://", asked: "gcp://projects/shop/zones/europe-west1-b/disks/db-data azure://" + disk, noted: "gcp://projects/shop/zones/europe-west1-b/disks/db-data: there are no samples"},
		"all that fail":           {address: "k8s://db/aws-0", fails: "aws://", asked: "aws://vol-0123456789abcdef0,vol-0123456789abcdef1?region=eu-central-1", failed: "there are no samples"},
		"another driver":          {address: "k8s://db/local-0", failed: "claim local: its driver local.csi.example.com is not supported: want one of AWS, Azure or Google Cloud"},
		"no volume":               {address: "k8s://db/new-0", failed: "claim new is not bound to a volume"},
		"no claims":               {address: "k8s://db/bare-0", failed: "pod bare-0 has no claims"},
		"no pod":                  {address: "k8s://db/aws", failed: "pod aws not found in namespace db"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			w, err := read(t, x.address, x.fails, &asked)
			if got := strings.Join(asked, " "); got != x.asked {
				t.Errorf("asked %s, not %s", got, x.asked)
			}

			said, claim := "", ""
			for _, n := range w.Notes() {
				said += n.Text + "\n"
			}

			for _, d := range w.Sources() {
				claim += d.Facts["claim.vol-0123456789abcdef0"]
			}

			switch {
			case x.failed == "" && err != nil, x.failed != "" && (err == nil || !strings.Contains(err.Error(), x.failed)):
				t.Errorf("%v, not %q", err, x.failed)
			case !strings.Contains(said, x.noted), x.noted == "" && said != "":
				t.Errorf("%q, not %q", said, x.noted)
			case x.claim != "" && claim != x.claim:
				t.Errorf("%q, not %q", claim, x.claim)
			}
		})
	}
}

func read(t *testing.T, address, fails string, asked *[]string) (*recording.Memory, error) {
	t.Helper()
	var all []pod.Provider
	for _, scheme := range []string{"aws", "gcp", "azure"} {
		all = append(all, provider{scheme, asked, fails})
	}
	s, err := pod.Cloud{Providers: all}.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	w := recording.NewMemory(recording.MemoryOptions{})
	return w, s.Read(t.Context(), w, source.Options{})
}

func TestAddresses(t *testing.T) {
	for _, arg := range []string{"k8s://db/mongo-0", "k8s://mongo-0", "k8s://db/mongo-0?context=arn:aws:eks:x"} {
		if _, err := (pod.Cloud{}).Open(t.Context(), arg); err != nil {
			t.Errorf("%s: %v", arg, err)
		}
	}
	for _, arg := range []string{"k8s://", "k8s://db/a/b", "k8s://Db/mongo-0", "k8s://db/mongo-0?zone=a", "k8s://u:p@db/mongo-0"} {
		if _, err := (pod.Cloud{}).Open(t.Context(), arg); err == nil {
			t.Error(arg)
		}
	}
}
