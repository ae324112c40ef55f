package watch_test

import (
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/judge/headroom"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
	"plimsoll/internal/watch"
)

// The published alerts are valid rules about metrics that are served and documented, and every metric
// served is documented.
func TestPageListsTheMetrics(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}

	alerts, err := os.ReadFile("../../deploy/watch-alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}

	groups, errs := rulefmt.Parse(alerts, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 || len(groups.Groups) != 1 || len(groups.Groups[0].Rules) < 4 {
		t.Fatalf("the alerts: %v", errs)
	}

	for _, r := range groups.Groups[0].Rules {
		if !strings.Contains(string(page), "| `"+r.Alert+"` | ") || !strings.Contains(string(page), "| "+r.Labels["severity"]+" |") {
			t.Errorf("docs/metrics.md has no row for %s with severity %s", r.Alert, r.Labels["severity"])
		}
	}

	served := servedMetrics(t)
	for _, name := range regexp.MustCompile(`plimsoll_[a-z_]+`).FindAllString(string(alerts), -1) {
		if !served[name] {
			t.Errorf("the alerts are about %s, which is not served", name)
		}
	}

	for name := range served {
		stem := name
		for strings.Contains(stem, "_") && !strings.Contains(string(page), stem) {
			stem = stem[:strings.LastIndexByte(stem, '_')]
		}
		if stem == "plimsoll" {
			t.Errorf("%s is not documented", name)
		}
	}
}

// bursting is a volume with credits above a baseline of 150 IOPS.
var bursting = headroom.Known{Volumes: map[string]headroom.Offer{"nvme1n1": func(int64) (headroom.Volume, error) {
	return headroom.Volume{Text: "gp2 of 50 GiB", Sustained: rules.Rate{IOPS: 150}, Burst: rules.Rate{IOPS: 3000}, Credits: 5.4e6}, nil
}}}

// servedMetrics returns the program's own metrics, from a watch with a ring that sees a stall.
func servedMetrics(t *testing.T) map[string]bool {
	served := map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		ring, err := recording.Create(t.TempDir(), recording.DiskOptions{Keep: time.Hour})
		if err != nil {
			t.Fatal(err)
		}

		w := start(t, watch.Options{Pack: testkit.Pack(), Known: bursting, Ring: ring, Push: recording.NewMemory(recording.MemoryOptions{})}, newStalling(func(second int) bool { return second > 30 }))
		time.Sleep(100 * time.Second)
		families, err := w.Registry().Gather()
		if err != nil {
			t.Error(err)
		}

		for _, f := range families {
			if strings.HasPrefix(f.GetName(), "plimsoll_") {
				served[f.GetName()] = true
			}
		}

		w.end()
		if err := ring.Close(); err != nil {
			t.Error(err)
		}
	})

	return served
}
