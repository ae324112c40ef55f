package watch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	promlabels "github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/record/recording"
)

// collected collects the figures by device.
type collected struct{ *figures }

func (c collected) Describe(chan<- *prometheus.Desc)    {}
func (c collected) Collect(ch chan<- prometheus.Metric) { c.collect("source", ch) }
func (c collected) devices(t *testing.T) map[string]float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(c)

	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}

	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "device" {
					out[l.GetValue()] = m.GetCounter().GetValue()
				}
			}
		}
	}

	return out
}

func busy(f *figures, ms int64, devices ...string) {
	b := &recording.Batch{TimesMs: []int64{ms}}
	for i, d := range devices {
		b.Columns = append(b.Columns, recording.Column{Labels: promlabels.FromStrings("__name__", "node_disk_io_time_seconds_total", "device", d), Values: []float64{float64(i + 1)}})
	}
	f.update(b)
}

// Unusual device names do not break metrics: invalid text, long names, and names that are equal once
// shortened.
func TestFiguresOfOddDevices(t *testing.T) {
	f := newFigures(corerules.NewPack(nil))
	long := strings.Repeat("d", 2*labelMax)
	busy(f, 1000, "nvme0n1", "bad\xff", long+"1", long+"2")
	got := collected{f}.devices(t)
	if len(got) != 3 || got["nvme0n1"] != 1 || got["bad\uFFFD"] != 2 || got[long[:labelMax]] != 3 {
		t.Errorf("%v", got)
	}
}

// Removed devices make room for present ones.
func TestFiguresOfDeadDevicesAreForgotten(t *testing.T) {
	f := newFigures(corerules.NewPack(nil))
	var dead []string
	for i := range figureSeriesMax {
		dead = append(dead, fmt.Sprintf("dead%d", i))
	}
	busy(f, 0, dead...)
	busy(f, 1000, "alive")
	if got := (collected{f}).devices(t); len(got) != figureSeriesMax || got["alive"] != 0 {
		t.Errorf("%d devices; the present one has %v", len(got), got["alive"])
	}
	busy(f, figureForgottenAfter.Milliseconds()+1000, "alive")
	if got := (collected{f}).devices(t); len(got) != 1 || got["alive"] != 1 {
		t.Errorf("%v", got)
	}
}
