package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/diskstats":   "",
		"proc/self/cgroup": "4:memory:/\n3:blkio:/\n1:cpu:/\n0::/\n",
		"proc/7/cgroup":    "4:memory:/system.slice/pg\n3:blkio:/\n1:cpu:/system.slice/pg\n0::/\n",
		"proc/8/cgroup":    "4:memory:/elsewhere\n",
		"sys/fs/cgroup/memory/system.slice/pg/memory.limit_in_bytes":            "1073741824\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes":                            "2147483648\n",
		"sys/fs/cgroup/cpu/system.slice/pg/cpu.cfs_quota_us":                    "50000\n",
		"sys/fs/cgroup/blkio/system.slice/pg/blkio.throttle.write_iops_device":  "8:0 300\n",
		"sys/fs/cgroup/blkio/blkio.throttle.write_iops_device":                  "8:0 9999\n",
		"sys/fs/cgroup/unified/cgroup.procs":                                    "",
		"sys/fs/cgroup/memory/system.slice/other service/memory.limit_in_bytes": "1\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	for _, x := range []struct {
		arg, id, limit, iops, refused string
	}{
		{arg: "host", id: "/", limit: "2147483648", iops: "8:0 9999"},
		{arg: "host?pid=7", id: "/system.slice/pg", limit: "1073741824", iops: "8:0 9999"}, // blkio is in the root
		{arg: "host?cgroup=/system.slice/pg", id: "/system.slice/pg", limit: "1073741824", iops: "8:0 300"},
		{arg: "host?cgroup=/sys/fs/cgroup/system.slice/pg", id: "/system.slice/pg", limit: "1073741824", iops: "8:0 300"},
		{arg: "host?cgroup=/system.slice/other%20service", id: "/system.slice/other service", limit: "1"},
		{arg: "host?pid=8", refused: "the cgroup of process 8 is not visible here: run Plimsoll on the node"},
		{arg: "host?pid=9", refused: "no process 9"},
		{arg: "host?pid=-1", refused: "does not name a process: want host, host?pid=4711 or host?cgroup="},
		{arg: "host?cgroup=pg", refused: "cgroup=pg is not the path of a cgroup"},
		{arg: "host?cgroup=/a/../..", refused: "is not the path of a cgroup"},
		{arg: "host?cgroup=/nobody", refused: "no cgroup /nobody"},
		{arg: "host?colour=red", refused: "does not name a process"},
		{arg: "host?", refused: "does not name a cgroup"},
		{arg: "host?pid=7&cgroup=/x", refused: "does not name a cgroup"},
	} {
		t.Run(x.arg, func(t *testing.T) {
			a, err := parse(x.arg)
			var g cgroup
			if err == nil {
				g, err = a.find(root)
			}

			if x.refused != "" {
				if err == nil || !strings.Contains(err.Error(), x.refused) {
					t.Errorf("error %v, want %q", err, x.refused)
				}
				return
			}

			if err != nil {
				t.Fatal(err)
			}

			f := map[string]string{}
			groupFacts(root, g, f)
			if g.id != x.id || f["cgroup.memory.limit_in_bytes"] != x.limit || f["cgroup.blkio.write_iops"] != x.iops {
				t.Errorf("group %q with a limit of %q bytes and %q writes, want %q, %q and %q",
					g.id, f["cgroup.memory.limit_in_bytes"], f["cgroup.blkio.write_iops"], x.id, x.limit, x.iops)
			}
		})
	}
}

// The limits of Plimsoll's own container are irrelevant unless it shares the cgroup with other
// processes.
func TestOwnCgroup(t *testing.T) {
	for name, c := range map[string]struct {
		member, at string
		procs      string
		ours       bool
	}{
		"alone in a service": {"0::/system.slice/plimsoll.service\n", "sys/fs/cgroup/system.slice/plimsoll.service", strconv.Itoa(os.Getpid()) + "\n", true},
		"with a database":    {"0::/\n", "sys/fs/cgroup", "1\n" + strconv.Itoa(os.Getpid()) + "\n", false},
		"not given":          {"0::/\n", "sys/fs/cgroup", "", false},
		"alone, version 1":   {"3:cpu:/docker/1\n", "sys/fs/cgroup/cpu", strconv.Itoa(os.Getpid()) + "\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range map[string]string{"proc/self/cgroup": c.member, "proc/diskstats": "", c.at + "/cgroup.procs": c.procs,
				c.at + "/cgroup.controllers": "cpu\n", c.at + "/cpu.stat": "nr_periods 9\nnr_throttled 3\n"} {
				path := filepath.Join(root, filepath.FromSlash(file))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			g, err := address{}.find(root)
			if err != nil {
				t.Fatal(err)
			}

			s := newSampler(root, nil)
			s.group = g
			defer s.files.close()

			if _, sampled := sampled(t, s)[`{__name__="container_cpu_cfs_periods_total", id="`+g.id+`"}`]; sampled == c.ours {
				t.Errorf("its own: %v, and sampled: %v", c.ours, sampled)
			}
		})
	}
}
