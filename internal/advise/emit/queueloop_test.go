package emit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"plimsoll/internal/advise/emit"
)

// loopOf returns the script of the DaemonSet that sets the nodes' queues.
func loopOf(t *testing.T) string {
	t.Helper()
	var set struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []struct{ Command []string } }
			}
		}
	}
	l := layoutOf(t, "telemetry.yaml", "host.scheduler=mq-deadline", "host.wbt_lat_usec=5000")
	if err := yaml.Unmarshal([]byte(filesOf(t, l, emit.Options{}, "kubernetes")["kubernetes/queue.yaml"]), &set); err != nil {
		t.Fatal(err)
	}
	return set.Spec.Template.Spec.Containers[0].Command[2]
}

// The DaemonSet's pod sets a node's disks and restores each to its own previous settings when it ends,
// including those that an earlier, killed pod had set.
func TestQueueLoopRestores(t *testing.T) {
	needs(t, "sh")
	saved := t.TempDir()
	sys := sysfs(t, map[string]string{
		"nvme1n1/queue/wbt_lat_usec": "0\n", "nvme1n1/queue/scheduler": "[none] mq-deadline bfq\n", "nvme1n1/device/serial": "vol-1  \n",
		"sda/queue/wbt_lat_usec": "75000\n", "sda/queue/scheduler": "none [bfq] mq-deadline\n",
		"sdb/queue/wbt_lat_usec": "2000\n", "sdb/queue/scheduler": "[mq-deadline] none\n",
		"sdc/queue/scheduler": "none [bfq]\n",
	})
	text := strings.NewReplacer("/sys/block/", sys+"/block/", "/saved/", saved+"/").Replace(loopOf(t))
	state := func() string {
		var b strings.Builder
		for _, f := range []string{"nvme1n1/queue/scheduler", "nvme1n1/queue/wbt_lat_usec", "sda/queue/scheduler", "sda/queue/wbt_lat_usec", "sdb/queue/wbt_lat_usec", "sdc/queue/scheduler"} {
			got, err := os.ReadFile(filepath.Join(sys, "block", f))
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(strings.TrimSpace(string(got)) + ",")
		}
		return b.String()
	}

	// until runs the pod until its disks are set, and ends it.
	until := func(signal syscall.Signal) {
		t.Helper()
		c := exec.Command("sh", "-c", text)
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }() // its sleep
		deadline := time.Now().Add(time.Minute)
		for state() != "mq-deadline,5000,mq-deadline,5000,5000,mq-deadline," {
			if time.Now().After(deadline) {
				t.Fatalf("the disks are %s", state())
			}
			time.Sleep(5 * time.Millisecond)
		}
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
	}

	until(syscall.SIGKILL)
	if err := os.WriteFile(filepath.Join(sys, "block/sda/queue/wbt_lat_usec"), []byte("1\n"), 0o600); err != nil { // by someone else
		t.Fatal(err)
	}
	until(syscall.SIGTERM)
	if got := state(); got != "none,0,bfq,75000,2000,bfq," {
		t.Errorf("afterwards the disks are %s", got)
	}
	if left, err := os.ReadDir(saved); err != nil || len(left) > 0 {
		t.Errorf("saved values are left: %v, %v", left, err)
	}
}

// A full disk while the second of two devices is saved does not affect the first one's saved values.
func TestQueueKeepsSavedValues(t *testing.T) {
	needs(t, "bash")
	dir := t.TempDir()
	path := filepath.Join(dir, "queue.sh")
	script(t, dir, "queue.sh", filesOf(t, layoutOf(t, "telemetry.yaml", "host.wbt_lat_usec=0"), emit.Options{}, "udev")["udev/queue.sh"])
	sys := sysfs(t, map[string]string{
		"disk1/queue/wbt_lat_usec": "1000\n", "disk1/queue/scheduler": "[none]\n",
		"disk2/queue/wbt_lat_usec": "2000\n", "disk2/queue/scheduler": "[none]\n",
	})
	saved := filepath.Join(dir, "saved")
	run := func(fails string, args ...string) (string, error) {
		script(t, dir, "bin", "")
		c := exec.Command("bash", append([]string{path}, args...)...)
		c.Env = append(os.Environ(), "SYS="+sys, "RULES="+filepath.Join(dir, "rules"), "SAVED="+saved, "PATH="+fails+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		return string(out), err
	}

	if out, err := run("", "disk1", "disk2"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	// sync fails as it does on a full disk.
	full := t.TempDir()
	script(t, full, "sync", "#!/bin/sh\necho 'No space left on device' >&2\nexit 1\n")
	if out, err := run(full+":", "--undo", "disk1"); err == nil {
		t.Errorf("undo does not fail: %s", out)
	}
	if out, err := run("", "--undo", "disk1", "disk2"); err != nil || !strings.Contains(out, "disk2: restored wbt_lat_usec to 2000") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := run("", "--undo", "disk1"); err != nil || !strings.Contains(out, "no values of it are saved") {
		t.Errorf("undo of what was never done: %v: %s", err, out)
	}
}
