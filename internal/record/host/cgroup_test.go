package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/ebs"
	"plimsoll/internal/record/recording"
)

// lay writes files below a root.
func lay(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sampled returns one sample, by series, in a canonical order of labels.
func sampled(t testing.TB, s *sampler) map[string]float64 {
	t.Helper()
	batches, err := s.Sample(t.Context(), time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, c := range batches[0].Columns {
		if _, twice := out[c.Labels.String()]; twice {
			t.Errorf("%s twice in a batch", c.Labels)
		}
		out[c.Labels.String()] = c.Values[0]
	}
	return out
}

const disks = "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n 259       0 nvme1n1 5 1 40 7 8 0 9 10 0 11 12 2 0 16 1 9 4\n"

// unifiedTree is a container with 2 CPUs and 4 GiB as created by Kubernetes on Linux 6.1, with an
// io.max.
var unifiedTree = map[string]string{
	"proc/diskstats":                    disks,
	"proc/self/cgroup":                  "0::/\n",
	"sys/fs/cgroup/cgroup.controllers":  "cpuset cpu io memory hugetlb pids rdma misc\n",
	"sys/fs/cgroup/memory.max":          "4294967296\n",
	"sys/fs/cgroup/memory.high":         "max\n",
	"sys/fs/cgroup/memory.current":      "4100000000\n",
	"sys/fs/cgroup/memory.stat":         "anon 1500000000\nfile 2500000000\nkernel 90000000\nfile_dirty 700000000\nfile_writeback 33000000\ninactive_file 1100000000\n",
	"sys/fs/cgroup/memory.events":       "low 0\nhigh 0\nmax 5123\noom 0\noom_kill 0\noom_group_kill 0\n",
	"sys/fs/cgroup/memory.pressure":     "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n",
	"sys/fs/cgroup/cpu.max":             "200000 100000\n",
	"sys/fs/cgroup/cpu.stat":            "usage_usec 7500000\nuser_usec 5000000\nsystem_usec 2500000\nnr_periods 900\nnr_throttled 30\nthrottled_usec 1250000\nnr_bursts 0\nburst_usec 0\n",
	"sys/fs/cgroup/io.stat":             "259:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n7:9 rbytes=1 wbytes=1 rios=1 wios=1 dbytes=0 dios=0\n",
	"sys/fs/cgroup/io.max":              "259:0 rbps=max wbps=131072000 riops=max wiops=3000\n",
	"proc/self/mountinfo":               "36 35 259:0 / /var/lib/db\\040data rw,noatime shared:1 - ext4 /dev/nvme1n1 rw,data=ordered\n37 35 0:3 / /proc rw - proc proc rw\nbroken line\n",
	"sys/block/nvme1n1/queue/scheduler": "[none] mq-deadline kyber\n",
	"sys/block/loop3/queue/scheduler":   "[none]\n",
	"proc/sys/kernel/osrelease":         "6.1.0\n",
}

// legacyTree is the same container on a node with version 1, with its path as seen on the host.
var legacyTree = map[string]string{
	"proc/diskstats":   disks,
	"proc/self/cgroup": "11:memory:/kubepods/pod1/c1\n10:blkio:/kubepods/pod1/c1\n4:cpu,cpuacct:/kubepods/pod1/c1\n1:name=systemd:/kubepods/pod1/c1\n",
	"sys/fs/cgroup/memory/memory.limit_in_bytes":           "4294967296\n",
	"sys/fs/cgroup/memory/memory.usage_in_bytes":           "4100000000\n",
	"sys/fs/cgroup/memory/memory.failcnt":                  "5123\n",
	"sys/fs/cgroup/memory/memory.stat":                     "cache 1\ndirty 1\ntotal_cache 2500000000\ntotal_rss 1500000000\ntotal_dirty 700000000\ntotal_writeback 33000000\ntotal_inactive_file 1100000000\n",
	"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":           "200000\n",
	"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us":          "100000\n",
	"sys/fs/cgroup/cpu,cpuacct/cpu.stat":                   "nr_periods 900\nnr_throttled 30\nthrottled_time 1250000000\n",
	"sys/fs/cgroup/cpu,cpuacct/cpuacct.usage":              "7500000000\n",
	"sys/fs/cgroup/blkio/blkio.throttle.io_serviced":       "259:0 Read 1\n259:0 Write 2\n259:0 Sync 3\n259:0 Total 3\nTotal 3\n",
	"sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes":  "259:0 Read 4096\n259:0 Write 8192\n259:0 Total 12288\nTotal 12288\n",
	"sys/fs/cgroup/blkio/blkio.throttle.write_iops_device": "259:0 3000\n",
	"sys/fs/cgroup/blkio/blkio.throttle.write_bps_device":  "259:0 131072000\n",
	"sys/fs/cgroup/blkio/blkio.throttle.read_bps_device":   "",
	"sys/fs/cgroup/systemd/cgroup.procs":                   "1\n",
	"proc/sys/kernel/osrelease":                            "4.14.0\n",
}

// Both versions report the same values for the same container.
func TestContainers(t *testing.T) {
	for name, tree := range map[string]map[string]string{"/": unifiedTree, "/kubepods/pod1/c1": legacyTree} {
		root := t.TempDir()
		lay(t, root, tree)
		got := sampled(t, newSampler(root, nil))
		of := func(metric string, device ...string) string {
			if len(device) > 0 {
				return fmt.Sprintf(`{__name__=%q, device=%q, id=%q}`, metric, device[0], name)
			}
			return fmt.Sprintf(`{__name__=%q, id=%q}`, metric, name)
		}

		for series, want := range map[string]float64{
			of("container_spec_memory_limit_bytes"):                                  4 << 30,
			of("container_memory_usage_bytes"):                                       4_100_000_000,
			of("container_memory_working_set_bytes"):                                 3_000_000_000,
			of("container_memory_cache"):                                             2_500_000_000,
			of("container_memory_rss"):                                               1_500_000_000,
			of("plimsoll_container_memory_file_dirty_bytes"):                         700_000_000,
			of("plimsoll_container_memory_file_writeback_bytes"):                     33_000_000,
			of("container_spec_cpu_quota"):                                           200_000,
			of("container_spec_cpu_period"):                                          100_000,
			of("container_cpu_usage_seconds_total"):                                  7.5,
			of("container_cpu_cfs_periods_total"):                                    900,
			of("container_cpu_cfs_throttled_periods_total"):                          30,
			of("container_cpu_cfs_throttled_seconds_total"):                          1.25,
			of("container_fs_reads_total", "/dev/nvme1n1"):                           1,
			of("container_fs_writes_total", "/dev/nvme1n1"):                          2,
			of("container_fs_writes_bytes_total", "/dev/nvme1n1"):                    8192,
			of("plimsoll_container_io_limit_writes_per_second", "/dev/nvme1n1"):      3000,
			of("plimsoll_container_io_limit_write_bytes_per_second", "/dev/nvme1n1"): 131072000,
		} {
			if x, ok := got[series]; !ok || x != want {
				t.Errorf("%s is %v, %v; not %v", series, x, ok, want)
			}
		}

		for series := range got {
			if strings.Contains(series, "memory_high") || strings.Contains(series, "limit_read") {
				t.Errorf("%s is reported, and there is no such limit", series)
			}
		}
	}
}

// Only version 2 has pressure and events of a container, and only version 1 has failures.
func TestMetricsOfOneVersionOnly(t *testing.T) {
	root := t.TempDir()
	lay(t, root, unifiedTree)
	got := sampled(t, newSampler(root, nil))
	for series, want := range map[string]float64{
		`{__name__="container_pressure_memory_waiting_seconds_total", id="/"}`:     2.5,
		`{__name__="container_pressure_memory_stalled_seconds_total", id="/"}`:     1.5,
		`{__name__="plimsoll_container_memory_events_total", event="max", id="/"}`: 5123,
		`{__name__="container_fs_writes_total", device="7:9", id="/"}`:             1, // a device without a name
	} {
		if x, ok := got[series]; !ok || x != want {
			t.Errorf("%s is %v, %v; not %v", series, x, ok, want)
		}
	}
}

func TestFacts(t *testing.T) {
	root := t.TempDir()
	lay(t, root, unifiedTree)
	s := newSampler(root, nil)
	sampled(t, s)
	var d recording.Source
	s.AddFacts(&d)

	for name, want := range map[string]string{
		"mount./var/lib/db data": "ext4 rw,noatime,data=ordered /dev/nvme1n1",
		"scheduler.nvme1n1":      "none",
		"scheduler.loop3":        "",
		"cgroup.version":         "2",
		"cgroup.memory.max":      "4294967296",
		"cgroup.memory.high":     "max",
		"cgroup.cpu.max":         "200000 100000",
		"cgroup.io.max":          "259:0 rbps=max wbps=131072000 riops=max wiops=3000",
	} {
		if d.Facts[name] != want {
			t.Errorf("%s = %q, not %q", name, d.Facts[name], want)
		}
	}

	old := t.TempDir()
	lay(t, old, legacyTree)
	d = recording.Source{}
	newSampler(old, nil).AddFacts(&d)

	if d.Facts["cgroup.version"] != "1" || d.Facts["cgroup.blkio.write_iops"] != "259:0 3000" {
		t.Errorf("%v", d.Facts)
	}
}

// The counters of an EBS volume. A volume that rejects the request is noted once, and no other device
// gets the request.
func TestVolumesAreSampled(t *testing.T) {
	root := t.TempDir()
	lay(t, root, unifiedTree)
	s := newSampler(root, nil)
	if len(s.ebs) != 0 {
		t.Fatalf("devices of a /proc that is elsewhere would be asked: %v", s.ebs)
	}

	s.ebs = []ebs.Volume{{Device: "nvme1n1", ID: "vol-1"}, {Device: "nvme2n1", ID: "vol-2"}}
	s.askVolume = func(device string) (*ebs.StatsPage, error) {
		if device == "nvme2n1" {
			return nil, os.ErrPermission
		}
		return &ebs.StatsPage{VolumeIOPSUs: 1_500_000, InstanceThroughputUs: 250_000, QueueLength: 7}, nil
	}

	got := sampled(t, s)
	sampled(t, s)

	for metric, want := range map[string]float64{"exceeded_iops_seconds_total": 1.5, "ec2_exceeded_tp_seconds_total": 0.25, "volume_queue_length": 7} {
		if x := got[fmt.Sprintf(`{__name__="aws_ebs_csi_%s", device="nvme1n1", volume_id="vol-1"}`, metric)]; x != want {
			t.Errorf("%s is %v, not %v", metric, x, want)
		}
	}

	shown := 0
	for _, text := range s.absent {
		if strings.Contains(text, "vol-2") {
			shown++
		}
	}

	if shown != 1 {
		t.Errorf("the volume that refuses is reported %d times: %q", shown, s.absent)
	}
}

// Whatever these files contain, a sample is a batch with distinct series.
func FuzzContainer(f *testing.F) {
	for _, tree := range []map[string]string{unifiedTree, legacyTree} {
		for name, text := range tree {
			f.Add(name, text)
		}
	}

	f.Add("sys/fs/cgroup/io.stat", "8:0 rios=1\n8:0 rios=2\n8:0\nrios=\n")
	f.Add("proc/self/cgroup", "0::/../../x\n5:memory:/../..\n:::\n4:cpu,,cpu:/\n")
	f.Add("proc/self/mountinfo", "1 2 3 4 5 6 - ext4 - -\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		tree := unifiedTree
		if _, ok := legacyTree[name]; ok {
			tree = legacyTree
		}

		if _, ok := tree[name]; !ok || name == "proc/diskstats" {
			return
		}

		root := t.TempDir()
		lay(t, root, tree)
		lay(t, root, map[string]string{name: text})
		s := newSampler(root, nil)
		sampled(t, s)
		var d recording.Source
		s.AddFacts(&d)
	})
}
