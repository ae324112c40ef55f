package watch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
	"plimsoll/internal/watch"
)

// onHost is a stalling source on one of several hosts with the same devices.
func onHost(host string, already int, stalls func(second int) bool) *stalling {
	s := newStalling(stalls)
	s.Polled = source.NewPolled(recording.Source{Kind: "test", Name: "mongodb://" + host + ":27017", Engine: "mongodb"})
	s.ops, s.took, s.busy, s.writes = 1e6*float64(already), 3e9*float64(already), 1e4*float64(already), 2e6*float64(already)
	return s
}

// Each server's stalls are detected, reported and counted separately, with its name, regardless of the
// order of the servers. A healthy server next to it is not affected.
func TestServersAreWatchedSeparately(t *testing.T) {
	for _, order := range [][]string{{"calm", "sick"}, {"sick", "calm"}, {"sick", "calm", "other"}} {
		t.Run(strings.Join(order, " "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sources []source.Source
				for i, name := range order {
					var stalls func(second int) bool
					switch name {
					case "sick":
						stalls = func(second int) bool { return second > 120 && second <= 150 }
					case "other":
						stalls = func(second int) bool { return second > 135 && second <= 155 }
					}
					sources = append(sources, onHost(name, i+1, stalls))
				}

				w := start(t, watch.Options{Pack: testkit.Pack(), Window: 5 * time.Minute, Every: 30 * time.Second}, sources...)
				defer w.end()
				time.Sleep(145 * time.Second)

				_, text := w.get("/metrics")
				for _, name := range order {
					stalled := 0
					if name != "calm" {
						stalled = 1
					}
					if want := fmt.Sprintf(`plimsoll_stall_in_progress{server="mongodb://%s:27017",subject="MongoDB writes"} %d`, name, stalled); !strings.Contains(text, want) {
						t.Errorf("no %s in\n%s", want, text)
					}
				}

				if !strings.Contains(text, `plimsoll_finding_active{kind="symptom",rule="mongodb/slow-writes",server="mongodb://sick:27017",severity="critical",subject="MongoDB writes"} 1`) {
					t.Errorf("the finding does not name the server:\n%s", text)
				}

				time.Sleep(60 * time.Second)
				lasted := map[any]any{}
				for _, m := range w.changes.said(t, "the stall is over") {
					lasted[m["server"]] = m["lasted"]
				}

				want := map[any]any{"mongodb://sick:27017": "30.0 s"}
				if slices.Contains(order, "other") {
					want["mongodb://other:27017"] = "20.0 s"
				}

				if fmt.Sprint(lasted) != fmt.Sprint(want) {
					t.Errorf("stalls over: %v, want %v", lasted, want)
				}

				for _, m := range w.changes.all(t) {
					if m["server"] == "mongodb://calm:27017" {
						t.Errorf("about the calm server: %v", m)
					}
				}

				r := w.Report()
				if r.Server == nil || r.Server.Host != "sick" || len(r.Others) != len(order)-1 || r.StalledS() != 30 {
					t.Errorf("the report is about %+v with %d others, %v s stalled", r.Server, len(r.Others), r.StalledS())
				}
			})
		})
	}
}
