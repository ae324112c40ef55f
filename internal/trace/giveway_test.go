//go:build linux

package trace_test

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/trace"
)

// GiveWay changes all threads of the process. The test uses a separate process because the policy
// stays.
func TestGiveWay(t *testing.T) {
	if os.Getenv("PLIMSOLL_TEST_GIVES_WAY") == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestGiveWay$")
		cmd.Env = append(os.Environ(), "PLIMSOLL_TEST_GIVES_WAY=1")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return
	}

	if err := trace.GiveWay(); err != nil {
		t.Fatal(err)
	}

	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}

	for _, e := range entries {
		stat, err := os.ReadFile("/proc/self/task/" + e.Name() + "/stat")
		if err != nil {
			continue // the thread has ended
		}

		// The policy is field 41 of proc_pid_stat(5), the niceness field 19, the name field 2.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if fields[38] != "3" { // SCHED_BATCH
			t.Errorf("thread %s has policy %s", e.Name(), fields[38])
		}

		if nice, err := strconv.Atoi(fields[16]); err != nil || nice < 10 {
			t.Errorf("thread %s has niceness %s", e.Name(), fields[16])
		}
	}
}
