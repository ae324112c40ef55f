package emit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine"
)

// newIn returns the README of a deployment that does not exist yet.
func newIn(t *testing.T, target string, sets ...string) string {
	t.Helper()
	text, err := os.ReadFile("../../../examples/scenarios/telemetry.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&emit.Request{File: "telemetry.yaml", Text: string(text), Sets: sets, New: true}).Transition(engine.All().Deployments())
	if err != nil {
		t.Fatal(err)
	}
	return filesOf(t, l, emit.Options{}, target)["README.md"]
}

// The commands for new machines show the account first, create nothing if machines exist or if that is
// unknown, and delete only what their user names.
func TestNewMachines(t *testing.T) {
	needs(t, "bash")
	for target, c := range map[string]struct {
		sets                  []string
		program, list, create string
		found                 string
	}{
		"aws":   {[]string{"volumes.data.iops=6000"}, "aws", "describe-instances", "ec2 run-instances --instance-type m6i.xlarge --image-id i --subnet-id i --key-name i --tag-specifications ResourceType=instance,Tags=[{Key=Name,Value=telemetry-platform}]", "i-1 m6i.xlarge"},
		"gcp":   {[]string{"host={instance: n2-standard-4}", "volumes.data={type: hyperdisk-balanced, size: 500GiB}"}, "gcloud", "instances list", "compute instances create telemetry-platform-1 --machine-type n2-standard-4 --zone i", "telemetry-platform-1"},
		"azure": {[]string{"host={instance: Standard_D4s_v5}", "volumes.data={type: premium-v2, size: 512GiB}"}, "az", "vm list", "vm create --resource-group i --name telemetry-platform --size Standard_D4s_v5", "telemetry-platform"},
	} {
		t.Run(target, func(t *testing.T) {
			readme := newIn(t, target, c.sets...)
			_, apply, _ := strings.Cut(readme, "First create the machines")
			apply, _, _ = strings.Cut(apply, "\n1. ")
			_, back, _ := strings.Cut(readme, "deletes them with the disks")
			back, _, _ = strings.Cut(back, "\n## ")
			block := func(text string) string {
				return strings.Join(regexp.MustCompile(`(?m)^    \S.*$`).FindAllString(text, -1), "\n")
			}

			dir := t.TempDir()
			script(t, dir, c.program, `#!/bin/bash
echo "$*" >>"$FAKE/log"
case "$*" in
*"`+c.list+`"*) [[ -z $FAILS ]] || exit 1; [[ -z $FOUND ]] || echo "$FOUND" ;;
esac
`)
			run := func(text string, env ...string) string {
				t.Helper()
				_ = os.Remove(filepath.Join(dir, "log"))
				cmd := exec.Command("bash", "-c", text)
				cmd.Env = append(os.Environ(), append([]string{"PATH=" + dir + ":" + os.Getenv("PATH"), "FAKE=" + dir, "FAILS=", "FOUND=", "IMAGE=i", "SUBNET=i", "KEY=i", "ZONE=i", "RESOURCE_GROUP=i"}, env...)...)
				_, _ = cmd.CombinedOutput()
				log, err := os.ReadFile(filepath.Join(dir, "log"))
				if err != nil {
					t.Fatal(err)
				}
				return string(log)
			}

			if did := run(block(apply)); !strings.Contains(did, c.create) || !strings.Contains(strings.Split(did, "\n")[0], map[string]string{"aws": "get-caller-identity", "gcp": "project", "azure": "account show"}[target]) {
				t.Errorf("it does not run %q:\n%s", c.create, did)
			}
			for _, env := range []string{"FOUND=" + c.found, "FAILS=yes"} {
				if did := run(block(apply), env); strings.Contains(did, "create ") || strings.Contains(did, "run-instances") {
					t.Errorf("%s: it creates machines:\n%s", env, did)
				}
			}

			if did := run(block(back)); strings.Contains(did, "delete") || strings.Contains(did, "terminate") {
				t.Errorf("it deletes what no variable names:\n%s", did)
			}
			if did := run(block(back), "INSTANCES=one", "MACHINES=one", "MACHINE=one"); !regexp.MustCompile(`(terminate-instances --instance-ids|instances delete|vm delete .*--name) one`).MatchString(did) {
				t.Errorf("it does not delete the machine:\n%s", did)
			}
		})
	}
}

// AWS' own API descriptions contain every call of the commands for new machines.
func TestNewMachinesKnowTheAPI(t *testing.T) {
	models, _ := filepath.Glob("../../../bin/moto/lib/python*/site-packages/botocore")
	if len(models) == 0 {
		t.Skip("no API description of AWS: make moto")
	}
	readme := newIn(t, "aws", "volumes.data.iops=6000")
	calls := regexp.MustCompile(`aws ec2 ([a-z-]+)([^|)\n]*)`).FindAllStringSubmatch(readme, -1)
	check := `import sys, botocore.session
m = botocore.session.get_session().get_service_model("ec2")
op, options = sys.argv[1], sys.argv[2:]
o = [n for n in m.operation_names if n.lower() == op.replace("-", "")]
known = {n.lower() for n in m.operation_model(o[0]).input_shape.members} | {"output", "query", "count"}
wrong = [x for x in options if x.replace("-", "") not in known]
sys.exit("%s has no %s" % (op, wrong) if wrong else 0)`
	n := 0
	for _, call := range calls {
		if strings.HasPrefix(call[1], "describe-volumes") {
			continue // the script's own calls
		}
		args := []string{"-c", check, call[1]}
		for _, o := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(call[2], -1) {
			args = append(args, o[1])
		}
		if out, err := exec.Command("../../../bin/moto/bin/python", args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", call[0], err, out)
		}
		n++
	}
	if n < 4 {
		t.Errorf("%d calls", n)
	}
}
