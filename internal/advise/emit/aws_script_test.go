package emit_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/advise/emit"
)

// fakeAWS is a fake aws command whose volumes and instances are files with their figures. It records the
// requested changes.
const fakeAWS = `#!/bin/bash
cd "$FAKE" || exit
if [[ -n $FAKE_FAILS && "$*" == *$FAKE_FAILS* ]]; then echo "An error occurred ($FAKE_SAYS)" >&2; exit 254; fi
all="$* "
after() { rest=${all#*"$1"}; printf '%s' "${rest%% *}"; }
case "$2" in
describe-* | wait | get-caller-identity) ;;
*) echo "$*" >>log ;;
esac
case "$2" in
get-caller-identity) printf '123456789012\tarn:aws:iam::123456789012:user/dba\n' ;;
describe-instance-types) echo "$FAKE_LOCAL" ;;
describe-volumes)
	disk=$(after "--volume-ids ")
	[[ $all != *tag:Name* ]] || disk=$(after "tag:Name,Values=")
	case "$all" in
	*VolumeType*) cat "$disk" 2>/dev/null || echo None ;;
	*Attachments*) cat "$disk.on" 2>/dev/null || true ;;
	*VolumeId*) [[ ! -e $disk ]] || cat "$disk.ids" 2>/dev/null || echo "vol-of-$disk" ;;
	esac ;;
describe-volumes-modifications)
	[[ -n $FAKE_MODIFIED ]] || { echo "no modification" >&2; exit 254; }
	echo "$FAKE_MODIFIED" ;;
describe-instances)
	case "$all" in
	*Zone*) echo us-east-1a ;;
	*InstanceType*) cat machine ;;
	*DeviceName*) printf '/dev/xvda\t/dev/sdf\n' ;;
	esac ;;
create-volume)
	disk=$(after "Value=")
	disk=${disk%%\}*}
	echo "$(after "--volume-type ") $(after "--size ") $(after "--iops ") $(after "--throughput ")" >"$disk"
	echo "vol-of-$disk" ;;
modify-volume) echo "$(after "--volume-type ") $(after "--size ") $(after "--iops ") $(after "--throughput ")" >vol-1 ;;
attach-volume) after "--instance-id " >"$(after "vol-of-").on" ;;
detach-volume) rm "$(after "vol-of-").on" ;;
stop-instances) sed -i 's/running/stopped/' machine ;;
start-instances) sed -i 's/stopped/running/' machine ;;
modify-instance-attribute) read -r _ weighting state <machine; echo "$(after "Value=") $weighting $state" >machine ;;
modify-instance-network-performance-options) read -r type _ state <machine; echo "$type $(after "--bandwidth-weighting ") $state" >machine ;;
esac
`

// An awsWorld is a folder with the fake's state, and a script of a layout.
type awsWorld struct {
	t           *testing.T
	dir, script string
}

func newAWSWorld(t *testing.T, text string) *awsWorld {
	needs(t, "bash")
	w := &awsWorld{t: t, dir: t.TempDir()}
	w.script = filepath.Join(w.dir, "volumes.sh")
	script(t, w.dir, "volumes.sh", text)
	script(t, w.dir, "aws", fakeAWS)
	w.put("vol-1", "gp3 100 3000 250")
	w.put("machine", "r5n.8xlarge default running")
	return w
}

