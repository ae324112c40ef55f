package iostat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// partitioned is the output of iostat -xt -p, as text and as JSON: disks, partitions, a device with a
// partition's name but no disk, and a partition whose disk is not in the log.
func partitioned() (text, json string) {
	text = "Linux 6.1.0 (db1) \t01/15/2026 \t_x86_64_\t(2 CPU)\n\n"
	json = `{"sysstat": {"hosts": [{"nodename": "db1", "sysname": "Linux", "release": "6.1.0", "machine": "x86_64", "number-of-cpus": 2, "date": "2026-01-15", "statistics": [`
	devices := []string{"sda", "sda1", "sda2", "nvme0n1", "nvme0n1p1", "nvme1n1p3", "loop0", "xvdf1", "md0", "md0p1"}

	begin := time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC)
	for i := range 4 {
		at := begin.Add(time.Duration(i) * time.Second).Format("2006-01-02T15:04:05Z")
		text += at + "\nDevice            r/s     w/s     wkB/s w_await  %util\n"

		var rows []string
		for k, d := range devices {
			text += fmt.Sprintf("%s 0.00 %d.00 40.00 1.00 5.00\n", d, 10+k)
			rows = append(rows, fmt.Sprintf(`{"disk_device": %q, "r/s": 0.00, "w/s": %d.00, "wkB/s": 40.00, "w_await": 1.00, "util": 5.00}`, d, 10+k))
		}

		text += "\n"
		if i > 0 {
			json += ","
		}

		json += fmt.Sprintf(`{"timestamp": %q, "disk": [%s]}`, at, strings.Join(rows, ","))
	}

	return text, json + "]}]}}"
}

// TestPartitionsAreTheirDisks: a partition whose disk is in the log is not a separate device.
func TestPartitionsAreTheirDisks(t *testing.T) {
	text, json := partitioned()
	for name, log := range map[string]string{"p.log": text, "p.json": json} {
		m, _, err := read(t, name, []byte(log), source.Options{Location: time.UTC})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		series, err := m.ListSeries(t.Context(), func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}

		devices := map[string]bool{}
		for _, l := range series {
			if l.Get(labels.MetricName) == "node_disk_writes_completed_total" {
				devices[l.Get("device")] = true
			}
		}

		if got, want := slices.Sorted(maps.Keys(devices)), []string{"loop0", "md0", "nvme0n1", "nvme1n1p3", "sda", "xvdf1"}; !slices.Equal(got, want) {
			t.Errorf("%s: devices %v, want %v", name, got, want)
		}

		if !slices.ContainsFunc(m.Notes(), func(n recording.Note) bool {
			return strings.Contains(n.Text, "4 partitions") && strings.Contains(n.Text, "md0p1")
		}) {
			t.Errorf("%s: no note about the 4 partitions: %v", name, m.Notes())
		}
	}
}
