package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// tree writes the /proc of a step: by step k, k x 3,100 writes of 16 KiB have completed, each in 12.5
// ms.
func tree(t *testing.T, root string, k int) {
	t.Helper()
	for name, text := range map[string]string{
		"proc/diskstats": fmt.Sprintf(`   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
   7       1 loop1 1 0 8 0 %[5]d 0 8 1 0 1 1 0 0 0 0 0 0
 253       0 zram0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 259       0 nvme1n1 5 1 40 7 %[1]d 0 %[2]d %[3]d 3 %[4]d %[3]d 2 0 16 1 9 4
 259       1 nvme1n1p1 5 1 40 7 %[1]d 0 %[2]d %[3]d 3 %[4]d %[3]d 2 0 16 1 9 4
   8       0 sda 1 2 3 4 5 6 7 8 9 10 11
`, 3100*k, 3100*k*32, 38750*k, 980*k, k),
		"proc/stat":                          fmt.Sprintf("cpu  %d 0 0 0 0 0 0 0 0 0\ncpu0 %d 1 2 3 4 5 6 7 0 0\ncpu1 0 0 0 100 0 0 0 0 0 0\nintr 1 2 3\nprocs_running 2\nprocs_blocked 7\nbtime 1795226000\n", 50*k, 50*k),
		"proc/meminfo":                       fmt.Sprintf("MemTotal:       24000000 kB\nMemAvailable:   20000000 kB\nDirty:          %d kB\nWriteback:      16 kB\nHugePages_Total:       0\n", 1000*k),
		"proc/vmstat":                        "nr_dirty 250\nnr_writeback 4\npgpgout 12345\nnr_zone_inactive_anon 1\n",
		"proc/pressure/io":                   fmt.Sprintf("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n", 900000*k, 800000*k),
		"proc/pressure/cpu":                  "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		"proc/sys/vm/dirty_background_bytes": "0\n",
		"proc/sys/vm/dirty_background_ratio": "10\n",
		"proc/sys/kernel/osrelease":          "6.1.0\n",
		"proc/sys/kernel/hostname":           "db1\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// stepper writes the next tree after each sample.
type stepper struct {
	*recording.Memory
	after func(n int)
	n     int
}

func (s *stepper) Append(ctx context.Context, b *recording.Batch) error {
	err := s.Memory.Append(ctx, b)
	s.n++
	s.after(s.n)
	return err
}

func values(t *testing.T, m *recording.Memory, selector string) []float64 {
	t.Helper()
	series, err := m.Samples(context.Background(), recording.MustSelector(selector), time.UnixMilli(0), time.UnixMilli(1<<45))
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for _, s := range series {
		for _, p := range s.Points {
			out = append(out, p.F)
		}
	}
	return out
}

// TestReplay samples a machine that changes between samples.
func TestReplay(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		tree(t, root, 0)
		src, err := Open(root)
		if err != nil {
			t.Fatal(err)
		}

		time.Sleep(250 * time.Millisecond)
		begin := time.Now()
		m := recording.NewMemory(recording.MemoryOptions{})
		w := &stepper{Memory: m, after: func(n int) { tree(t, root, n) }}

		if err := src.Read(t.Context(), w, source.Options{Period: time.Second, For: 2 * time.Second}); err != nil {
			t.Fatal(err)
		}

		series, err := m.Samples(t.Context(), recording.MustSelector(`node_disk_writes_completed_total{device="nvme1n1"}`), begin, begin.Add(time.Minute))
		if err != nil || len(series) != 1 {
			t.Fatal(series, err)
		}

		got := ""
		for _, p := range series[0].Points {
			got += fmt.Sprintf(" %d:%v", p.T-begin.UnixMilli(), p.F)
		}

		if want := " 0:0 750:3100 1750:6200"; got != want {
			t.Errorf("samples%s, want%s", got, want)
		}

		for selector, want := range map[string]string{
			`node_disk_written_bytes_total{device="nvme1n1"}`:               "[0 5.07904e+07 1.015808e+08]",
			`node_disk_write_time_seconds_total{device="nvme1n1"}`:          "[0 38.75 77.5]",
			`node_disk_io_time_seconds_total{device="nvme1n1"}`:             "[0 0.98 1.96]",
			`node_disk_flush_requests_total{device="nvme1n1"}`:              "[9 9 9]",
			`node_disk_flush_requests_time_seconds_total{device="nvme1n1"}`: "[0.004 0.004 0.004]",
			`node_disk_io_now{device="nvme1n1"}`:                            "[3 3 3]",
			`node_disk_io_time_weighted_seconds_total{device="sda"}`:        "[0.011 0.011 0.011]",
			`node_disk_flush_requests_total{device="sda"}`:                  "[]", // not reported by old kernels
			`node_disk_reads_completed_total{device="nvme1n1p1"}`:           "[]",
			`node_disk_reads_completed_total{device="loop0"}`:               "[]",
			`node_disk_writes_completed_total{device="loop1"}`:              "[0 1 2]",
			`node_disk_writes_completed_total{device="zram0"}`:              "[]",
			`node_cpu_seconds_total{cpu="0",mode="user"}`:                   "[0 0.5 1]",
			`node_cpu_seconds_total{cpu="0",mode="steal"}`:                  "[0.07 0.07 0.07]",
			`node_cpu_seconds_total{cpu="1",mode="idle"}`:                   "[1 1 1]",
			`node_procs_blocked`:                                            "[7 7 7]",
			`node_memory_Dirty_bytes`:                                       "[0 1.024e+06 2.048e+06]",
			`node_memory_MemTotal_bytes`:                                    "[2.4576e+10 2.4576e+10 2.4576e+10]",
			`node_vmstat_nr_dirty`:                                          "[250 250 250]",
			`node_vmstat_pgpgout`:                                           "[12345 12345 12345]",
			`node_pressure_io_waiting_seconds_total`:                        "[0 0.9 1.8]",
			`node_pressure_io_stalled_seconds_total`:                        "[0 0.8 1.6]",
			`node_pressure_cpu_waiting_seconds_total`:                       "[5e-06 5e-06 5e-06]",
			`node_pressure_cpu_stalled_seconds_total`:                       "[]",
		} {
			if got := fmt.Sprint(values(t, m, selector)); got != want {
				t.Errorf("%s = %s, want %s", selector, got, want)
			}
		}

		d := src.Describe()
		if d.Host != "db1" || d.Samples != 3 || d.Facts["cores"] != "2" || d.Facts["memory_bytes"] != "24576000000" ||
			d.Facts["vm.dirty_background_ratio"] != "10" || d.Facts["vm.dirty_background_bytes"] != "0" {
			t.Errorf("described as %+v", d)
		}

		if n := m.Notes(); len(n) != 1 || !strings.Contains(n[0].Text, "memory pressure") {
			t.Errorf("notes %v, want one: memory pressure is missing", n)
		}
	})
}

