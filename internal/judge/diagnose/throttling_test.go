package diagnose_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// The rule on writeback throttling depends on the setting and the file system that the host reports. It
// applies only if throttling is off, and only to engines and file systems for which it helped.
func TestWritebackThrottling(t *testing.T) {
	for _, x := range []struct {
		name, engine string
		facts        map[string]string
		queue        float64
		want         string // in the finding; "" if there is none
	}{
		{"off, MongoDB on xfs", "mongodb", map[string]string{"wbt_lat_usec.sda": "0", "mount./data": "xfs rw /dev/sda"}, 100, "write p99 10.8 s without it, 129 ms with it"},
		{"off, and a short queue", "mongodb", map[string]string{"wbt_lat_usec.sda": "0", "mount./data": "xfs rw /dev/sda"}, 20, "is off on sda"},
		{"off, MongoDB on ext4", "mongodb", map[string]string{"wbt_lat_usec.sda": "0", "mount./data": "ext4 rw /dev/sda"}, 100, "write p99 6.49 s without it, 770 ms with it"},
		{"on", "mongodb", map[string]string{"wbt_lat_usec.sda": "2000", "mount./data": "xfs rw /dev/sda"}, 100, ""},
		{"not recorded", "mongodb", nil, 100, "wbt_lat_usec (0 is off; if the file is missing or unreadable, the kernel does not support it)"},
		{"not recorded, and a short queue", "mongodb", nil, 20, ""},
		{"off, PostgreSQL on xfs", "postgres", map[string]string{"wbt_lat_usec.sda": "0", "mount./data": "xfs rw /dev/sda"}, 100, "write p99 314 ms without it, 124 ms with it"},
		{"off, PostgreSQL on ext4: runs disagree", "postgres", map[string]string{"wbt_lat_usec.sda": "0", "mount./data": "ext4 rw /dev/sda"}, 100, ""},
		{"off, PostgreSQL, and the file system is not known", "postgres", map[string]string{"wbt_lat_usec.sda": "0"}, 100, ""},
		{"off, etcd: not measured", "etcd", map[string]string{"wbt_lat_usec.sda": "0", "mount./data": "xfs rw /dev/sda"}, 100, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			r, err := diagnose.Run(context.Background(), []recording.Reader{flushing(t, x.engine, x.facts, x.queue)}, diagnose.Options{Pack: testkit.Pack()})
			if err != nil {
				t.Fatal(err)
			}

			said := ""
			for _, f := range r.Findings {
				if f.Rule == "host/writeback-throttling" {
					said = f.Summary
				}
			}

			if x.want == "" && said != "" || !strings.Contains(said, x.want) {
				t.Errorf("it says %q, want %q", said, x.want)
			}

			proposed := slices.ContainsFunc(r.Actions, func(a act.Action) bool { return a.Remedy == "writeback-throttling" })
			if proposed != (x.want != "") {
				t.Errorf("that it is turned on is proposed: %v", proposed)
			}
		})
	}
}

// flushing is a recording in which writes of the device sda stall for ten of every sixty seconds behind
// a flush of the page cache.
func flushing(t *testing.T, engine string, facts map[string]string, queue float64) *recording.Memory {
	t.Helper()
	mem := recording.NewMemory(recording.MemoryOptions{})
	gauge := map[string]func(flush bool) float64{
		"node_memory_Dirty_bytes": func(flush bool) float64 {
			if flush {
				return 300e6
			}
			return 10e6
		},
	}

	rate := map[string]func(flush bool) float64{
		"node_disk_io_time_seconds_total":          func(flush bool) float64 { return either(flush, 1, 0.2) },
		"node_disk_io_time_weighted_seconds_total": func(flush bool) float64 { return either(flush, queue, 0.3) },
		"node_disk_writes_completed_total":         func(flush bool) float64 { return either(flush, 400, 300) },
		"node_disk_reads_completed_total":          func(flush bool) float64 { return either(flush, 10, 50) },
		"node_disk_written_bytes_total":            func(flush bool) float64 { return either(flush, 40e6, 2e6) },
		"node_disk_read_bytes_total":               func(bool) float64 { return 1e5 },
		"node_disk_write_time_seconds_total":       func(flush bool) float64 { return either(flush, queue, 0.3) },
	}

	b := &recording.Batch{}
	for s := range 180 {
		b.TimesMs = append(b.TimesMs, int64(1_700_000_000_000+1000*s))
	}

	column := func(name string, value func(s int) float64) {
		ls := labels.FromStrings("__name__", name)
		if strings.HasPrefix(name, "node_disk") {
			ls = labels.FromStrings("__name__", name, "device", "sda")
		}
		k := recording.Column{Labels: ls}
		for s := range b.TimesMs {
			k.Values = append(k.Values, value(s))
		}
		b.Columns = append(b.Columns, k)
	}

	for name, of := range gauge {
		column(name, func(s int) float64 { return of(s%60 >= 50) })
	}

	for name, of := range rate {
		sum := 0.0
		column(name, func(s int) float64 { sum += of(s%60 >= 50); return sum })
	}

	if err := mem.Append(context.Background(), b); err != nil {
		t.Fatal(err)
	}

	last := len(b.TimesMs) - 1
	mem.Source(recording.Source{Kind: "host", Name: "x", Engine: engine, Facts: facts, From: time.UnixMilli(b.TimesMs[0]), To: time.UnixMilli(b.TimesMs[last])})
	return mem
}

func either(is bool, a, b float64) float64 {
	if is {
		return a
	}
	return b
}
