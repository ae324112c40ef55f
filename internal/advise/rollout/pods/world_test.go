//go:build linux

package pods_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/advise/discover"
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout/pods"
	"plimsoll/internal/engine"
	"plimsoll/internal/engine/etcd/clustertest"
	"plimsoll/internal/record/kubeclient"
)

const before = `plimsoll: 1
name: NAME
host: {filesystem: xfs}
volumes:
  data: {type: gp3, size: 100GiB, iops: 3000, throughput: 125MiB/s}
engine: {mongodb: {cache: 1GB}}
workload: {preset: telemetry}
`

// patience bounds every wait, on a busy machine.
const patience = 5 * time.Minute

// A world is a StatefulSet of three pods on a real API server, each with a database that writes.
type world struct {
	t    *testing.T
	c    *kubeclient.Client
	at   discover.Address
	play *clustertest.Play
	stop func() error
	// by is the user that carries out the rollout, with the role from the documentation and no other.
	by *kubeclient.Client
}

// roller is the user that runs the rollouts.
const roller = "roller"

// newWorld creates a separate StatefulSet on a server.
func newWorld(t *testing.T, s *clustertest.Server, name string) *world {
	t.Helper()
	w := &world{t: t, c: s.Client(t, clustertest.Admin, "db"), by: s.As(t, roller, "db"), at: discover.Address{Namespace: "db", Name: name}}
	ctx := t.Context()
	yes := true

	_, err := kubeclient.StorageClasses.Create(ctx, w.c, "", &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gp3"}, Provisioner: "ebs.csi.aws.com", AllowVolumeExpansion: &yes, Parameters: map[string]string{"type": "gp3"},
	}, false)
	if err != nil && !kubeclient.IsThere(err) {
		t.Fatal(err)
	}

	for i := range 3 {
		_, err := kubeclient.Nodes.Create(ctx, w.c, "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), Labels: map[string]string{
			corev1.LabelTopologyZone: "eu-1a", corev1.LabelInstanceTypeStable: "m6i.xlarge",
		}}}, false)
		if err != nil && !kubeclient.IsThere(err) {
			t.Fatal(err)
		}
	}

	text, err := os.ReadFile("testdata/mongo.yaml")
	if err != nil {
		t.Fatal(err)
	}

	set := &appsv1.StatefulSet{}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(string(text), "NAME", name)), set); err != nil {
		t.Fatal(err)
	}

	if _, err := kubeclient.StatefulSets.Create(ctx, w.c, "db", set, false); err != nil {
		t.Fatal(err)
	}

	w.play = &clustertest.Play{C: w.c, Name: name, Dir: t.TempDir(), Provider: "ebs.csi.aws.com", Zone: "eu-1a", Nodes: "node-", Log: "/data/db/journal", File: "WiredTigerLog.0000000001"}
	w.start()
	t.Cleanup(func() {
		if w.stop != nil {
			_ = w.stop() // checked where it matters
		}
	})

	w.await("three ready pods", func() bool { return len(w.ready()) == 3 })
	return w
}

// scenario is the plan's scenario. Its name is part of the classes' names, so each world has its own.
func (w *world) scenario() string { return strings.ReplaceAll(before, "NAME", w.at.Name) }

func (w *world) start() { w.stop = w.play.Go(w.t) }

// rest ends the play's goroutine, so that its records can be read.
func (w *world) rest() {
	w.t.Helper()
	if w.stop != nil {
		if err := w.stop(); err != nil {
			w.t.Fatal(err)
		}
		w.stop = nil
	}
	if len(w.play.Lost) > 0 || len(w.play.Down) > 0 {
		w.t.Fatalf("lost: %q; down at once: %q", w.play.Lost, w.play.Down)
	}
}

func (w *world) await(what string, is func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("no %s", what)
		}
	}
}

func (w *world) ready() (out []string) {
	w.t.Helper()
	all, err := kubeclient.Pods.List(w.t.Context(), w.c, "db", "app="+w.at.Name)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range all {
		if discover.Ready(&all[i]) {
			out = append(out, all[i].Name)
		}
	}
	return out
}

// claims returns the UIDs of all claims by name.
func (w *world) claims() map[string]string {
	w.t.Helper()
	all, err := kubeclient.Claims.List(w.t.Context(), w.c, "db", "")
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]string{}
	for i := range all {
		if strings.HasSuffix(strings.TrimRight(all[i].Name, "0123456789"), "-"+w.at.Name+"-") {
			out[all[i].Name] = string(all[i].UID)
		}
	}
	return out
}

func (w *world) options(at func(string)) pods.Options {
	return pods.Options{Engines: engine.All().Deployments(), At: at, Every: 20 * time.Millisecond, Patience: patience}
}

