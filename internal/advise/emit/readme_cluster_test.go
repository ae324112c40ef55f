//go:build linux

package emit_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine/etcd/clustertest"
	"plimsoll/internal/record/kubeclient"
)

// kubectl runs the README's commands on a real API server in the given order, forward and back.
// Afterwards everything is as before.
func TestReadmeOnACluster(t *testing.T) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("there is no kubectl")
	}

	s := clustertest.Run(t)
	c, ctx := s.Client(t, clustertest.Admin, "db"), t.Context()
	set, err := os.ReadFile("testdata/mongo.yaml")
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	run := func(text string) {
		t.Helper()
		cmd := exec.Command("/bin/sh", "-c", text) // a block may be refused in the middle if it says so
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + filepath.Dir(kubectl) + ":/usr/bin:/bin", "HOME=" + dir, "KUBECONFIG=" + s.Kubeconfig(t, clustertest.Admin, "default")}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", text, err, out)
		}
	}

	files := filesOf(t, layoutOf(t, "telemetry.yaml", "volumes.data.iops=6000", "volumes.journal={type: gp3, size: 10GiB}"), emit.Options{StatefulSet: set, StatefulSetFile: "mongo.yaml"}, "kubernetes")
	files["mongo.yaml"] = string(set)

	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	run("kubectl apply -f mongo.yaml")
	for _, name := range []string{"data-mongo-0", "data-mongo-1", "data-mongo-2"} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("500Gi")}}}}
		claim.Spec.VolumeName = "pv-" + name
		made, err := kubeclient.Claims.Create(ctx, c, "db", claim, false)
		if err == nil {
			made.Status.Phase = corev1.ClaimBound
			_, err = kubeclient.Claims.UpdateStatus(ctx, c, "db", name, made)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	// state returns the visible state of the set and its claims' classes.
	state := func() (spec, classes string) {
		t.Helper()
		got, err := kubeclient.StatefulSets.Get(ctx, c, "db", "mongo")
		if err != nil {
			t.Fatal(err)
		}

		text, err := json.Marshal(got.Spec)
		if err != nil {
			t.Fatal(err)
		}

		all, err := kubeclient.Claims.List(ctx, c, "db", "")
		if err != nil {
			t.Fatal(err)
		}

		for i := range all {
			if name := all[i].Spec.VolumeAttributesClassName; name != nil {
				classes += " " + *name
			}
		}

		return string(text), classes
	}

	before, _ := state()

	// The garbage collector, which does not run here, would delete a set whose pods are orphaned.
	playing, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() {
		ended <- kubeclient.Wait(playing, 20*time.Millisecond, time.Hour, func(ctx context.Context) (string, error) {
			if got, err := kubeclient.StatefulSets.Get(ctx, c, "db", "mongo"); err == nil && got.DeletionTimestamp != nil {
				_, err = kubeclient.StatefulSets.Merge(ctx, c, "db", "mongo", map[string]any{"metadata": map[string]any{"finalizers": nil}})
				if err != nil && !kubeclient.IsMissing(err) {
					return "", err
				}
			}
			return "on", nil
		})
	}()

	defer func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()

	for _, text := range commands(files["README.md"], "Apply") {
		run(text)
	}

	if after, classes := state(); !strings.Contains(after, "plimsoll-log") || strings.Count(classes, "gp3-6000-125") != 3 {
		t.Errorf("the set is %s, the classes%s", after, classes)
	}

	for _, text := range commands(files["README.md"], "Verify") {
		if !strings.Contains(text, "exec") && !strings.Contains(text, "describe pvc") {
			run(text)
		}
	}

	if after, _ := state(); !strings.Contains(after, "RollingUpdate") {
		t.Errorf("the strategy is not what it was: %s", after)
	}

	back := commands(files["README.md"], "Go back")
	for _, text := range back {
		run(text)
	}

	if after, classes := state(); after != before || strings.Count(classes, "gp3-3000-125") != 3 {
		t.Errorf("the set is %s, it was %s, the classes%s", after, before, classes)
	}

	storage, err := kubeclient.StorageClasses.List(ctx, c, "", "")
	if err != nil || slices.ContainsFunc(storage, func(s storagev1.StorageClass) bool { return strings.HasPrefix(s.Name, "telemetry") }) {
		t.Errorf("storage classes are left: %v, %v; the commands were %q", storage, err, back)
	}
}
