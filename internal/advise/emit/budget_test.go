//go:build linux

package emit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"plimsoll/internal/advise/emit"
)

// onSmallMachine is a layout whose machine is slower than its volume: an m6i.large sustains 3,600 IOPS and
// 81.25 MB/s, but the volume was ordered with 16,000 IOPS and 524 MB/s.
func onSmallMachine(t *testing.T, file string) map[string]string {
	t.Helper()
	l := layoutOf(t, file, "host.instance=m6i.large", "volumes.data={type: gp3, size: 500GiB, iops: 16000, throughput: 500MiB/s}", "host.dirty_background_bytes=", "host.dirty_bytes=")
	return filesOf(t, l, emit.Options{}, "budget")
}

// Each setting is based on the machine's limit, not on what the volume was ordered with.
func TestBudgetsAreOfTheRealCap(t *testing.T) {
	files := onSmallMachine(t, "telemetry.yaml")
	for path, wanted := range map[string][]string{
		"budget/volumes.yaml":        {"iops: 3600 # the machine's baseline", "bytes_per_second: 81250000 # the machine's baseline"},
		"budget/mongod.conf":         {`configString: "io_capacity=(total=77MB)"`},
		"budget/innodb.cnf":          {"innodb_io_capacity = 1800", "innodb_io_capacity_max = 3600"},
		"budget/io_properties.yaml":  {"read_iops: 3600", "write_bandwidth: 81250000"},
		"budget/cockroach.md":        {"provisioned-rate=bandwidth=77MiB/s"},
		"budget/90-dirty-bytes.conf": {"vm.dirty_background_bytes = 8125000", "vm.dirty_bytes = 81250000"},
	} {
		for _, want := range wanted {
			if !strings.Contains(files[path], want) {
				t.Errorf("%s: no %q in\n%s", path, want, files[path])
			}
		}
	}

	var scylla struct {
		Disks []struct {
			Mountpoint string `json:"mountpoint"`
		} `json:"disks"`
	}
	if err := yaml.Unmarshal([]byte(files["budget/io_properties.yaml"]), &scylla); err != nil || len(scylla.Disks) != 1 || !filepath.IsAbs(scylla.Disks[0].Mountpoint) {
		t.Errorf("%+v, %v", scylla, err)
	}

	for line := range strings.Lines(files["budget/90-dirty-bytes.conf"]) {
		if name, _, ok := strings.Cut(line, " = "); ok && !strings.HasPrefix(line, "#") {
			if _, err := os.Stat("/proc/sys/" + strings.ReplaceAll(name, ".", "/")); err != nil {
				t.Errorf("the kernel has no %s: %v", name, err)
			}
		}
	}
}

// The README lists what has to restart for a budget, although a budget is not a change of the
// layout.
func TestBudgetSaysWhatRestarts(t *testing.T) {
	for file, want := range map[string]string{"telemetry.yaml": "each mongod, one member after another", "postgres.yaml": "PostgreSQL: nothing, a reload is enough"} {
		_, section, _ := strings.Cut(onSmallMachine(t, file)["README.md"], "## What restarts")
		section, _, _ = strings.Cut(section, "\n## ")
		if !strings.Contains(section, want) || strings.Contains(section, "\nNothing.") || !strings.Contains(section, "at startup") {
			t.Errorf("%s: %s", file, section)
		}
	}
}

// PostgreSQL's own parser accepts the file and reads the values that follow from the cap: half of 3,600 IOPS in
// five rounds a second.
func TestPostgresAcceptsItsBudget(t *testing.T) {
	bin := pgBin(t)
	conf := filepath.Join(t.TempDir(), "postgresql.conf")
	if err := os.WriteFile(conf, []byte(onSmallMachine(t, "postgres.yaml")["budget/postgresql.conf"]), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"checkpoint_completion_target": "0.9", "checkpoint_flush_after": "32", "bgwriter_delay": "200", "bgwriter_lru_maxpages": "360"} {
		out, err := exec.Command(filepath.Join(bin, "postgres"), "-C", name, "-D", filepath.Dir(conf)).Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s is %q, want %s: %v", name, got, want, err)
		}
	}
}
