//go:build linux

package pods_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/advise/rollout/pods"
	"plimsoll/internal/advise/rollout/rollouttest"
	"plimsoll/internal/engine/etcd/clustertest"
	"plimsoll/internal/record/kubeclient"
)

// Runs everything that needs a cluster, as a user with only the documented role.
func TestOnACluster(t *testing.T) {
	s := clustertest.Run(t)
	s.Grant(t, roller, clustertest.RulesIn(t, "../../../../docs/kubernetes.md"))

	for _, test := range []struct {
		name string
		run  func(*testing.T, *clustertest.Server)
	}{
		{"claims in place", claimsInPlace},
		{"a class that the driver refuses", infeasible},
		{"the template alone", templateAlone},
		{"refused", refused},
		{"unsafe sets", unsafe},
		{"permissions", permissions},
		{"others change the set", stopsForOthers},
		{"others change it while nobody works", changedBetween},
		{"others change a claim", stopsForAnotherClass},
		{"no room for the log", noRoom},
		{"recorded", recorded},
		{"killed", killed},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, s) })
	}
}

// whole moves the journal and changes the data volumes' figures.
var whole = []string{"volumes.journal={type: gp3, size: 10GiB}", "volumes.data.iops=6000"}

// A rollout is killed at its points, then resumed or undone, and the undo is killed as well. Whenever a
// database starts, it has every write that it acknowledged; two members are never down together, and no
// claim is ever deleted. CI_FULL=1 kills at every point and does both; otherwise it kills once at each kind
// of point and does one or the other.
func killed(t *testing.T, s *clustertest.Server) {
	w := newWorld(t, s, "whole")
	kept, earlier := w.claims(), len(s.Changes(t, roller))
	points, _, err := w.attempt(0, w.begin(whole...))
	if err != nil {
		t.Fatal(err)
	}

	w.hasMoved(kept)
	w.changedOnly(s.Changes(t, roller)[earlier:])
	w.start()

	backPoints, _, err := w.attempt(0, w.again(undo))
	if err != nil {
		t.Fatal(err)
	}

	w.isBack(kept)
	forward, back := chosen(points), chosen(backPoints)
	t.Logf("%d of %d points forward, %d of %d back", len(forward), len(points), len(back), len(backPoints))
	all := &rollouttest.Kills{}
	t.Cleanup(func() { t.Log(all.Table()) }) // these tests are parallel, and end later than this function

	for i, n := range forward {
		for k, act := range []func(*pods.Rollout) error{resume, undo} {
			if i%2 != k && !everyPoint() {
				continue
			}
			t.Run(fmt.Sprintf("forward at %s, %s", points[n-1], []string{"resumed", "undone"}[k]), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, s, fmt.Sprintf("f%d-%d", k, n))
				kept := w.claims()
				w.killedAt(n, w.begin(whole...))
				if _, _, err := w.attempt(0, w.again(act)); err != nil {
					t.Fatal(err)
				}
				[]func(map[string]string){w.hasMoved, w.isBack}[k](kept)
				all.Add("forward", stepAt(points[:n]), []string{"resume", "undo"}[k], w.play.Acknowledged())
				w.rest()
			})
		}
	}

	for _, n := range back {
		t.Run(fmt.Sprintf("back at %s", backPoints[n-1]), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, s, fmt.Sprintf("b%d", n))
			kept := w.claims()

			if _, _, err := w.attempt(0, w.begin(whole...)); err != nil {
				t.Fatal(err)
			}

			w.killedAt(n, w.again(undo))
			if _, _, err := w.attempt(0, w.again(resume)); err != nil { // it keeps the direction
				t.Fatal(err)
			}

			w.isBack(kept)
			all.Add("back", stepAt(backPoints[:n]), "resume", w.play.Acknowledged())
			w.rest()
		})
	}
}

