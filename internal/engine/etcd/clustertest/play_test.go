//go:build linux

package clustertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/record/kubeclient"
)

// As in a cluster, deleting a set without orphaning its pods deletes them too: a rollout that does so
// must not pass.
func TestDeletedWithItsPods(t *testing.T) {
	s := Run(t)
	c := s.Client(t, Admin, ns)
	ctx := t.Context()
	one := int32(1)
	labels := map[string]string{"app": "gone"}

	set, err := kubeclient.StatefulSets.Create(ctx, c, ns, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "gone"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "db"}}}},
		},
	}, false)
	if err != nil {
		t.Fatal(err)
	}

	p := &Play{C: c, Name: "gone", Dir: t.TempDir(), Nodes: "node-"}
	until := func(what string, want int) {
		t.Helper()
		err := kubeclient.Wait(ctx, 10*time.Millisecond, patience, func(ctx context.Context) (string, error) {
			if err := p.Turn(ctx); err != nil {
				return "", err
			}
			pods, err := kubeclient.Pods.List(ctx, c, ns, "app=gone")
			if err != nil || len(pods) == want && (want == 0 || ready(&pods[0])) {
				return "", err
			}
			return fmt.Sprintf("there are %d pods", len(pods)), nil
		})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}

	until("a pod", 1)
	if err := kubeclient.StatefulSets.Delete(ctx, c, ns, "gone", set.UID, false); err != nil {
		t.Fatal(err)
	}

	until("none", 0)
}

// A path is below a mount only if whole path components match, and a log that is not on a volume is
// lost.
func TestPathsOfAContainer(t *testing.T) {
	c := &corev1.Container{VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "log", MountPath: "/data/log"}}}
	folders := map[string]string{"data": "/d", "log": "/l"}
	for path, want := range map[string]string{"/data": "/d", "/data/x": "/d/x", "/data/log/1": "/l/1", "/data/logs": "/d/logs", "/data-old/x": "", "/tmp": ""} {
		if got := on(c, folders, path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	p := &Play{Dir: t.TempDir(), Log: "/data-old/journal", Restarts: map[string]int{}}
	p.begin(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db-0"}, Spec: corev1.PodSpec{Containers: []corev1.Container{*c}}}, folders)
	if len(p.Lost) != 1 {
		t.Errorf("lost: %q", p.Lost)
	}
}

// Long lines of the audit log are read as well.
func TestChangesOfALongLine(t *testing.T) {
	s := &Server{Dir: t.TempDir()}
	line := func(pad, name string) string {
		return fmt.Sprintf(`{"pad": %q, "verb": "delete", "requestURI": "/", "impersonatedUser": {"username": "it"}, "objectRef": {"resource": "pods", "name": %q}, "responseStatus": {"code": 200}}`+"\n", pad, name)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "audit.log"), []byte(line(strings.Repeat("x", 1<<17), "a")+line("", "b")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.Changes(t, "it"), ", "); got != "delete pods/a, delete pods/b" {
		t.Errorf("%s", got)
	}
}
