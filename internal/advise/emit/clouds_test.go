package emit_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclparse"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine"
)

// elsewhere are layouts for Google Cloud and Azure, each with a disk modified in use and a new one.
func elsewhere(t *testing.T) map[string]*emit.Transition {
	t.Helper()
	host := "host={cores: 8, memory: 32GiB}"
	of := func(before, after string) *emit.Transition {
		text, err := os.ReadFile("../../../examples/scenarios/telemetry.yaml")
		if err != nil {
			t.Fatal(err)
		}

		journal := regexp.MustCompile(`[0-9]+GiB`).ReplaceAllString(before, "16GiB")
		l, err := (&emit.Request{
			File: "telemetry.yaml", Text: string(text), Facts: []string{host, "volumes.data=" + before},
			Sets: []string{host, "volumes.data=" + after, "volumes.journal=" + journal},
		}).Transition(engine.All().Deployments())
		if err != nil {
			t.Fatal(err)
		}

		return l
	}

	return map[string]*emit.Transition{
		"gcp":   of("{type: hyperdisk-balanced, size: 500GiB}", "{type: hyperdisk-balanced, size: 600GiB, iops: 6000, throughput: 290MiB/s}"),
		"azure": of("{type: premium-v2, size: 512GiB}", "{type: premium-v2, size: 512GiB, iops: 6000, throughput: 300MB/s}"),
	}
}

// The scripts are valid bash, and use only commands and flags from the providers' references.
func TestCloudScripts(t *testing.T) {
	text, err := os.ReadFile("testdata/cli_flags.json")
	if err != nil {
		t.Fatal(err)
	}

	var known struct {
		Commands map[string]struct {
			Source string
			Flags  []string
		}
	}

	if err := json.Unmarshal(text, &known); err != nil {
		t.Fatal(err)
	}

	flag := regexp.MustCompile(`--[a-z-]+`)
	for name, l := range elsewhere(t) {
		r, err := emit.Files(l, []string{name}, emit.Options{})
		if err != nil {
			t.Fatal(err)
		}

		script := fileOf(t, r, name+"/volumes.sh")
		dir := t.TempDir()
		path := filepath.Join(dir, "volumes.sh")

		if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}

		if bash, err := exec.LookPath("bash"); err == nil {
			if out, err := exec.Command(bash, "-n", path).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		}

		joined := strings.ReplaceAll(script, "\\\n", " ")
		commands := 0
		for line := range strings.Lines(joined) {
			for command, has := range known.Commands {
				i := strings.Index(line, command+" ")
				if i < 0 {
					continue
				}
				commands++
				for _, f := range flag.FindAllString(line[i:], -1) {
					if !slices.Contains(has.Flags, f) {
						t.Errorf("%s: %s has no %s (%s)", name, command, f, has.Source)
					}
				}
			}
		}

		if commands < 5 {
			t.Errorf("%s: %d commands are known", name, commands)
		}
	}
}