// attempt runs a rollout and kills it at its nth point, like SIGKILL: its goroutine ends there without any
// cleanup. 0: it runs to completion.
func (w *world) attempt(n int, run func(opt pods.Options) error) (points []string, killed bool, err error) {
	done := make(chan bool)
	go func() {
		finished := false
		defer func() { done <- finished }()
		err = run(w.options(func(point string) {
			points = append(points, point)
			if len(points) == n {
				runtime.Goexit()
			}
		}))
		finished = true
	}()
	return points, !<-done, err
}

func (w *world) begin(sets ...string) func(pods.Options) error {
	return func(opt pods.Options) error {
		r, err := pods.New(context.Background(), w.by, w.at, &emit.Request{File: "plan.json", Text: w.scenario(), Sets: sets}, opt)
		if err != nil {
			return err
		}
		return r.Run(context.Background())
	}
}

// again opens the rollout again, like another process would.
func (w *world) again(act func(*pods.Rollout) error) func(pods.Options) error {
	return func(opt pods.Options) error {
		r, err := pods.Open(context.Background(), w.by, w.at, opt)
		if err != nil {
			return err
		}
		if r == nil {
			return errors.New("there is no rollout")
		}
		return act(r)
	}
}

func resume(r *pods.Rollout) error { return r.Run(context.Background()) }
func undo(r *pods.Rollout) error   { return r.Undo(context.Background()) }

// merge changes an object of the cluster, as another user.
func merge[T any](w *world, kind kubeclient.Kind[T], namespace, name string, patch map[string]any) {
	w.t.Helper()
	if _, err := kind.Merge(w.t.Context(), w.c, namespace, name, patch); err != nil {
		w.t.Fatal(err)
	}
}

// quick gives a claim a class that no rollout created, as a user could, and waits until the claim has
// it.
func (w *world) quick(claim string) {
	w.t.Helper()
	_, err := kubeclient.AttributesClasses.Create(w.t.Context(), w.c, "", &storagev1.VolumeAttributesClass{
		ObjectMeta: metav1.ObjectMeta{Name: "quick"}, DriverName: "ebs.csi.aws.com", Parameters: map[string]string{"type": "gp3", "iops": "3000", "throughput": "125"},
	}, false)
	if err != nil && !kubeclient.IsThere(err) {
		w.t.Fatal(err)
	}
	merge(w, kubeclient.Claims, "db", claim, map[string]any{"spec": map[string]any{"volumeAttributesClassName": "quick"}})
	w.await("claim with the class", func() bool { class, _ := w.claim(claim); return class == "quick" })
}

// claim returns the class and size of a claim's volume.
func (w *world) claim(name string) (class, size string) {
	w.t.Helper()
	c, err := kubeclient.Claims.Get(w.t.Context(), w.c, "db", name)
	if err != nil {
		w.t.Fatal(err)
	}
	if c.Status.CurrentVolumeAttributesClassName != nil {
		class = *c.Status.CurrentVolumeAttributesClassName
	}
	capacity := c.Status.Capacity[corev1.ResourceStorage]
	return class, capacity.String()
}

// settle ends the play and reports whether the pods' logs are on the log's claims or on the data's.
func (w *world) settle(kept map[string]string) (onLog, onData int) {
	w.t.Helper()
	w.await("three ready pods", func() bool { return len(w.ready()) == 3 })

	now := w.claims()
	for name, uid := range kept {
		if now[name] != uid {
			w.t.Fatalf("claim %s is gone or another one", name)
		}
	}

	w.rest()
	for i := range 3 {
		pod := fmt.Sprintf("%s-%d", w.at.Name, i)
		switch place := w.play.LogOf(pod); {
		case strings.HasPrefix(place, filepath.Join(w.play.Dir, now["journal-"+pod])) && now["journal-"+pod] != "":
			onLog++
		case strings.HasPrefix(place, filepath.Join(w.play.Dir, now["data-"+pod])):
			onData++
		default:
			w.t.Fatalf("the log of %s is at %s", pod, place)
		}
	}

	return onLog, onData
}

// isAsBefore checks that the set has its original templates and update strategy.
func (w *world) isAsBefore() {
	w.t.Helper()
	set, err := kubeclient.StatefulSets.Get(w.t.Context(), w.c, "db", w.at.Name)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(set.Spec.VolumeClaimTemplates) != 1 || len(set.Spec.Template.Spec.InitContainers) != 0 || set.Spec.UpdateStrategy.Type != appsv1.RollingUpdateStatefulSetStrategyType {
		w.t.Errorf("the set has %d claim templates, %d init containers, strategy %s", len(set.Spec.VolumeClaimTemplates), len(set.Spec.Template.Spec.InitContainers), set.Spec.UpdateStrategy.Type)
	}
}