func (w *awsWorld) put(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text+"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// get reads a file of the world; "" if there is none.
func (w *awsWorld) get(name string) string {
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func (w *awsWorld) run(env []string, args ...string) (says string, code int) {
	c := exec.Command("bash", append([]string{w.script}, args...)...)
	c.Env = append(os.Environ(), append([]string{"PATH=" + w.dir + ":" + os.Getenv("PATH"), "FAKE=" + w.dir, "FAKE_MODIFIED=completed 2020-01-01T00:00:00Z", "FAKE_FAILS=", "FAKE_SAYS=", "FAKE_LOCAL=False", "UNMOUNTED=",
		"POLL_SECONDS=0", "WIJ_VOLUMES=vol-1", "INSTANCES=i-1"}, env...)...)
	out, _ := c.CombinedOutput()
	return string(out), c.ProcessState.ExitCode()
}

func (w *awsWorld) succeeds(args ...string) string {
	w.t.Helper()
	says, code := w.run(nil, args...)
	if code != 0 {
		w.t.Fatalf("%v: exit code %d\n%s", args, code, says)
	}
	return says
}

// unmounted undoes after its user has unmounted the new disks.
func (w *awsWorld) unmounted() string {
	w.t.Helper()
	says, code := w.run([]string{"UNMOUNTED=yes"}, "undo")
	if code != 0 {
		w.t.Fatalf("undo: exit code %d\n%s", code, says)
	}
	return says
}

// awsLayout has every kind of change: of a volume in use, new volumes, and of a machine's type and
// weighting.
func awsLayout(t *testing.T) string {
	l := layoutOf(t, "iris.yaml", "volumes.data.stripe=2", "volumes.wij.size=120GiB", "volumes.wij.iops=4000", "host.instance=m8g.8xlarge", "host.bandwidth_weighting=ebs-1")
	return filesOf(t, l, emit.Options{}, "aws")["aws/volumes.sh"]
}

// The commands that the script runs, forward and back. No command runs twice.
func TestAWSScript(t *testing.T) {
	w := newAWSWorld(t, awsLayout(t))
	if says, code := w.run(nil); code != 2 || !strings.Contains(says, "usage:") {
		t.Errorf("without a verb: %d\n%s", code, says)
	}

	if says := w.succeeds("look"); !strings.Contains(says, "in the account or project 123456789012") {
		t.Errorf("look does not show whose disks these are:\n%s", says)
	}
	if says, code := w.run(nil, "check"); code != 1 || !strings.Contains(says, "not yet gp3 120 4000 250") || !strings.Contains(says, "does not exist") || !strings.Contains(says, "not yet m8g.8xlarge ebs-1") {
		t.Errorf("check before anything: %d\n%s", code, says)
	}

	if says := w.succeeds("apply", "--dry-run"); w.get("log") != "" || !strings.Contains(says, "would run: aws ec2 modify-volume") {
		t.Errorf("--dry-run did %q\n%s", w.get("log"), says)
	}

	w.succeeds("apply")
	did := w.get("log")
	for _, command := range []string{
		"ec2 modify-volume --volume-id vol-1 --volume-type gp3 --size 120 --iops 4000 --throughput 250",
		"--availability-zone us-east-1a --volume-type gp3 --size 1000 --iops 16000 --throughput 1000 --encrypted --tag-specifications ResourceType=volume,Tags=[{Key=Name,Value=i-1-iris-with-a-write-daemon-data-2}]",
		"ec2 attach-volume --instance-id i-1 --device /dev/sdg --volume-id vol-of-i-1-iris-with-a-write-daemon-data-2",
		"ec2 modify-instance-attribute --instance-id i-1 --instance-type Value=m8g.8xlarge",
		"ec2 modify-instance-network-performance-options --instance-id i-1 --bandwidth-weighting ebs-1",
	} {
		if !strings.Contains(did, command) {
			t.Errorf("it did not run %q:\n%s", command, did)
		}
	}

	if strings.Count(did, "stop-instances") != 1 {
		t.Errorf("type and weighting take one stop:\n%s", did)
	}

	w.succeeds("check")
	w.succeeds("apply") // again: nothing
	if w.get("log") != did {
		t.Errorf("applied twice, it did\n%s", w.get("log"))
	}

	if says, code := w.run(nil, "undo"); code != 1 || !strings.Contains(says, "set UNMOUNTED=yes") || w.get("log") != did {
		t.Errorf("undo detaches a disk that may be mounted: %d, %s\n%s", code, strings.TrimPrefix(w.get("log"), did), says)
	}

	if says := w.unmounted(); !strings.Contains(says, "vol-1 keeps its 120 GiB: disks cannot shrink") {
		t.Errorf("undo says nothing of the size:\n%s", says)
	}

	for name, want := range map[string]string{
		"vol-1": "gp3 120 3000 250", "machine": "r5n.8xlarge default running",
		"i-1-iris-with-a-write-daemon-data-1.on": "", "i-1-iris-with-a-write-daemon-data-1": "gp3 1000 16000 1000",
	} {
		if got := w.get(name); got != want {
			t.Errorf("%s is %q after undo, want %q", name, got, want)
		}
	}

	back := strings.TrimPrefix(w.get("log"), did)
	if a, b := strings.Index(back, "--bandwidth-weighting default"), strings.Index(back, "Value=r5n.8xlarge"); a < 0 || b < a {
		t.Errorf("a type without weighting takes the default first:\n%s", back)
	}

	undone := w.get("log")
	w.succeeds("undo") // there is nothing to detach
	if w.get("log") != undone {
		t.Errorf("undone twice, it did\n%s", strings.TrimPrefix(w.get("log"), undone))
	}
}

// The script refuses what EBS or the layout does not allow, with a hint, before it changes
// anything.
func TestAWSScriptRefuses(t *testing.T) {
	text := awsLayout(t)
	const changed = "ec2 modify-volume"
	for _, c := range []struct {
		name, is, machine string
		env               []string
		verb, says        string
		code              int
	}{
		{name: "unchanged", is: "gp3 120 4000 250", verb: "apply", says: "vol-1 is unchanged"},
		{name: "larger", is: "gp3 200 3000 250", verb: "apply", says: "disks cannot shrink", code: 1},
		{name: "under way", env: []string{"FAKE_MODIFIED=optimizing 2020-01-01T00:00:00Z"}, verb: "apply", says: "is being modified (optimizing since 2020-01-01T00:00:00Z)", code: 1},
		{name: "under way, going back", is: "gp3 120 4000 250", env: []string{"FAKE_MODIFIED=modifying 2020-01-01T00:00:00Z"}, verb: "undo", says: "is being modified", code: 1},
		{name: "missing", is: "None", verb: "apply", says: "cannot query vol-1", code: 1},
		{name: "expired", env: []string{"FAKE_FAILS=describe-volumes", "FAKE_SAYS=RequestExpired"}, verb: "undo", says: "are you logged in (check with aws sts get-caller-identity", code: 1},
		{name: "modified too often", env: []string{"FAKE_FAILS=" + changed, "FAKE_SAYS=VolumeModificationRateExceeded"}, verb: "apply", says: "at most four in 24 hours", code: 1},
		{name: "no permission", env: []string{"FAKE_FAILS=" + changed, "FAKE_SAYS=UnauthorizedOperation: ec2:ModifyVolume"}, verb: "apply", says: "if you lack a permission, the message names it", code: 1},
		{name: "throttled", env: []string{"FAKE_FAILS=" + changed, "FAKE_SAYS=RequestLimitExceeded"}, verb: "apply", says: "Earlier changes stay: run this again", code: 1},
		{name: "no ids", env: []string{"WIJ_VOLUMES="}, verb: "apply", says: "ids of the volumes wij", code: 1},
		{name: "no such machine", machine: "None", verb: "apply", says: "cannot query i-1", code: 1},
		{name: "not logged in", env: []string{"FAKE_FAILS=get-caller-identity", "FAKE_SAYS=ExpiredToken"}, verb: "look", says: "are you logged in? (check with aws sts get-caller-identity", code: 1},
		{name: "all members", env: []string{"INSTANCES=i-1 i-2"}, verb: "apply", says: "INSTANCES names 2 instances, and i-1 has to stop", code: 1},
		{name: "all members, one a line", env: []string{"INSTANCES=i-1\ni-2"}, verb: "undo", is: "gp3 120 4000 250", machine: "m8g.8xlarge ebs-1 running", says: "INSTANCES names 2 instances", code: 1},
		{name: "local disks", env: []string{"FAKE_LOCAL=True"}, verb: "apply", says: "set LOCAL_DISKS=lost", code: 1},
		{name: "local disks of which nothing is known", env: []string{"FAKE_LOCAL=None"}, verb: "apply", says: "set LOCAL_DISKS=lost", code: 1},
		{name: "local disks are given up", env: []string{"FAKE_LOCAL=True", "LOCAL_DISKS=lost"}, verb: "apply", says: "done: apply"},
		{name: "stopped", is: "gp3 120 4000 250", machine: "m8g.8xlarge ebs-1 stopped", verb: "check", says: "i-1 is stopped", code: 1},
	} {
		w := newAWSWorld(t, text)
		if c.is != "" {
			w.put("vol-1", c.is)
		}

		if c.machine != "" {
			w.put("machine", c.machine)
		}

		says, code := w.run(c.env, c.verb)
		if code != c.code || !strings.Contains(says, c.says) {
			t.Errorf("%s: exit code %d, want %q of\n%s", c.name, code, c.says, says)
		}

		refused := c.code != 0 && (len(c.env) == 0 || !strings.HasSuffix(c.env[0], changed)) // only EBS has that information
		if did := w.get("log"); refused && did != "" {
			t.Errorf("%s: it was refused, and did\n%s", c.name, did)
		}
	}
}

// The script reports that a machine is stopped if it cannot be changed or started, and another run
// continues.
func TestAWSScriptStopped(t *testing.T) {
	for _, fails := range []string{"modify-instance-attribute", "bandwidth-weighting ebs-1", "start-instances"} {
		w := newAWSWorld(t, awsLayout(t))
		says, code := w.run([]string{"FAKE_FAILS=" + fails, "FAKE_SAYS=InsufficientInstanceCapacity"}, "apply")
		if code != 1 || !strings.Contains(says, "start it without the change: aws ec2 start-instances --instance-ids i-1") {
			t.Errorf("%s: exit code %d\n%s", fails, code, says)
		}
		says = w.succeeds("apply")
		if fails == "start-instances" && !strings.Contains(says, "i-1 is stopped: start it with aws ec2 start-instances --instance-ids i-1") {
			t.Errorf("no message about a machine that is still stopped:\n%s", says)
		}
	}
}

// docs/emit.md lists exactly the permissions that the script needs.
func TestAWSScriptPermissions(t *testing.T) {
	page, err := os.ReadFile("../../../docs/emit.md")
	if err != nil {
		t.Fatal(err)
	}

	documented, taken := map[string]bool{}, map[string]bool{"ec2:CreateTags": true} // by --tag-specifications
	for _, m := range regexp.MustCompile(`"(ec2:[A-Za-z]+)"`).FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = true
	}

	for _, m := range regexp.MustCompile(`aws ec2 ([a-z-]+)`).FindAllStringSubmatch(emit.AWSScript, -1) {
		if m[1] == "wait" {
			continue // describes what was described before
		}
		action := "ec2:"
		for word := range strings.SplitSeq(m[1], "-") {
			action += strings.ToUpper(word[:1]) + word[1:]
		}
		taken[action] = true
	}

	if !maps.Equal(documented, taken) {
		t.Errorf("documented are %v, taken %v", documented, taken)
	}
}