// With a fake CLI, the script inspects, applies, verifies and undoes the change, and repeats no step.
func TestCloudScriptsRun(t *testing.T) {
	needs(t, "bash")
	l := elsewhere(t)["gcp"]
	r, err := emit.Files(l, []string{"gcp"}, emit.Options{})
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	write := func(name, text string) { script(t, dir, name, text) }
	write("volumes.sh", fileOf(t, r, "gcp/volumes.sh"))
	write("db-data", "hyperdisk-balanced 500 3000 140")

	// Disks are files with their figures; an attachment is a file next to them.
	write("gcloud", `#!/bin/bash
cd "$FAKE"
if [[ -n $FAKE_FAILS && "$*" == *$FAKE_FAILS* ]]; then echo "ERROR: (gcloud) $FAKE_SAYS" >&2; exit 1; fi
echo "$*" >>log
disk=$4
case "$*" in
*"disks list"*) d=${4#--filter=name=}; [[ ! -e $d ]] || echo "$d" ;;
*users.basename*) cat "$disk.on" 2>/dev/null || true ;;
*describe*) cat "$disk" ;;
"compute disks update"*) echo "hyperdisk-balanced 600 6000 290" >"$disk" ;;
"compute disks create"*) echo "hyperdisk-balanced 16 3000 140" >"$disk" ;;
"compute instances attach-disk"*) d=${5#--disk=}; echo "$4" >"$d.on" ;;
"compute instances detach-disk"*) d=${5#--disk=}; rm "$d.on" ;;
esac
`)

	fails, says, unmounted := "", "", ""
	run := func(code int, args ...string) string {
		t.Helper()
		cmd := exec.Command("bash", append([]string{filepath.Join(dir, "volumes.sh")}, args...)...)
		cmd.Env = append(os.Environ(), "FAKE_FAILS="+fails, "FAKE_SAYS="+says, "PATH="+dir+":"+os.Getenv("PATH"), "FAKE="+dir, "ZONE=z", "DATA_DISKS=db-data", "MACHINES=db", "UNMOUNTED="+unmounted)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("%v: exit code %d\n%s", args, got, out)
		}
		return string(out)
	}

	calls := func() int {
		text, _ := os.ReadFile(filepath.Join(dir, "log"))
		return len(regexp.MustCompile(`(?m)^compute (disks (update|create)|instances)`).FindAll(text, -1))
	}

	run(2)
	run(0, "look")
	run(1, "check")

	if out := run(0, "apply", "--dry-run"); calls() != 0 || !strings.Contains(out, "--provisioned-iops=6000") || !strings.Contains(out, "--size=600GB") {
		t.Fatalf("%d changes by a dry run\n%s", calls(), out)
	}

	// The provider's refusals are shown in its own words, with a hint, and nothing else is done.
	for what, c := range map[string]struct{ fails, says, want, verb string }{
		"expired":              {"describe", "Reauthentication failed", "are you logged in (gcloud auth login)", "apply"},
		"expired, going back":  {"list", "Reauthentication failed", "cannot query db-telemetry-platform-journal", "undo"},
		"no permission":        {"disks update", "Required 'compute.disks.update' permission", "db-data was not changed, for the reason above", "apply"},
		"being modified":       {"disks update", "resourceNotReady", "is being changed now, wait (Hyperdisk: once every four hours)", "apply"},
		"throttled":            {"describe", "Quota exceeded for quota metric 'Read requests per minute'", "cannot query db-data", "apply"},
		"attachment not known": {"users.basename", "Quota exceeded", "", "check"},
	} {
		fails, says = c.fails, c.says
		was := calls()
		if out := run(1, c.verb); calls() != was || !strings.Contains(out, c.want) || strings.Contains(out, "done:") || c.verb != "check" && !strings.Contains(out, c.says) {
			t.Errorf("%s: %d changes\n%s", what, calls()-was, out)
		}
	}

	fails = ""
	run(0, "apply")
	run(0, "check")
	before := calls()
	run(0, "apply") // again: nothing

	if before != 3 || calls() != before {
		t.Errorf("%d changes, then %d", before, calls())
	}

	on := filepath.Join(dir, "db-telemetry-platform-journal.on")
	if _, err := os.Stat(on); err != nil {
		t.Error(err)
	}

	// The script cannot see whether the disk is mounted, and changes nothing until a user confirms that
	// it is not.
	was := calls()
	if out := run(1, "undo"); !strings.Contains(out, "set UNMOUNTED=yes") || calls() != was {
		t.Errorf("%d changes\n%s", calls()-was, out)
	}
	if out := run(0, "undo", "--dry-run"); !strings.Contains(out, "would run: gcloud compute instances detach-disk") || calls() != was {
		t.Errorf("%d changes\n%s", calls()-was, out)
	}

	unmounted = "yes"
	run(0, "undo")
	if _, err := os.Stat(on); err == nil {
		t.Error("the new disk is still attached")
	}
}

// The script shows Azure's own message with a hint, does nothing else, and another run continues.
func TestAzureScriptRefuses(t *testing.T) {
	needs(t, "bash")
	r, err := emit.Files(elsewhere(t)["azure"], []string{"azure"}, emit.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if readme := fileOf(t, r, "README.md"); !strings.Contains(readme, "only if the machine itself is in a zone") || !strings.Contains(readme, "creating a Premium SSD v2 counts as one") {
		t.Errorf("the README does not say what Premium SSD v2 needs:\n%s", readme)
	}

	dir := t.TempDir()
	script(t, dir, "volumes.sh", fileOf(t, r, "azure/volumes.sh"))
	script(t, dir, "db-data", "PremiumV2_LRS 512 3000 125")
	script(t, dir, "az", `#!/bin/bash
cd "$FAKE"
if [[ -n $FAKE_FAILS && "$*" == *$FAKE_FAILS* ]]; then echo "ERROR: $FAKE_SAYS" >&2; exit 1; fi
case "$*" in
"disk list"*) d="$*"; d=${d##*name==\'}; d=${d%%\'*}; [[ ! -e $d ]] || echo "$d" ;;
"disk show"*managedBy*) cat "$6.on" 2>/dev/null || true ;;
"disk show"*) cat "$6" ;;
"vm show"*) echo "westeurope 1" ;;
"disk update"*) echo "PremiumV2_LRS 512 $8 ${10}" >"$6"; echo "$*" >>log ;;
"disk create"*) echo "PremiumV2_LRS 16 3000 125" >"$6"; echo "$*" >>log ;;
"vm disk attach"*) echo "/x/$7" >"$9.on"; echo "$*" >>log ;;
"vm disk detach"*) rm "$9.on"; echo "$*" >>log ;;
esac
`)

	fails, says := "", ""
	run := func(code int, verb string) string {
		t.Helper()
		cmd := exec.Command("bash", filepath.Join(dir, "volumes.sh"), verb)
		cmd.Env = append(os.Environ(), "FAKE_FAILS="+fails, "FAKE_SAYS="+says, "PATH="+dir+":"+os.Getenv("PATH"), "FAKE="+dir, "RESOURCE_GROUP=g", "DATA_DISKS=db-data", "MACHINES=db", "UNMOUNTED=yes")
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("%s: exit code %d\n%s", verb, got, out)
		}
		return string(out)
	}

	for what, c := range map[string]struct{ fails, says, want string }{
		"being modified": {"disk update", "(Conflict) Disk 'db-data' is being modified: another operation is in progress", "db-data was not changed, for the reason above. If it was changed too often or is being changed now, wait (Premium SSD v2 and Ultra: four times in 24 hours)"},
		"expired":        {"disk show", "AADSTS700082: The refresh token has expired", "are you logged in (az login)"},
		"no permission":  {"disk update", "(AuthorizationFailed) does not have authorization to perform action 'Microsoft.Compute/disks/write'", "if you lack a permission, the message names it"},
		"throttled":      {"disk list", "(TooManyRequests)", "cannot query"},
	} {
		fails, says = c.fails, c.says
		if out := run(1, "apply"); !strings.Contains(out, c.want) || !strings.Contains(out, c.says) || strings.Contains(out, "done:") {
			t.Errorf("%s:\n%s", what, out)
		}
		if _, err := os.Stat(filepath.Join(dir, "log")); err == nil {
			t.Fatalf("%s: it changed something", what)
		}
	}

	fails = ""
	run(0, "apply")
	run(0, "check")
	fails, says = "disk update", "(Conflict) another operation is in progress"

	if out := run(1, "undo"); !strings.Contains(out, "run this again") {
		t.Errorf("undo says\n%s", out)
	}

	fails = ""
	run(0, "undo")
	run(1, "check")
}