// stepAt returns the step that contains the last of the points.
func stepAt(points []string) string {
	step := ""
	for _, p := range points {
		phase, name, _ := strings.Cut(p, " ")
		if slices.Contains([]string{"begun", "undoing"}, phase) {
			step = name
		}
	}
	switch {
	case strings.HasPrefix(step, "data-"):
		return "claim"
	case strings.HasPrefix(step, "whole-"):
		return "pod"
	}
	return step
}

func everyPoint() bool { return os.Getenv("CI_FULL") != "" }

// chosen returns the points to kill at, from 1: each kind once, at the second of the three members.
func chosen(points []string) (out []int) {
	at := map[string]int{}
	for i, p := range points {
		kind, of, _ := strings.Cut(p, " ")
		if strings.HasPrefix(of, "the set") {
			kind = p
		}
		if everyPoint() {
			kind = fmt.Sprint(i)
		}
		if _, seen := at[kind]; !seen || strings.HasSuffix(p, "-1") {
			at[kind] = i + 1
		}
	}
	return slices.Sorted(maps.Values(at))
}

func (w *world) killedAt(n int, run func(pods.Options) error) {
	w.t.Helper()
	if _, killed, err := w.attempt(n, run); !killed {
		w.t.Fatalf("it was not killed: %v", err)
	}
}

// hasMoved checks that the rollout is complete.
func (w *world) hasMoved(kept map[string]string) {
	w.t.Helper()
	if onLog, _ := w.settle(kept); onLog != 3 {
		w.t.Fatalf("%d of three logs have moved", onLog)
	}
	for i := range 3 {
		if class, _ := w.claim(fmt.Sprintf("data-%s-%d", w.at.Name, i)); class != w.at.Name+"-data-gp3-6000-125" {
			w.t.Errorf("claim %d has the class %s", i, class)
		}
	}
}

// isBack checks that the deployment is as it was before the rollout.
func (w *world) isBack(kept map[string]string) {
	w.t.Helper()
	if _, onData := w.settle(kept); onData != 3 {
		w.t.Fatalf("%d of three logs are back", onData)
	}
	for i := range 3 {
		if class, _ := w.claim(fmt.Sprintf("data-%s-%d", w.at.Name, i)); class != w.at.Name+"-data-gp3-3000-125" && class != "" {
			w.t.Errorf("claim %d has the class %s", i, class)
		}
	}
	w.isAsBefore()
}

// changedOnly checks everything that the rollout changed on the server.
func (w *world) changedOnly(changes []string) {
	w.t.Helper()
	const state = " configmaps/plimsoll-rollout-whole"
	changes = slices.DeleteFunc(changes, func(c string) bool { return strings.HasSuffix(c, state) })
	want := []string{
		"create storageclasses/whole-journal-gp3-xfs-3000-125",
		"create volumeattributesclasses/whole-data-gp3-6000-125", "create volumeattributesclasses/whole-data-gp3-3000-125",
		"patch persistentvolumeclaims/data-whole-0", "patch persistentvolumeclaims/data-whole-1", "patch persistentvolumeclaims/data-whole-2",
		"delete statefulsets/whole", "create statefulsets/whole",
		"delete pods/whole-0", "delete pods/whole-1", "delete pods/whole-2",
		"update statefulsets/whole",
	}
	if !slices.Equal(changes, want) {
		w.t.Errorf("it changed\n%s\nwant\n%s", strings.Join(changes, "\n"), strings.Join(want, "\n"))
	}
}