func TestBadProc(t *testing.T) {
	root := t.TempDir()
	if _, err := Open(root); err == nil || !strings.Contains(err.Error(), "diskstats") {
		t.Errorf("no /proc: %v", err)
	}

	for name, tt := range map[string]struct{ file, text, want string }{
		"short line":   {"proc/diskstats", "8 0 sda 1 2\n", "line 1: 5 fields: want at least 14"},
		"not a count":  {"proc/diskstats", "8 0 sda 1 2 3 4 5 6 x 8 9 10 11\n", `line 1: field 10 is "x"`},
		"bad stat":     {"proc/stat", "cpu0 a\n", "note"},
		"bad meminfo":  {"proc/meminfo", "Dirty: many\n", "note"},
		"bad vmstat":   {"proc/vmstat", "nr_dirty -\n", "note"},
		"bad pressure": {"proc/pressure/io", "some avg10=0.00\n", "note"},
	} {
		tree(t, root, 1)
		src, err := Open(root)
		if err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(filepath.Join(root, tt.file), []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}

		m := recording.NewMemory(recording.MemoryOptions{})
		err = src.Read(t.Context(), m, source.Options{For: 1})
		if tt.want == "note" {
			// memory pressure is missing in any case
			if err != nil || len(m.Notes()) != 2 {
				t.Errorf("%s: error %v, notes %v; want two notes", name, err, m.Notes())
			}
		} else if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, tt.want)
		}
	}
}

func TestWant(t *testing.T) {
	root := t.TempDir()
	tree(t, root, 1)
	src, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	m := recording.NewMemory(recording.MemoryOptions{})
	err = src.Read(t.Context(), m, source.Options{For: 1, Want: func(n string) bool { return n == "node_memory_Dirty_bytes" }})
	if err != nil {
		t.Fatal(err)
	}
	if metrics, err := m.Metrics(t.Context()); err != nil || len(metrics) != 1 {
		t.Errorf("metrics %v, error %v; want one", metrics, err)
	}
}

// TestThisMachine reads the real /proc, if there is one.
func TestThisMachine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc here")
	}

	src, err := Open("")
	if err != nil {
		t.Skip("no readable /proc/diskstats here:", err)
	}

	m := recording.NewMemory(recording.MemoryOptions{})
	if err := src.Read(t.Context(), m, source.Options{For: 1}); err != nil {
		t.Fatal(err)
	}

	if got := values(t, m, "node_memory_MemTotal_bytes"); len(got) != 1 || got[0] < 1<<20 {
		t.Errorf("MemTotal %v", got)
	}

	if got := values(t, m, `node_cpu_seconds_total{cpu="0",mode="idle"}`); len(got) != 1 {
		t.Errorf("idle time of CPU 0: %v", got)
	}
}

func BenchmarkSample(b *testing.B) {
	if _, err := Open(""); err != nil {
		b.Skip(err)
	}
	s := newSampler("/", nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.sample(time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}

// A sandbox has a /proc that is not the node's.
func TestNoDevices(t *testing.T) {
	root := t.TempDir()
	lay(t, root, map[string]string{"proc/diskstats": ""})
	s := newSampler(root, nil)
	sampled(t, s)
	sampled(t, s)
	if n := strings.Count(strings.Join(s.absent, "\n"), "without the node's /proc"); n != 1 {
		t.Errorf("reported %d times: %q", n, s.absent)
	}
}