// Terraform's files are valid HCL with the providers' resources.
func TestTerraformElsewhere(t *testing.T) {
	for name, wanted := range map[string][]string{
		"gcp":   {`"google_compute_disk" "data"`, `"google_compute_attached_disk" "journal"`, "provisioned_iops", "provisioned_throughput = 290"},
		"azure": {`"azurerm_managed_disk" "data"`, `"azurerm_virtual_machine_data_disk_attachment" "journal"`, `"PremiumV2_LRS"`, "disk_mbps_read_write = 300", "disk_iops_read_write = 6000"},
	} {
		r, err := emit.Files(elsewhere(t)[name], []string{"terraform"}, emit.Options{})
		if err != nil {
			t.Fatal(err)
		}

		text := fileOf(t, r, "terraform/volumes.tf")
		if _, diags := hclparse.NewParser().ParseHCL([]byte(text), "volumes.tf"); diags.HasErrors() {
			t.Errorf("%s: %v\n%s", name, diags, text)
		}

		plain := regexp.MustCompile(` +`).ReplaceAllString(text, " ")
		for _, w := range wanted {
			if !strings.Contains(plain, w) {
				t.Errorf("%s: no %s in\n%s", name, w, text)
			}
		}
	}
}

// The classes use the drivers' own names and keys.
func TestClassesElsewhere(t *testing.T) {
	for name, wanted := range map[string][]string{
		"gcp":   {"provisioner: pd.csi.storage.gke.io", "type: hyperdisk-balanced", `provisioned-iops-on-create: "3000"`, "provisioned-throughput-on-create: 140Mi", "driverName: pd.csi.storage.gke.io", `iops: "6000"`, "throughput: 290Mi"},
		"azure": {"provisioner: disk.csi.azure.com", "skuName: PremiumV2_LRS", "cachingMode: None", `DiskIOPSReadWrite: "3000"`, `DiskMBpsReadWrite: "125"`, "driverName: disk.csi.azure.com", `DiskMBpsReadWrite: "300"`},
	} {
		r, err := emit.Files(elsewhere(t)[name], []string{"kubernetes"}, emit.Options{})
		if err != nil {
			t.Fatal(err)
		}

		var all strings.Builder
		for _, f := range r.Files {
			all.Write(f.Text)
		}

		for _, w := range wanted {
			if !strings.Contains(all.String(), w) {
				t.Errorf("%s: no %s in\n%s", name, w, all.String())
			}
		}
	}
}

// The budget is what machine and volume can sustain, not what was ordered, in every database's
// settings.
func TestBudget(t *testing.T) {
	l := layoutOf(t, "telemetry.yaml")
	r, err := emit.Files(l, []string{"budget"}, emit.Options{})
	if err != nil {
		t.Fatal(err)
	}

	for file, wanted := range map[string]string{
		"budget/volumes.yaml":        "bytes_per_second: ",
		"budget/mongod.conf":         `configString: "io_capacity=(total=`,
		"budget/innodb.cnf":          "innodb_io_capacity_max",
		"budget/io_properties.yaml":  "write_bandwidth: ",
		"budget/cockroach.md":        "provisioned-rate=bandwidth=",
		"budget/90-dirty-bytes.conf": "vm.dirty_bytes = ",
	} {
		if text := fileOf(t, r, file); !strings.Contains(text, wanted) {
			t.Errorf("%s: no %s in\n%s", file, wanted, text)
		}
	}
}

// script writes a program, or a file for one, into a folder.
func script(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func fileOf(t *testing.T, r *emit.Result, path string) string {
	t.Helper()
	for _, f := range r.Files {
		if f.Path == path {
			return string(f.Text)
		}
	}
	t.Fatalf("no %s", path)
	return ""
}
