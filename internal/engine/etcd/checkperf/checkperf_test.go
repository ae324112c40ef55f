//go:build linux

package checkperf

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/engine/etcd/etcdtest"
	etcd "plimsoll/internal/engine/etcd/server"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/lab/loadgen"
)

// The load of a short check is complete, is judged by every criterion, and is removed afterwards.
func TestRun(t *testing.T) {
	host := etcdtest.Run(t, 1, false, "--unsafe-no-fsync=false").Endpoints[0] // the server's log is judged
	a, err := existing.Kinds{etcd.Addresses}.Parse("etcd://"+host, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}

	opt := Options{Load: Load{"s", 150, 50}, Duration: 2 * time.Second, Seed: 1}
	v, err := etcd.NewExisting(existing.Options{Address: a, Name: "plimsoll_lab_test"}, KeyBytes)
	if err != nil {
		t.Fatal(err)
	}

	if _, err = v.InspectFor(t.Context(), ValueSize, opt.Puts()); err != nil {
		t.Fatal(err)
	}

	reported := false
	opt.Progress = func(_, all time.Duration, _ units.Frequency, _ units.Duration) { reported = all == 2*time.Second }
	r, err := Run(t.Context(), v, opt)
	if err != nil {
		t.Fatal(err)
	}

	if r.Puts+r.Unanswered != 300 || r.Failed != 0 || !reported || !strings.HasPrefix(r.Server, "etcd 3.") {
		t.Errorf("%+v, reported %v", r, reported)
	}

	for _, c := range append(r.Etcdctl, r.P99s...) {
		if c.Value == nil || c.Passed == nil || *c.Value < 0 {
			t.Errorf("%s was not judged: %+v, %q", c.Name, c, r.Remarks)
		}
	}

	again, err := etcd.NewExisting(existing.Options{Address: a, Name: "plimsoll_lab_test"}, 0)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := again.InspectFor(t.Context(), ValueSize, 1); err != nil { // leftover keys would be in the way
		t.Error(err)
	}
}

// ops returns puts a millisecond apart, some of which take longer.
func ops(n int, took time.Duration, slow map[int]time.Duration) []latency.Operation {
	out := make([]latency.Operation, n)
	for i := range out {
		out[i] = latency.Operation{At: vtime.Instant(i) * 1e6, Took: int64(took), Write: true}
		if d := slow[i]; d > 0 {
			out[i].Took = int64(d)
		}
	}
	return out
}

// Each criterion fails when it should.
func TestJudge(t *testing.T) {
	opt := &Options{Load: Load{"m", 1000, 200}, Duration: time.Second}
	none := errors.New("no /metrics")

	late := map[int]time.Duration{}
	for i := range 200 {
		late[i] = 300 * time.Millisecond
	}

	few := map[int]time.Duration{}
	for i := range 15 {
		few[100+i] = 150 * time.Millisecond
	}

	for name, c := range map[string]struct {
		asked  loadgen.Result
		failed string
	}{
		"fine":       {loadgen.Result{Operations: ops(1000, time.Millisecond, nil), Asked: 1000}, ""},
		"slow":       {loadgen.Result{Operations: ops(1000, time.Millisecond, map[int]time.Duration{9: 600 * time.Millisecond}), Asked: 1000}, "slowest"},
		"uneven":     {loadgen.Result{Operations: ops(1000, time.Millisecond, late), Asked: 1000}, "stddev put_p99"},
		"tail":       {loadgen.Result{Operations: ops(1000, time.Millisecond, few), Asked: 1000}, "put_p99"},
		"too few":    {loadgen.Result{Operations: ops(900, time.Millisecond, nil), Asked: 900}, "throughput"},
		"errors":     {loadgen.Result{Operations: ops(995, time.Millisecond, nil), Asked: 1000, Failed: 5}, "errors"},
		"unanswered": {loadgen.Result{Operations: ops(999, time.Millisecond, nil), Asked: 1000}, "slowest"},
	} {
		t.Run(name, func(t *testing.T) {
			r := judge("etcd 3.6.0", opt, &c.asked, &etcd.Histograms{}, &etcd.Histograms{}, none)
			var failed []string
			for _, x := range append(r.Etcdctl, r.P99s...) {
				switch {
				case x.Passed == nil && !strings.Contains(x.Name, "wal") && !strings.Contains(x.Name, "backend"):
					t.Errorf("%s was not judged", x.Name)
				case x.Passed != nil && !*x.Passed:
					failed = append(failed, x.Name)
				}
			}

			if got := strings.Join(failed, " "); got != c.failed || r.Passed != (c.failed == "") {
				t.Errorf("failed: %q, passed %v; not %q", got, r.Passed, c.failed)
			}

			if !strings.Contains(strings.Join(r.Remarks, ";"), "no /metrics") {
				t.Error("no remark says that the log's fsync was not judged")
			}
		})
	}
}

func TestFind(t *testing.T) {
	for name, want := range map[string]int{"s": 150, "medium": 1000, "l": 8000, "xLarge": 15000} {
		if l, err := Find(name); err != nil || int(l.Rate) != want {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	if _, err := Find(strconv.Itoa(9)); err == nil {
		t.Error("there is a load 9")
	}
}
