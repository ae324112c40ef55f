package host

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// podTree is a node with version 2: a container without limits except for I/O, in a pod with
// limits, in a slice with larger ones.
var podTree = map[string]string{
	"proc/diskstats":                   disks,
	"proc/self/cgroup":                 "0::/kubepods.slice/pod1/c1\n",
	"sys/fs/cgroup/cgroup.controllers": "cpu io memory\n",

	"sys/fs/cgroup/kubepods.slice/cpu.max":        "max 100000\n",
	"sys/fs/cgroup/kubepods.slice/memory.max":     "64000000000\n",
	"sys/fs/cgroup/kubepods.slice/memory.current": "30000000000\n",
	"sys/fs/cgroup/kubepods.slice/io.max":         "8:0 rbps=max wbps=max riops=max wiops=5000\n",
	"sys/fs/cgroup/kubepods.slice/io.stat":        "8:0 rbytes=0 wbytes=0 rios=0 wios=77777\n",

	"sys/fs/cgroup/kubepods.slice/pod1/cpu.max":         "150000 100000\n",
	"sys/fs/cgroup/kubepods.slice/pod1/cpu.stat":        "usage_usec 8000000\nnr_periods 100\nnr_throttled 60\nthrottled_usec 3000000\n",
	"sys/fs/cgroup/kubepods.slice/pod1/memory.max":      "max\n",
	"sys/fs/cgroup/kubepods.slice/pod1/memory.high":     "2000000000\n",
	"sys/fs/cgroup/kubepods.slice/pod1/memory.current":  "1900000000\n",
	"sys/fs/cgroup/kubepods.slice/pod1/memory.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=9000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=8000000\n",
	"sys/fs/cgroup/kubepods.slice/pod1/io.max":          "8:0 rbps=max wbps=max riops=max wiops=400\n259:0 rbps=1000 wbps=max riops=max wiops=3000\n",
	"sys/fs/cgroup/kubepods.slice/pod1/io.stat":         "8:0 rbytes=0 wbytes=4096 rios=0 wios=90\n259:0 rbytes=8 wbytes=9 rios=10 wios=11\n7:0 rbytes=1 wbytes=1 rios=1 wios=1\n",
	"sys/fs/cgroup/kubepods.slice/pod1/io.pressure":     "full avg10=0.00 avg60=0.00 avg300=0.00 total=4000000\n",

	"sys/fs/cgroup/kubepods.slice/pod1/c1/cgroup.controllers": "cpu io memory\n",
	"sys/fs/cgroup/kubepods.slice/pod1/c1/cpu.max":            "max 100000\n",
	"sys/fs/cgroup/kubepods.slice/pod1/c1/cpu.stat":           "usage_usec 7000000\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
	"sys/fs/cgroup/kubepods.slice/pod1/c1/memory.max":         "max\n",
	"sys/fs/cgroup/kubepods.slice/pod1/c1/memory.high":        "max\n",
	"sys/fs/cgroup/kubepods.slice/pod1/c1/memory.current":     "1800000000\n",
	"sys/fs/cgroup/kubepods.slice/pod1/c1/io.max":             "259:0 rbps=max wbps=max riops=max wiops=3000\n",
	"sys/fs/cgroup/kubepods.slice/pod1/c1/io.stat":            "8:0 rbytes=0 wbytes=4096 rios=0 wios=80\n259:0 rbytes=8 wbytes=9 rios=10 wios=11\n",
}