// Claims change in place: no pod restarts, and an undo restores the old figures. A claim that had a class
// gets it back.
func claimsInPlace(t *testing.T, s *clustertest.Server) {
	w := newWorld(t, s, "tuned")
	kept := w.claims()
	w.quick("data-tuned-0")

	if _, _, err := w.attempt(0, w.begin("volumes.data.iops=6000", "volumes.data.size=200GiB")); err != nil {
		t.Fatal(err)
	}

	is := func(classes ...string) {
		t.Helper()
		for i, want := range classes {
			if class, size := w.claim(fmt.Sprintf("data-tuned-%d", i)); class != want || size != "200Gi" {
				t.Errorf("claim %d has %s and %s", i, class, size)
			}
		}
	}

	const now, old = "tuned-data-gp3-6000-125", "tuned-data-gp3-3000-125"
	is(now, now, now)
	none := map[string]any{"spec": map[string]any{"volumeAttributesClassName": nil}}

	if _, err := kubeclient.Claims.Merge(t.Context(), w.c, "db", "data-tuned-1", none); err == nil {
		t.Error("the server takes a class from a claim: going back can do that too")
	}

	if _, _, err := w.attempt(0, w.again(undo)); err != nil {
		t.Fatal(err)
	}

	is("quick", old, old)
	if _, onData := w.settle(kept); onData != 3 {
		t.Errorf("%d of three logs are with the data", onData)
	}

	for pod, n := range w.play.Restarts {
		if n != 1 {
			t.Errorf("%s was started %d times", pod, n)
		}
	}
}

// A driver that does not support the change stops the rollout at the first claim, which can be undone.
func infeasible(t *testing.T, s *clustertest.Server) {
	w := newWorld(t, s, "refusing")
	w.rest()
	w.play.Infeasible = "refusing-data-gp3-6000-125"
	w.start()
	_, _, err := w.attempt(0, w.begin("volumes.data.iops=6000"))

	const want = `stopped at "data-refusing-0", action failed: the driver cannot give claim data-refusing-0 the class refusing-data-gp3-6000-125`
	if err == nil || err.Error() != want {
		t.Fatalf("%v", err)
	}

	var h interface{ Hint() string }
	if !errors.As(err, &h) || !strings.HasPrefix(h.Hint(), "for the reason, run kubectl describe pvc data-refusing-0 -n db") || !strings.Contains(h.Hint(), "plimsoll rollout --on k8s://db/refusing --resume") {
		t.Errorf("the hint is %q", h.Hint())
	}

	if _, _, err := w.attempt(0, w.again(undo)); err != nil {
		t.Fatal(err)
	}

	for i, want := range []string{"refusing-data-gp3-3000-125", "", ""} {
		if class, _ := w.claim(fmt.Sprintf("data-refusing-%d", i)); class != want {
			t.Errorf("claim %d has the class %q", i, class)
		}
	}

	w.rest()
}

// Memory is a change of the template: each pod is recreated once, and once more by an undo.
func templateAlone(t *testing.T, s *clustertest.Server) {
	w := newWorld(t, s, "memory")
	if _, _, err := w.attempt(0, w.begin("host.memory=12GiB")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.attempt(0, w.again(undo)); err != nil {
		t.Fatal(err)
	}
	w.settle(nil)
	w.isAsBefore()
	for pod, n := range w.play.Restarts {
		if n != 3 {
			t.Errorf("%s was started %d times", pod, n)
		}
	}
}

// If a claim is smaller than the log, the database does not start on a partial log. The rollout can be
// undone, or resumed once there is space.
func noRoom(t *testing.T, s *clustertest.Server) {
	for name, act := range map[string]func(*pods.Rollout) error{"full-on": resume, "full-back": undo} {
		w := newWorld(t, s, name)
		kept := w.claims()
		w.play.Full.Store(true)
		_, _, err := w.attempt(0, w.begin(whole...))

		want := fmt.Sprintf("stopped at %q, action failed: the log of pod %[1]s was not moved, and its database does not start: its init container plimsoll-log exited with code 1", name+"-0")
		if err == nil || err.Error() != want {
			t.Fatalf("%v, want %s", err, want)
		}

		if _, _, err := w.attempt(0, w.again(resume)); err == nil {
			t.Error("it went on without room")
		}

		if name == "full-on" {
			w.play.Full.Store(false)
		}

		if _, _, err := w.attempt(0, w.again(act)); err != nil {
			t.Fatal(err)
		}

		if name == "full-on" {
			w.hasMoved(kept)
		} else {
			w.isBack(kept)
		}
	}
}
