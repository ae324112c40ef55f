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

// cachingLayout only changes the host caching of a disk in use, and creates another cached disk.
func cachingLayout(t *testing.T) *emit.Transition {
	t.Helper()
	text, err := os.ReadFile("../../../examples/scenarios/telemetry.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const host = "host={cores: 8, memory: 32GiB}"
	l, err := (&emit.Request{
		File: "telemetry.yaml", Text: string(text), Facts: []string{host, "volumes.data={type: premium-ssd, size: 1TiB}"},
		Sets: []string{host, "volumes.data={type: premium-ssd, size: 1TiB, caching: read-only}", "volumes.journal={type: premium-ssd, size: 64GiB, caching: read-write}"},
	}).Transition(engine.All().Deployments())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Every target sets the host caching, or the README describes how to do it.
func TestHostCachingIsEmitted(t *testing.T) {
	r, err := emit.Files(cachingLayout(t), []string{"azure", "terraform", "kubernetes"}, emit.Options{})
	if err != nil {
		t.Fatal(err)
	}

	for file, wants := range map[string][]string{
		"azure/volumes.sh": {
			"\tcached \"$disk\" None ReadOnly\n",
			"\tcaching=ReadWrite fresh \"$machine\" \"$machine-telemetry-platform-journal\" Premium_LRS 64 0 0\n",
			"cached \"$machine-telemetry-platform-journal\" None ReadWrite\n",
		},
		"terraform/volumes.tf": {
			"resource \"azurerm_virtual_machine_data_disk_attachment\" \"data\"", "  caching = \"ReadOnly\"", "  caching = \"ReadWrite\"",
			"ignore_changes  = [lun, managed_disk_id, virtual_machine_id]", "Host caching belongs to the attachment, which already exists: import it",
		},
		"kubernetes/storageclass-data.yaml":    {"name: telemetry-platform-data-premium-ssd-xfs-read-only\n", "  cachingMode: ReadOnly\n"},
		"kubernetes/storageclass-journal.yaml": {"  cachingMode: ReadWrite\n"},
		"README.md": {
			"`terraform import 'azurerm_virtual_machine_data_disk_attachment.data[\"NAME\"]' ID_OF_THE_MACHINE/dataDisks/NAME_OF_THE_DISK`",
			"a volume's `cachingMode` cannot change after its claim is bound", "stop the database and unmount its file system",
			"| `volumes.data.caching` | - | read-only | terraform, azure, kubernetes |", "the host acknowledges writes that are not on the disk yet",
		},
	} {
		text := fileOf(t, r, file)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", file, want, text)
			}
		}
	}
}

// The cachingMode of a claim's volume is immutable, so a rollout cannot change it.
func TestHostCachingOfClaimsIsRefused(t *testing.T) {
	const set = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: mongo}
spec:
  template:
    spec:
      containers: [{name: mongod, volumeMounts: [{name: data, mountPath: /data/db}]}]
  volumeClaimTemplates: [{metadata: {name: data}}]
`
	_, err := cachingLayout(t).InPlace(&emit.Options{StatefulSet: []byte(set), StatefulSetFile: "set.yaml"})
	if err == nil || !strings.Contains(err.Error(), "host caching of a claim in use cannot change") {
		t.Errorf("error %v", err)
	}
}

// The script changes the caching by the disk's number on its machine, and only while the machine is
// deallocated or the user says that the disk is unmounted.
func TestHostCachingScriptRuns(t *testing.T) {
	needs(t, "bash")
	r, err := emit.Files(cachingLayout(t), []string{"azure"}, emit.Options{})
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	write := func(name, text string) { script(t, dir, name, text) }
	write("volumes.sh", fileOf(t, r, "azure/volumes.sh"))
	write("az", `#!/bin/bash
cd "$FAKE"
case "$*" in
"disk list"*) d="$*"; d=${d##*name==\'}; d=${d%%\'*}; [[ ! -e $d.on ]] || echo "$d" ;;
"disk show"*managedBy*) cat "$6.on" 2>/dev/null || true ;;
"disk show"*diskState*) cat state ;;
"disk show"*) [[ $6 == *journal ]] && echo "Premium_LRS 64 240 50" || echo "Premium_LRS 1024 5000 200" ;;
"vm show"*dataDisks*) d="$*"; d=${d##*name==\'}; d=${d%%\'*}; echo "3 $(cat "$d.caching")" ;;
"vm show"*) echo "westeurope 1" ;;
"vm update"*) echo "${8#*=}" >db-data.caching; echo "$*" >>log ;;
"disk create"*) echo "$*" >>log ;;
"vm disk attach"*) echo "/x/$7" >"$9.on"; echo "${11}" >"$9.caching"; echo "$*" >>log ;;
"vm disk detach"*) rm "$9.on" ;;
esac
`)

	write("state", "Attached\n")
	write("db-data.on", "/x/db\n")
	write("db-data.caching", "None\n")
	run := func(code int, env string, args ...string) string {
		t.Helper()
		cmd := exec.Command("bash", append([]string{filepath.Join(dir, "volumes.sh")}, args...)...)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "FAKE="+dir, "RESOURCE_GROUP=g", "DATA_DISKS=db-data", "MACHINES=db", env)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("%v: exit code %d\n%s", args, got, out)
		}
		return string(out)
	}

	if out := run(1, "", "apply"); !strings.Contains(out, "db-data is in the running machine db") {
		t.Errorf("it says\n%s", out)
	}

	run(1, "", "check")
	run(0, "UNMOUNTED=yes", "apply")
	run(0, "", "apply") // again: nothing
	run(0, "", "check")

	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}

	want := "vm update --resource-group g --name db --disk-caching 3=ReadOnly --output none\n" +
		"disk create --resource-group g --name db-telemetry-platform-journal --location westeurope --sku Premium_LRS --size-gb 64 --zone 1 --output none\n" +
		"vm disk attach --resource-group g --vm-name db --name db-telemetry-platform-journal --caching ReadWrite --output none\n"
	if string(log) != want {
		t.Errorf("it changed\n%s", log)
	}

	// A disk of the layout that is attached with different caching fails the check.
	write("db-telemetry-platform-journal.caching", "None\n")
	if out := run(1, "", "check"); !strings.Contains(out, "None, not yet ReadWrite") {
		t.Errorf("it says\n%s", out)
	}

	write("state", "Reserved\n")
	run(0, "UNMOUNTED=yes", "undo")
	if is, _ := os.ReadFile(filepath.Join(dir, "db-data.caching")); string(is) != "None\n" {
		t.Errorf("the disk is cached after the undo: %s", is)
	}
}
