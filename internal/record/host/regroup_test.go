package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
)

// TestFactsOfWhatIsAttachedLater: a volume that is attached and mounted during the recording is
// described. A removed one keeps its description, as it keeps its samples.
func TestFactsOfWhatIsAttachedLater(t *testing.T) {
	root := t.TempDir()
	lay(t, root, unifiedTree)
	s := newSampler(root, nil)
	var d recording.Source
	s.AddFacts(&d)
	before := d.Facts
	lay(t, root, map[string]string{
		"proc/self/mountinfo":                "30 27 259:2 / /var/lib/later rw,noatime - xfs /dev/nvme9n1 rw\n",
		"sys/block/nvme9n1/queue/scheduler":  "[none] mq-deadline\n",
		"sys/block/nvme9n1/size":             "2048\n",
		"sys/fs/cgroup/memory.max":           "8589934592\n",
		"sys/block/nvme9n1/queue/read_ahead": "128\n",
	})

	s.AddFacts(&d)
	for name, want := range map[string]string{
		"mount./var/lib/later":   "xfs rw,noatime /dev/nvme9n1",
		"scheduler.nvme9n1":      "none",
		"size.nvme9n1":           "1048576",
		"cgroup.memory.max":      "8589934592",
		"mount./var/lib/db data": "ext4 rw,noatime,data=ordered /dev/nvme1n1",
	} {
		if d.Facts[name] != want {
			t.Errorf("%s = %q, not %q", name, d.Facts[name], want)
		}
	}

	if before["scheduler.nvme9n1"] != "" || before["cgroup.memory.max"] != "4294967296" {
		t.Errorf("facts that were handed out have changed: %v", before)
	}

	for i := range 2 * factsMax {
		lay(t, root, map[string]string{"proc/self/mountinfo": fmt.Sprintf("30 27 259:2 / /pod/%d rw - xfs /dev/nvme9n1 rw\n", i)})
		s.AddFacts(&d)
	}

	if len(d.Facts) > factsMax || d.Facts[fmt.Sprintf("mount./pod/%d", 2*factsMax-1)] == "" {
		t.Errorf("%d facts, want at most %d with the newest mount", len(d.Facts), factsMax)
	}
}

// TestMountsOfOneDevice: hundreds of bind mounts of one device do not hide the database's volume.
func TestMountsOfOneDevice(t *testing.T) {
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "30 27 259:1 /pods/%d /var/lib/kubelet/pods/%d rw - ext4 /dev/nvme0n1p1 rw\n", i, i)
	}
	for i := range 2 * mountsMax {
		fmt.Fprintf(&text, "30 27 259:%d / /data/%d rw - xfs /dev/nvme%dn1 rw\n", i+2, i, i+1)
	}
	mounts := parseMounts(text.String())
	if want := mountsEach + mountsMax - 1; len(mounts) != want {
		t.Errorf("%d mounts, want %d", len(mounts), want)
	}
	if at := mounts[mountsEach].at; at != "/data/0" {
		t.Errorf("after the bind mounts comes %s, want /data/0", at)
	}
}

// statStarted returns /proc/PID/stat of a process that started 0.1 s times its number after boot.
func statStarted(pid int) string {
	return fmt.Sprintf("%d (postgres) S 1%s %d 0 0\n", pid, strings.Repeat(" 0", 17), pid*10)
}

// containerTree is a process in a container of a pod.
func containerTree(pid int, container string) map[string]string {
	group := "sys/fs/cgroup/kubepods/pod1/" + container
	return map[string]string{
		fmt.Sprintf("proc/%d/comm", pid):    "postgres\n",
		fmt.Sprintf("proc/%d/stat", pid):    statStarted(pid),
		"proc/uptime":                       "470.00 900.00\n",
		"proc/99/stat":                      statStarted(99),
		fmt.Sprintf("proc/%d/cgroup", pid):  "0::/kubepods/pod1/" + container + "\n",
		group + "/cgroup.controllers":       "cpu io memory\n",
		group + "/cgroup.procs":             fmt.Sprintf("%d\n", pid),
		group + "/memory.current":           "4100000000\n",
		"proc/diskstats":                    disks,
		"proc/self/cgroup":                  "0::/me\n",
		"sys/fs/cgroup/cgroup.controllers":  "cpu io memory\n",
		"sys/fs/cgroup/other/memory.high":   "max\n",
		"proc/99/comm":                      "postgres\n", // another pod's
		"proc/99/cgroup":                    "0::/kubepods/pod2/x\n",
		"proc/100/comm":                     "pause\n",
		"proc/100/cgroup":                   "0::/kubepods/pod1/pause\n",
		"sys/fs/cgroup/kubepods/pod2/x/a":   "",
		"sys/fs/cgroup/kubepods/pod1/pause": "",
	}
}

// TestRestartedContainer: after a restart of a container, sampling continues with its new cgroup,
// and notes say when it was missing.
func TestRestartedContainer(t *testing.T) {
	root := t.TempDir()
	tree := containerTree(4711, "old")
	delete(tree, "sys/fs/cgroup/kubepods/pod1/pause")
	tree["sys/fs/cgroup/kubepods/pod1/pause/cgroup.controllers"] = "cpu io memory\n"
	tree["sys/fs/cgroup/kubepods/pod2/x/cgroup.controllers"] = "cpu io memory\n"
	lay(t, root, tree)

	group, err := address{pid: 4711}.find(root)
	if err != nil {
		t.Fatal(err)
	}

	s := newSampler(root, nil)
	s.group = group
	var notes []recording.Note
	s.note = func(n recording.Note) { notes = append(notes, n) }
	start := time.Unix(1_800_000_000, 0)
	sampledIn := func(second int) (ids []string) {
		t.Helper()
		if err := s.sample(start.Add(time.Duration(second) * time.Second)); err != nil {
			t.Fatal(err)
		}
		for _, c := range s.batch.Columns {
			if c.Labels.Get("__name__") == "container_memory_usage_bytes" {
				ids = append(ids, c.Labels.Get("id"))
			}
		}
		return ids
	}

	if ids := sampledIn(0); len(ids) != 1 || ids[0] != "/kubepods/pod1/old" {
		t.Fatalf("sampled %v, want the container's cgroup", ids)
	}

	for _, gone := range []string{"sys/fs/cgroup/kubepods/pod1/old", "proc/4711"} {
		if err := os.RemoveAll(filepath.Join(root, gone)); err != nil {
			t.Fatal(err)
		}
	}

	for second := 1; second < 5; second++ {
		sampledIn(second)
	}

	if len(notes) != 1 || notes[0].Kind != recording.NoteLimit || !strings.Contains(notes[0].Text, "pod1/old was removed") {
		t.Fatalf("notes %+v, want one that the cgroup was removed", notes)
	}

	again := containerTree(4800, "new")
	delete(again, "sys/fs/cgroup/kubepods/pod1/pause")
	lay(t, root, again)
	sampledIn(12)

	if ids := sampledIn(13); len(ids) != 1 || ids[0] != "/kubepods/pod1/new" {
		t.Errorf("sampled %v, want the new container's cgroup", ids)
	}

	if len(notes) != 2 || notes[1].Kind != recording.NoteGap || !notes[1].From.Equal(start.Add(time.Second)) || !strings.Contains(notes[1].Text, "pod1/new, which runs postgres") {
		t.Errorf("notes %+v, want a gap from the first missing sample on", notes)
	}
}
