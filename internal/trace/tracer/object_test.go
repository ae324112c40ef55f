//go:build linux

package tracer

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
)

// The object matches the source: every program has the same instructions. Another clang may
// generate different code, so only the version that built the object is compared.
func TestObjectMatchesSource(t *testing.T) {
	clang, err := exec.LookPath("clang")
	if err != nil {
		t.Skip("clang is not installed")
	}

	want := comment(t, object)
	out := filepath.Join(t.TempDir(), "trace.o")
	cmd := exec.CommandContext(t.Context(), "sh", "../../../.ci/bpf", out)
	cmd.Env = append(os.Environ(), "CLANG="+clang)

	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}

	built, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}

	if got := comment(t, built); got != want {
		t.Skipf("the object was built by %s, and this is %s", want, got)
	}

	a, b := instructions(t, object), instructions(t, built)
	for name, text := range b {
		if a[name] != text {
			t.Errorf("program %s differs between object and source: run make bpf", name)
		}
	}

	if len(a) != len(b) {
		t.Errorf("the object has %d programs, the source %d: run make bpf", len(a), len(b))
	}
}

// comment returns the compiler's name and version.
func comment(t *testing.T, object []byte) string {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Section("compiler")
	if s == nil {
		t.Fatal("the object does not name its compiler")
	}
	text, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(text), "\x00")
}

func instructions(t *testing.T, object []byte) map[string]string {
	t.Helper()
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for name, p := range spec.Programs {
		var b strings.Builder
		for _, ins := range p.Instructions {
			fmt.Fprintln(&b, ins.OpCode, ins.Dst, ins.Src, ins.Offset, ins.Constant, ins.Reference())
		}
		out[name] = b.String()
	}
	return out
}

// The table lists exactly the programs of the object.
func TestPrograms(t *testing.T) {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}

	for name, p := range spec.Programs {
		i := slices.IndexFunc(programs, func(x program) bool { return x.name == name })
		if i < 0 {
			t.Errorf("program %s is not in the table", name)
			continue
		}
		if programs[i].tracepoint != p.AttachTo {
			t.Errorf("program %s attaches to %s, not %s", name, p.AttachTo, programs[i].tracepoint)
		}
	}

	if len(spec.Programs) != len(programs) {
		t.Errorf("%d programs, %d in the table", len(spec.Programs), len(programs))
	}
}

// Argument counts of tracepoints in several kernels, from their sources; -1: not present.
func TestChoose(t *testing.T) {
	modern := map[string]int{
		"ext4_sync_file_enter": 2, "ext4_sync_file_exit": 2, "xfs_file_fsync": 1, "btrfs_sync_file": 2, "sched_switch": 4, "sched_waking": 1, "block_rq_insert": 1, "block_rq_issue": 1, "block_rq_merge": 1,
		"block_io_start": 1, "block_rq_complete": 3, "writeback_start": 2, "writeback_written": 2, "writeback_dirty_folio": 2,
		"jbd2_start_commit": 2, "jbd2_commit_locking": 2, "jbd2_commit_flushing": 2, "jbd2_commit_logging": 2, "jbd2_end_commit": 2, "jbd2_handle_stats": 8, "io_uring_submit_req": 1,
	}

	with := func(change map[string]int) func(string) int {
		return func(name string) int {
			if n, ok := change[name]; ok {
				return n
			}
			if n, ok := modern[name]; ok {
				return n
			}
			return -1
		}
	}

	v510 := map[string]int{"sched_switch": 3, "block_rq_insert": 2, "block_rq_issue": 2, "block_rq_merge": 2, "block_io_start": -1,
		"writeback_dirty_folio": -1, "writeback_dirty_page": 2, "io_uring_submit_req": -1, "io_uring_submit_sqe": 5}
	for _, x := range []struct {
		name     string
		change   map[string]int
		has, not []string
		missing  int
		err      string
	}{
		{"6.18", nil, []string{"switched_cast", "insert", "issue", "io_start", "dirty_folio"}, []string{"switched", "insert_510", "issue_510", "dirty_page"}, 0, ""},
		{"6.1", map[string]int{"block_io_start": -1, "io_uring_submit_req": -1, "io_uring_submit_sqe": 2},
			[]string{"switched", "insert", "issue", "dirty_folio", "ring_entry"}, []string{"switched_cast", "io_start", "dirty_page", "ring_request", "ring_510"}, 0, ""},
		{"5.15", map[string]int{"sched_switch": 3, "block_io_start": -1, "writeback_dirty_folio": -1, "writeback_dirty_page": 2,
			"io_uring_submit_req": -1, "io_uring_submit_sqe": 7},
			[]string{"insert", "issue", "dirty_page"}, []string{"io_start", "dirty_folio"}, 0, ""},
		{"5.10", v510, []string{"insert_510", "issue_510", "merge_510", "dirty_page", "ring_510"}, []string{"insert", "issue", "merge", "io_start"}, 0, ""},
		{"without jbd2", map[string]int{"jbd2_start_commit": -1, "jbd2_commit_locking": -1, "jbd2_commit_flushing": -1, "jbd2_commit_logging": -1, "jbd2_end_commit": -1, "jbd2_handle_stats": -1},
			[]string{"issue"}, []string{"commit_start", "handle_stats"}, 2, ""},
		{"without block", map[string]int{"block_rq_issue": -1}, nil, nil, 0, "block_rq_issue, which shows the devices' requests"},
		{"without the scheduler", map[string]int{"sched_switch": -1}, nil, nil, 0, "sched_switch, which shows the system calls"},
		{"xfs as a module that is not loaded", map[string]int{"xfs_file_fsync": -1}, []string{"ext4_sync", "switched_cast"}, []string{"xfs_sync"}, 0, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
			if err != nil {
				t.Fatal(err)
			}

			missing, err := choose(spec, with(x.change), slices.Contains(x.has, "switched_cast"))
			if x.err != "" {
				if err == nil || !strings.Contains(err.Error(), x.err) {
					t.Errorf("%v", err)
				}
				return
			}

			if err != nil || len(missing) != x.missing {
				t.Errorf("%v, %v", missing, err)
			}

			for _, name := range x.has {
				if spec.Programs[name] == nil {
					t.Errorf("%s was left out", name)
				}
			}

			for _, name := range x.not {
				if spec.Programs[name] != nil {
					t.Errorf("%s was kept", name)
				}
			}
		})
	}
}