// podTreeV1 is such a node with version 1.
var podTreeV1 = map[string]string{
	"proc/diskstats":   disks,
	"proc/self/cgroup": "11:memory:/kubepods/pod1/c1\n10:blkio:/kubepods/pod1/c1\n4:cpu,cpuacct:/kubepods/pod1/c1\n",

	"sys/fs/cgroup/memory/memory.limit_in_bytes":                         "9223372036854771712\n",
	"sys/fs/cgroup/memory/kubepods/memory.limit_in_bytes":                "64000000000\n",
	"sys/fs/cgroup/memory/kubepods/memory.use_hierarchy":                 "1\n",
	"sys/fs/cgroup/memory/kubepods/pod1/memory.limit_in_bytes":           "2000000000\n",
	"sys/fs/cgroup/memory/kubepods/pod1/memory.usage_in_bytes":           "1900000000\n",
	"sys/fs/cgroup/memory/kubepods/pod1/memory.use_hierarchy":            "1\n",
	"sys/fs/cgroup/memory/kubepods/pod1/c1/memory.limit_in_bytes":        "9223372036854771712\n",
	"sys/fs/cgroup/memory/kubepods/pod1/c1/memory.usage_in_bytes":        "1800000000\n",
	"sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/cpu.cfs_quota_us":           "150000\n",
	"sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/cpu.cfs_period_us":          "100000\n",
	"sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/cpu.stat":                   "nr_periods 100\nnr_throttled 60\nthrottled_time 3000000000\n",
	"sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/cpuacct.usage":              "8000000000\n",
	"sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/c1/cpu.cfs_quota_us":        "-1\n",
	"sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/c1/cpu.cfs_period_us":       "100000\n",
	"sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/c1/cpuacct.usage":           "7000000000\n",
	"sys/fs/cgroup/blkio/kubepods/pod1/blkio.throttle.write_iops_device": "8:0 400\n",
	"sys/fs/cgroup/blkio/kubepods/pod1/c1/blkio.throttle.io_serviced":    "8:0 Write 80\n",
}

// with returns a tree with some files changed.
func with(tree map[string]string, name, text string) map[string]string {
	out := maps.Clone(tree)
	out[name] = text
	return out
}

