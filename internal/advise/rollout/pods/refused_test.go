//go:build linux

package pods_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout/pods"
	"plimsoll/internal/engine/etcd/clustertest"
	"plimsoll/internal/record/kubeclient"
)

// A rollout that cannot start reports each problem in one sentence, with a hint.
func refused(t *testing.T, s *clustertest.Server) {
	w := newWorld(t, s, "refused")
	w.rest() // nothing else changes the objects
	ctx := t.Context()

	r, err := pods.New(ctx, w.by, w.at, &emit.Request{File: "plan.json", Text: w.scenario(), Sets: []string{"volumes.data.size=200GiB", whole[0]}}, w.options(nil))
	if err != nil {
		t.Fatal(err)
	}

	problems := func() []string { return r.Report(ctx, true).Problems }
	if p := problems(); len(p) > 0 {
		t.Fatalf("problems are %q", p)
	}

	for _, tt := range []struct {
		name, want  string
		spoil, mend func()
	}{
		{
			"a class that cannot expand",
			"claim data-refused-1 cannot grow: its StorageClass gp3 does not allow expansion (kubectl patch storageclass gp3 -p '{\"allowVolumeExpansion\": true}', if its driver supports it)",
			func() { merge(w, kubeclient.StorageClasses, "", "gp3", map[string]any{"allowVolumeExpansion": false}) },
			func() { merge(w, kubeclient.StorageClasses, "", "gp3", map[string]any{"allowVolumeExpansion": true}) },
		},
		{
			"another zone", "claim data-refused-1 is bound to a volume in zone eu-1a, but its pod's node is in eu-1b (the pod would not start again: check its node and volume)",
			func() { w.zone("eu-1b") }, func() { w.zone("eu-1a") },
		},
		{
			"a volume that is being modified", "the volume of claim data-refused-1 is being modified to quick (InProgress) (wait until it is done)",
			func() {
				w.claimStatus("data-refused-1", func(c *corev1.PersistentVolumeClaimStatus) {
					c.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: "quick", Status: corev1.PersistentVolumeClaimModifyVolumeInProgress}
				})
			},
			func() {
				w.claimStatus("data-refused-1", func(c *corev1.PersistentVolumeClaimStatus) { c.ModifyVolumeStatus = nil })
			},
		},
		{
			"a volume that is being resized", "the volume of claim data-refused-1 is being resized (wait until it is done)",
			func() {
				w.claimStatus("data-refused-1", func(c *corev1.PersistentVolumeClaimStatus) {
					c.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimResizing, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
				})
			},
			func() {
				w.claimStatus("data-refused-1", func(c *corev1.PersistentVolumeClaimStatus) { c.Conditions = nil })
			},
		},
		{
			"a member that is not ready", "pod refused-1 is not ready: the database recovers (kubectl describe pod refused-1 -n db)",
			func() { w.podIs(corev1.ConditionFalse, "the database recovers") }, func() { w.podIs(corev1.ConditionTrue, "") },
		},
		{
			"an operator's set", "MongoDB refused owns the StatefulSet and would revert the change (change that instead, or stop its operator for the rollout)",
			func() {
				w.owned([]map[string]any{{"apiVersion": "example.com/v1", "kind": "MongoDB", "name": "refused", "uid": "1", "controller": true}})
			},
			func() { w.owned(nil) },
		},
		{
			"a claim for the log", "claim journal-refused-1 already exists (check its contents; the rollout does not delete claims)",
			func() {
				c, err := kubeclient.Claims.Get(ctx, w.c, "db", "data-refused-1")
				if err == nil {
					c.ObjectMeta = metav1.ObjectMeta{Name: "journal-refused-1", Namespace: "db"}
					c.Spec.VolumeName = ""
					_, err = kubeclient.Claims.Create(ctx, w.c, "db", c, false)
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			func() {
				c, err := kubeclient.Claims.Get(ctx, w.c, "db", "journal-refused-1")
				if err == nil {
					merge(w, kubeclient.Claims, "db", c.Name, map[string]any{"metadata": map[string]any{"finalizers": nil}})
					err = kubeclient.Claims.Delete(ctx, w.c, "db", c.Name, c.UID, false)
				}
				if err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			"a change from elsewhere", "the StatefulSet refused was changed outside this rollout (generation 2, was 1) (check what changed, and plan again: kubectl rollout history statefulset refused -n db)",
			func() {
				merge(w, kubeclient.StatefulSets, "db", "refused", map[string]any{"spec": map[string]any{"minReadySeconds": 5}})
			},
			func() {
				merge(w, kubeclient.StatefulSets, "db", "refused", map[string]any{"spec": map[string]any{"minReadySeconds": nil}})
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spoil()
			if got := problems(); !slices.Contains(got, tt.want) {
				t.Errorf("problems are %q, want %q", got, tt.want)
			}
			tt.mend()
		})
	}

	if got := problems(); len(got) > 0 {
		t.Fatalf("problems are left: %q", got)
	}

	if changes := s.Changes(t, roller); slices.ContainsFunc(changes, func(c string) bool { return strings.Contains(c, "refused") }) {
		t.Errorf("it changed %q", changes)
	}
}

// A set is not replaced if its pods have no readiness probe, or if its claims are deleted with it.
func unsafe(t *testing.T, s *clustertest.Server) {
	w := newWorld(t, s, "unsafe")
	w.rest()
	merge(w, kubeclient.StatefulSets, "db", "unsafe", map[string]any{"spec": map[string]any{
		"persistentVolumeClaimRetentionPolicy": map[string]any{"whenDeleted": "Delete"},
		"template":                             map[string]any{"spec": map[string]any{"containers": []map[string]any{{"name": "mongod", "image": "mongo:8.0", "volumeMounts": []map[string]any{{"name": "data", "mountPath": "/data/db"}}}}}},
	}})
	const want = "the rollout has to recreate unsafe, but deleting it would delete its claims (set persistentVolumeClaimRetentionPolicy.whenDeleted to Retain first)\n" +
		"container mongod has no readiness probe: Kubernetes would report a member as ready before its database is (add one that queries the database)"
	if got := w.dry(w.by); got != want {
		t.Errorf("problems are %q", got)
	}
}

func (w *world) owned(by []map[string]any) {
	w.t.Helper()
	merge(w, kubeclient.StatefulSets, "db", w.at.Name, map[string]any{"metadata": map[string]any{"ownerReferences": by}})
}

// zone moves the second member's node.
func (w *world) zone(zone string) {
	w.t.Helper()
	merge(w, kubeclient.Nodes, "", "node-1", map[string]any{"metadata": map[string]any{"labels": map[string]any{corev1.LabelTopologyZone: zone}}})
}

func (w *world) claimStatus(name string, change func(*corev1.PersistentVolumeClaimStatus)) {
	w.t.Helper()
	c, err := kubeclient.Claims.Get(w.t.Context(), w.c, "db", name)
	if err == nil {
		change(&c.Status)
		_, err = kubeclient.Claims.UpdateStatus(w.t.Context(), w.c, "db", name, c)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// podIs sets the second member's readiness.
func (w *world) podIs(ready corev1.ConditionStatus, message string) {
	w.t.Helper()
	name := w.at.Name + "-1"
	p, err := kubeclient.Pods.Get(w.t.Context(), w.c, "db", name)
	if err == nil {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, Message: message, LastTransitionTime: metav1.Now()}}
		_, err = kubeclient.Pods.UpdateStatus(w.t.Context(), w.c, "db", name, p)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// The documented role has exactly the required permissions: without any one of them, the rollout does not
// begin and names the missing one.
func permissions(t *testing.T, s *clustertest.Server) {
	w := newWorld(t, s, "guarded")
	w.quick("data-guarded-0")
	w.rest()
	rules := clustertest.RulesIn(t, "../../../../docs/kubernetes.md")

	// The server does not recognise the token "expired".
	if text := w.dry(s.Client(t, "expired", "db")); !strings.HasSuffix(text, "does not accept the credentials: they are invalid or have expired") {
		t.Errorf("with credentials that have expired: %q", text)
	}

	n := 0
	for i, rule := range rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if verb == "list" {
					continue // only to suggest names
				}
				n++
				user := fmt.Sprintf("without-%d", n)
				s.Grant(t, user, without(rules, i, resource, verb))
				text := w.dry(s.As(t, user, "db"))
				of := strings.TrimSuffix(resource+"."+rule.APIGroups[0], ".")
				if want := "no permission to " + verb + " " + of + " "; strings.Count(text, "no permission") != 1 || !strings.Contains(text, want) {
					t.Errorf("without %s %s: %q", verb, resource, text)
				}
			}
		}
	}

	if n < 15 {
		t.Errorf("the documentation has %d permissions", n)
	}
}

// dry returns the problems that a dry run reports.
func (w *world) dry(as *kubeclient.Client) string {
	w.t.Helper()
	r, err := pods.New(w.t.Context(), as, w.at, &emit.Request{File: "plan.json", Text: w.scenario(), Sets: whole}, w.options(nil))
	if err != nil {
		return err.Error()
	}
	return strings.Join(r.Report(w.t.Context(), true).Problems, "\n")
}

// without returns the rules minus one permission.
func without(rules []rbacv1.PolicyRule, of int, resource, verb string) (out []rbacv1.PolicyRule) {
	for i, r := range rules {
		for _, res := range r.Resources {
			verbs := slices.Clone(r.Verbs)
			if i == of && res == resource {
				verbs = slices.DeleteFunc(verbs, func(v string) bool { return v == verb })
			}
			if len(verbs) > 0 {
				out = append(out, rbacv1.PolicyRule{APIGroups: r.APIGroups, Resources: []string{res}, Verbs: verbs})
			}
		}
	}
	return out
}

// If the set is changed in the middle of a rollout, the rollout stops before it deletes another pod. Two
// processes cannot run the same rollout.
func stopsForOthers(t *testing.T, s *clustertest.Server) {
	w := newWorld(t, s, "shared")
	points, _, err := w.attempt(0, func(opt pods.Options) error {
		at := opt.At
		opt.At = func(point string) {
			if point == "done shared-0" {
				w.minReady("shared", 3)
			}
			at(point)
		}
		return w.begin(whole...)(opt)
	})
	if err == nil || !strings.Contains(err.Error(), `stopped at "shared-1", precondition failed: the StatefulSet shared was changed outside this rollout (generation `) {
		t.Fatalf("%v", err)
	}

	if slices.Contains(points, "deleted shared-1") {
		t.Error("another pod was deleted")
	}

	w.minReady("shared", nil)

	// Of two processes that continue a rollout, the one that saves later stops.
	_, _, err = w.attempt(0, func(opt pods.Options) error {
		first := true
		at := opt.At
		opt.At = func(point string) {
			if first {
				first = false
				if err := w.again(resume)(w.options(nil)); err != nil {
					t.Errorf("the other process: %v", err)
				}
			}
			at(point)
		}

		return w.again(resume)(opt)
	})
	if err == nil || !strings.Contains(err.Error(), "another process is working on the rollout") {
		t.Errorf("%v", err)
	}

	w.rest()
}

func (w *world) minReady(name string, seconds any) {
	w.t.Helper()
	merge(w, kubeclient.StatefulSets, "db", name, map[string]any{"spec": map[string]any{"minReadySeconds": seconds}})
}

// If the set is changed after a rollout was killed, neither resume nor undo deletes a pod, because it would
// be recreated from the changed template.
func changedBetween(t *testing.T, s *clustertest.Server) {
	w := newWorld(t, s, "between")
	points, _, err := w.attempt(0, func(opt pods.Options) error {
		at := opt.At
		opt.At = func(point string) {
			if at(point); point == "begun between-1" {
				panic(point)
			}
		}
		defer func() { _ = recover() }() // the process ends here
		return w.begin(whole...)(opt)
	})
	if err != nil || points[len(points)-1] != "begun between-1" {
		t.Fatal(points, err)
	}

	w.minReady("between", 3)
	for name, act := range map[string]func(*pods.Rollout) error{"resume": resume, "undo": undo} {
		points, _, err := w.attempt(0, w.again(act))
		if err == nil || !strings.Contains(err.Error(), "the StatefulSet between was changed outside this rollout") || strings.Contains(strings.Join(points, " "), "deleted") {
			t.Errorf("%s: %v, %q", name, err, points)
		}
	}

	w.minReady("between", nil)
	kept := w.claims()
	if _, _, err := w.attempt(0, w.again(undo)); err != nil {
		t.Fatal(err)
	}

	w.isBack(kept)
}

// A class that was given to a claim during the rollout stays.
func stopsForAnotherClass(t *testing.T, s *clustertest.Server) {
	w := newWorld(t, s, "classed")
	_, _, err := w.attempt(0, func(opt pods.Options) error {
		at := opt.At
		opt.At = func(point string) {
			if at(point); point == "done classes" {
				w.quick("data-classed-1")
			}
		}
		return w.begin(whole...)(opt)
	})
	if err == nil || err.Error() != `stopped at "data-classed-1", action failed: claim data-classed-1 was given the class quick outside this rollout` {
		t.Errorf("%v", err)
	}

	if class, _ := w.claim("data-classed-1"); class != "quick" {
		t.Errorf("the claim has the class %s", class)
	}

	w.rest()
}
