package emit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine"
)

// burstingLayout turns on-demand bursting on for a disk in use, and creates another bursting disk.
func burstingLayout(t *testing.T) *emit.Transition {
	t.Helper()
	text, err := os.ReadFile("../../../examples/scenarios/telemetry.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const host = "host={cores: 8, memory: 32GiB}"
	l, err := (&emit.Request{
		File: "telemetry.yaml", Text: string(text), Facts: []string{host, "volumes.data={type: premium-ssd, size: 1TiB}"},
		Sets: []string{host, "volumes.data={type: premium-ssd, size: 1TiB, on_demand_bursting: true}", "volumes.journal={type: premium-ssd, size: 1TiB, on_demand_bursting: true}"},
	}).Transition(engine.All().Deployments())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Every target supports it: Terraform by an attribute, a StorageClass by a parameter, and the
// README by a command if the driver cannot change it.
func TestBurstingIsEmitted(t *testing.T) {
	r, err := emit.Files(burstingLayout(t), []string{"azure", "terraform", "kubernetes"}, emit.Options{})
	if err != nil {
		t.Fatal(err)
	}

	for file, wants := range map[string][]string{
		"azure/volumes.sh":                     {"\tbursting \"$disk\" false true\n", "fresh \"$machine\" \"$machine-telemetry-platform-journal\" Premium_LRS 1024 0 0 --enable-bursting true\n"},
		"terraform/volumes.tf":                 {"It can be turned on only while the disk is detached"},
		"kubernetes/storageclass-data.yaml":    {"name: telemetry-platform-data-premium-ssd-xfs-bursting\n", "  enableBursting: \"true\"\n"},
		"kubernetes/storageclass-journal.yaml": {"  enableBursting: \"true\"\n"},
		"README.md":                            {"`az disk update --resource-group GROUP --name DISK --enable-bursting true`", "costs a monthly fee"},
	} {
		text := fileOf(t, r, file)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", file, want, text)
			}
		}
	}

	if n := strings.Count(fileOf(t, r, "terraform/volumes.tf"), "on_demand_bursting_enabled = true"); n != 2 {
		t.Errorf("%d of two disks burst", n)
	}
}

// The script requires a deallocated machine, and changes the setting only once.
func TestBurstingScriptRuns(t *testing.T) {
	needs(t, "bash")
	r, err := emit.Files(burstingLayout(t), []string{"azure"}, emit.Options{})
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	write := func(name, text string) { script(t, dir, name, text) }
	write("volumes.sh", fileOf(t, r, "azure/volumes.sh"))
	write("az", `#!/bin/bash
cd "$FAKE"
case "$*" in
"disk list"*) d="$*"; d=${d##*name==\'}; d=${d%%\'*}; [[ ! -e $d ]] || echo "$d" ;;
"disk show"*burstingEnabled*) echo "$(cat "$6.bursting" 2>/dev/null || echo false) $(cat state)" ;;
"disk show"*managedBy*) cat "$6.on" 2>/dev/null || true ;;
"disk show"*) [[ -e $6 || $6 == db-data ]] && echo "Premium_LRS 1024 5000 200" ;;
"vm show"*) echo "westeurope 1" ;;
"disk update"*) echo "$8" >"$6.bursting"; echo "$*" >>log ;;
"disk create"*) touch "$6"; echo "$*" >>log ;;
"vm disk attach"*) echo "/x/$7" >"$9.on" ;;
esac
`)

	write("state", "Attached\n")
	run := func(code int, args ...string) string {
		t.Helper()
		cmd := exec.Command("bash", append([]string{filepath.Join(dir, "volumes.sh")}, args...)...)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "FAKE="+dir, "RESOURCE_GROUP=g", "DATA_DISKS=db-data", "MACHINES=db", "UNMOUNTED=yes")
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("%v: exit code %d\n%s", args, got, out)
		}
		return string(out)
	}

	if out := run(1, "apply"); !strings.Contains(out, "db-data is in a running machine: deallocate it") {
		t.Errorf("it says\n%s", out)
	}

	write("state", "Reserved\n")
	run(1, "check")
	run(0, "apply")
	run(0, "apply") // again: nothing
	run(0, "check")

	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}

	const create = "disk create --resource-group g --name db-telemetry-platform-journal --location westeurope --sku Premium_LRS --size-gb 1024 --zone 1 --enable-bursting true --output none\n"
	if want := "disk update --resource-group g --name db-data --enable-bursting true --output none\n" + create; string(log) != want {
		t.Errorf("it changed\n%s", log)
	}

	run(0, "undo")
}