// The limit of a pod is on the parent of its containers' groups: the group with the lowest limit is
// sampled in addition to the container, with its own usage.
func TestLimitsAbove(t *testing.T) {
	const sda, nvme = "/dev/sda", "/dev/nvme1n1"
	series := func(metric, id string, device ...string) string {
		if len(device) > 0 {
			return fmt.Sprintf(`{__name__=%q, device=%q, id=%q}`, metric, device[0], id)
		}
		return fmt.Sprintf(`{__name__=%q, id=%q}`, metric, id)
	}

	const writes, limit = "container_fs_writes_total", "plimsoll_container_io_limit_writes_per_second"
	none := -1.0 // is not reported
	for name, c := range map[string]struct {
		tree map[string]string
		want map[string]float64
	}{
		"version 2": {podTree, map[string]float64{
			series("container_spec_cpu_quota", "/kubepods.slice/pod1"):                                150000,
			series("container_spec_cpu_period", "/kubepods.slice/pod1"):                               100000,
			series("container_cpu_cfs_throttled_periods_total", "/kubepods.slice/pod1"):               60,
			series("container_cpu_usage_seconds_total", "/kubepods.slice/pod1"):                       8,
			series("container_cpu_usage_seconds_total", "/kubepods.slice/pod1/c1"):                    7,
			series("container_spec_cpu_quota", "/kubepods.slice/pod1/c1"):                             none,
			series("plimsoll_container_memory_high_bytes", "/kubepods.slice/pod1"):                    2e9,
			series("container_memory_usage_bytes", "/kubepods.slice/pod1"):                            1.9e9,
			series("container_memory_usage_bytes", "/kubepods.slice/pod1/c1"):                         1.8e9,
			series("container_memory_usage_bytes", "/kubepods.slice"):                                 none,
			series("container_pressure_memory_stalled_seconds_total", "/kubepods.slice/pod1"):         8,
			series(limit, "/kubepods.slice/pod1", sda):                                                400,
			series(writes, "/kubepods.slice/pod1", sda):                                               90,
			series(writes, "/kubepods.slice/pod1/c1", sda):                                            80,
			series(limit, "/kubepods.slice", sda):                                                     none, // it is larger
			series(writes, "/kubepods.slice", sda):                                                    none,
			series(limit, "/kubepods.slice/pod1/c1", nvme):                                            3000, // as low as the pod's
			series(limit, "/kubepods.slice/pod1", nvme):                                               none,
			series("plimsoll_container_io_limit_read_bytes_per_second", "/kubepods.slice/pod1", nvme): 1000,
			series("container_fs_reads_bytes_total", "/kubepods.slice/pod1", nvme):                    8,
			series(writes, "/kubepods.slice/pod1", "7:0"):                                             none, // has no limit there
			series("container_pressure_io_stalled_seconds_total", "/kubepods.slice/pod1"):             4,
		}},
		"a limit of its own that is less": {with(podTree, "sys/fs/cgroup/kubepods.slice/pod1/c1/cpu.max", "50000 100000\n"), map[string]float64{
			series("container_spec_cpu_quota", "/kubepods.slice/pod1/c1"): 50000,
			series("container_spec_cpu_quota", "/kubepods.slice/pod1"):    none,
		}},
		// Half of the pod's limit, in a shorter period: quotas are compared in CPUs.
		"of another period": {with(podTree, "sys/fs/cgroup/kubepods.slice/cpu.max", "15000 20000\n"), map[string]float64{
			series("container_spec_cpu_quota", "/kubepods.slice"):      15000,
			series("container_spec_cpu_quota", "/kubepods.slice/pod1"): none,
		}},
		// A container's cgroup namespace: the groups above are not visible.
		"a namespace": {with(podTree, "proc/self/cgroup", "0::/\n"), map[string]float64{
			series("container_spec_cpu_quota", "/kubepods.slice/pod1"): none,
		}},
		"version 1": {podTreeV1, map[string]float64{
			series("container_spec_cpu_quota", "/kubepods/pod1"):                  150000,
			series("container_cpu_cfs_throttled_periods_total", "/kubepods/pod1"): 60,
			series("container_cpu_usage_seconds_total", "/kubepods/pod1"):         8,
			series("container_cpu_usage_seconds_total", "/kubepods/pod1/c1"):      7,
			series("container_spec_memory_limit_bytes", "/kubepods/pod1"):         2e9,
			series("container_memory_usage_bytes", "/kubepods/pod1"):              1.9e9,
			series("container_memory_usage_bytes", "/kubepods/pod1/c1"):           1.8e9,
			series("container_spec_memory_limit_bytes", "/kubepods"):              none,
			series(writes, "/kubepods/pod1/c1", sda):                              80,
			series(limit, "/kubepods/pod1", sda):                                  none, // is none on groups below
			series(limit, "/kubepods/pod1/c1", sda):                               none,
		}},
		"a group that keeps those below apart": {with(podTreeV1, "sys/fs/cgroup/memory/kubepods/pod1/memory.use_hierarchy", "0\n"), map[string]float64{
			series("container_spec_memory_limit_bytes", "/kubepods/pod1"): none,
			series("container_spec_memory_limit_bytes", "/kubepods"):      64e9,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			lay(t, root, c.tree)
			s := newSampler(root, nil)
			sampled(t, s)

			got := sampled(t, s) // again, as it continues
			for series, want := range c.want {
				if x, ok := got[series]; ok != (want != none) || ok && x != want {
					t.Errorf("%s is %v, %v; not %v", series, x, ok, want)
				}
			}

			if name == "a namespace" {
				for series := range got {
					if strings.Contains(series, "pod1") {
						t.Errorf("%s is reported for a group that is not visible", series)
					}
				}
			}
		})
	}
}

// However deeply groups are nested, only levelsMax of them are read.
func TestDeepGroups(t *testing.T) {
	root := t.TempDir()
	path := strings.Repeat("/g", 40)
	lay(t, root, map[string]string{"proc/diskstats": disks, "proc/self/cgroup": "0::" + path + "\n", "sys/fs/cgroup" + path + "/cgroup.controllers": "cpu\n"})
	s := newSampler(root, nil)
	if n := len(s.levels(s.group.v2, unifiedMount)); n != levelsMax {
		t.Errorf("%d groups are looked at", n)
	}
}
