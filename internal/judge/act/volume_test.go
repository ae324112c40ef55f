package act_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/judge/rules"
)

// aws stands in for the APIs of EBS and RDS for one volume, and rejects what they reject: a gp3 has at
// most 0.25 MiB/s per IOPS, only a gp3 has a throughput setting, and a gp2 has neither. RDS accepts
// IOPS only together with the allocated storage, from 400 GiB and 12,000 IOPS up (Amazon EBS and RDS
// User Guides).
const aws = `#!/bin/sh
read -r TYPE SIZE IOPS MIBS <"$STATE"
fail() { echo "$*" >&2; exit 1; }
case "$1 $2" in
"ec2 describe-volumes") echo "$TYPE $SIZE $IOPS $MIBS"; exit ;;
"rds describe-db-instances")
	case "$*" in *"[0].AllocatedStorage "*) echo "$SIZE"; exit ;; esac
	echo "$TYPE $SIZE $IOPS $MIBS available"; exit ;;
"ec2 describe-volumes-modifications")
	case "$*" in *--volume-ids*) fail InvalidVolumeModification.NotFound ;; esac
	echo None; exit ;;
"ec2 modify-volume" | "rds modify-db-instance") ;;
*) fail "unknown: $*" ;;
esac
api=$1; shift 2
STORAGE=
while [ $# -gt 0 ]; do
	case "$1" in
	--volume-type) TYPE=$2; [ "$2" != gp2 ] || { IOPS=$((SIZE * 3)); MIBS=None; } ;;
	--iops) case "$TYPE" in gp3 | io1 | io2) IOPS=$2 ;; *) fail "$TYPE has no iops" ;; esac ;;
	--throughput | --storage-throughput) [ "$TYPE" = gp3 ] || fail "$TYPE has no throughput"; MIBS=$2 ;;
	--allocated-storage) STORAGE=$2; [ "$2" -ge "$SIZE" ] || fail "storage cannot shrink" ;;
	--apply-immediately) shift; continue ;;
	esac
	shift 2
done
if [ "$TYPE" = gp3 ]; then
	[ "$((MIBS * 4))" -le "$IOPS" ] || fail "$MIBS MiB/s need more than $IOPS IOPS"
	[ "$IOPS" -ge 3000 ] && [ "$IOPS" -le 80000 ] && [ "$MIBS" -ge 125 ] && [ "$MIBS" -le 2000 ] || fail "out of range: $IOPS, $MIBS"
fi
if [ "$api" = rds ]; then
	[ -n "$STORAGE" ] || fail "iops need the allocated storage"
	[ "$SIZE" -ge 400 ] && [ "$IOPS" -ge 12000 ] || fail "below 400 GiB and 12,000 IOPS there is nothing to order"
fi
echo "$TYPE $SIZE $IOPS $MIBS" >"$STATE"
`

// az and gcloud keep a disk's limits in the same way.
const (
	az = `#!/bin/sh
read -r SKU IOPS MBPS TIER <"$STATE"
if [ "$1 $2" = "postgres flexible-server" ]; then
	case "$3" in
	list) echo own; exit ;;
	show) printf '%s\t%s\t%s\t%s\n' "$IOPS" "$MBPS" "$TIER" "$SKU"; exit ;;
	update) shift 3; set -- disk update "$@" ;;
	esac
fi
case "$2" in
show) printf '%s\n' "$SKU" "$IOPS" "$MBPS" "$TIER"; exit ;;
update) shift 2 ;;
esac
while [ $# -gt 0 ]; do
	case "$1 $2" in
	"--disk-iops-read-write "*) [ "$SKU" = PremiumV2_LRS ] || exit 1; IOPS=$2 ;;
	"--disk-mbps-read-write "*) MBPS=$2 ;;
	"--iops "*) [ "$SKU" = PremiumV2_LRS ] || exit 1; IOPS=$2 ;;
	"--throughput "*) MBPS=$2 ;;
	"--performance-tier "*) [ "$SKU" = Premium_LRS ] || exit 1; TIER=$2 ;;
	"--set tier="*) [ "$SKU" = Premium_LRS ] || exit 1; TIER=${2#tier=} ;;
	esac
	shift 2
done
echo "$SKU $IOPS $MBPS $TIER" >"$STATE"
`
	gcloud = `#!/bin/sh
read -r TYPE IOPS MIBS <"$STATE"
case "$3" in
patch) shift 4 ;;
describe) echo "$TYPE $IOPS $MIBS"; exit ;;
update) shift 4 ;;
esac
while [ $# -gt 0 ]; do
	case "$1" in
	--provisioned-iops | --storage-provisioned-iops) IOPS=$2 ;;
	--provisioned-throughput | --storage-provisioned-throughput) MIBS=$2 ;;
	esac
	shift 2
done
echo "$TYPE $IOPS $MIBS" >"$STATE"
`
)

// claimed looks up a claim's volume in the form of the API server. handles are the drivers' names of
// volumes.
const claimed = `#!/bin/sh
case "$*" in
"get pvc data-db-0 -o jsonpath={.spec.volumeName}") printf pv-1 ;;
"get pv pv-1 -o jsonpath={.spec.csi.volumeHandle}") printf %s "$HANDLE" ;;
*) echo "unknown: $*" >&2; exit 1 ;;
esac
`

var handles = map[rules.Cloud]string{"": "vol-0a1b2c3d", rules.AWS: "vol-0a1b2c3d",
	rules.Azure:  "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/db-0",
	rules.Google: "projects/p/zones/europe-west1-b/disks/db-0"}

// Volume orders are valid for the API, never below what the volume had, and can be undone exactly.
func TestVolumesRestored(t *testing.T) {
	for _, c := range []struct {
		remedy string
		place  rules.Place
		cloud  rules.Cloud
		state  string
		want   string
	}{
		{"raise-iops", rules.Host, rules.AWS, "gp3 500 3000 125", "gp3 500 6000 125"},
		{"raise-iops", rules.Host, rules.AWS, "io2 500 3000 None", "io2 500 6000 None"},
		{"raise-throughput", rules.Host, rules.AWS, "gp3 500 3000 125", "gp3 500 4000 1000"},
		{"raise-throughput", rules.Docker, rules.AWS, "gp3 500 9000 125", "gp3 500 9000 1000"},
		{"raise-both", rules.Host, rules.AWS, "gp3 500 3000 125", "gp3 500 6000 1000"},
		{"raise-iops", rules.RDS, "", "gp3 500 12000 500", "gp3 500 24000 500"},
		{"raise-both", rules.RDS, "", "gp3 500 12000 500", "gp3 500 24000 1000"},
		{"gp3", rules.Host, rules.AWS, "gp2 2000 6000 None", "gp3 2000 6000 250"},
		{"raise-iops", rules.Host, rules.Azure, "PremiumV2_LRS 3000 125 None", "PremiumV2_LRS 6000 125 None"},
		{"raise-both", rules.Host, rules.Azure, "PremiumV2_LRS 3000 125 None", "PremiumV2_LRS 6000 1000 None"},
		{"raise-iops", rules.Host, rules.Azure, "Premium_LRS 2300 150 P20", "Premium_LRS 2300 150 P40"},
		{"raise-iops", rules.AzureDB, "", "PremiumV2_LRS 3000 125 None", "PremiumV2_LRS 6000 125 None"},
		{"raise-both", rules.AzureDB, "", "PremiumV2_LRS 3000 125 None", "PremiumV2_LRS 6000 1000 None"},
		{"raise-iops", rules.AzureDB, "", "Premium_LRS 2300 150 P20", "Premium_LRS 2300 150 P40"},
		{"raise-both", rules.CloudSQL, "", "HYPERDISK_BALANCED 3000 140", "HYPERDISK_BALANCED 6000 1000"},
		{"raise-both", rules.Host, rules.Google, "hyperdisk-balanced 3000 140", "hyperdisk-balanced 6000 1000"},
		{"raise-throughput", rules.Host, rules.Azure, "PremiumV2_LRS 3000 125 None", "PremiumV2_LRS 3000 1000 None"},
		{"raise-throughput", rules.RDS, "", "gp3 500 12000 500", "gp3 500 24000 1000"},
		{"raise-throughput", rules.AzureDB, "", "PremiumV2_LRS 3000 125 None", "PremiumV2_LRS 3000 1000 None"},
		{"raise-iops", rules.CloudSQL, "", "HYPERDISK_BALANCED 3000 140", "HYPERDISK_BALANCED 6000 140"},
		{"raise-throughput", rules.CloudSQL, "", "HYPERDISK_BALANCED 3000 140", "HYPERDISK_BALANCED 3000 1000"},
		{"raise-iops", rules.Host, rules.Google, "hyperdisk-balanced 3000 140", "hyperdisk-balanced 6000 140"},
		{"raise-throughput", rules.Host, rules.Google, "hyperdisk-balanced 3000 140", "hyperdisk-balanced 3000 1000"},
		{"raise-iops", rules.Host, "", "gp3 500 3000 125", "gp3 500 6000 125"},
		{"raise-throughput", rules.Host, "", "gp3 500 3000 125", "gp3 500 4000 1000"},
		{"raise-both", rules.Host, "", "gp3 500 3000 125", "gp3 500 6000 1000"},
		{"raise-iops", rules.Kubernetes, "", "gp3 500 3000 125", "gp3 500 6000 125"},
		{"raise-throughput", rules.Kubernetes, "", "gp3 500 3000 125", "gp3 500 4000 1000"},
		{"raise-both", rules.Kubernetes, "", "gp3 500 3000 125", "gp3 500 6000 1000"},
		{"raise-iops", rules.Kubernetes, rules.AWS, "io2 500 3000 None", "io2 500 6000 None"},
		{"raise-throughput", rules.Kubernetes, rules.AWS, "gp3 500 3000 125", "gp3 500 4000 1000"},
		{"raise-both", rules.Kubernetes, rules.AWS, "gp3 500 3000 125", "gp3 500 6000 1000"},
		{"gp3", rules.Kubernetes, rules.AWS, "gp2 2000 6000 None", "gp3 2000 6000 250"},
		{"raise-iops", rules.Kubernetes, rules.Azure, "Premium_LRS 2300 150 P20", "Premium_LRS 2300 150 P40"},
		{"raise-throughput", rules.Kubernetes, rules.Azure, "PremiumV2_LRS 3000 125 None", "PremiumV2_LRS 3000 1000 None"},
		{"raise-both", rules.Kubernetes, rules.Azure, "PremiumV2_LRS 3000 125 None", "PremiumV2_LRS 6000 1000 None"},
		{"raise-iops", rules.Kubernetes, rules.Google, "hyperdisk-balanced 3000 140", "hyperdisk-balanced 6000 140"},
		{"raise-throughput", rules.Kubernetes, rules.Google, "hyperdisk-balanced 3000 140", "hyperdisk-balanced 3000 1000"},
		{"raise-both", rules.Kubernetes, rules.Google, "hyperdisk-balanced 3000 140", "hyperdisk-balanced 6000 1000"},
	} {
		t.Run(string(c.place)+string(c.cloud)+"/"+c.remedy+"/"+c.state, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "state")
			if err := os.WriteFile(state, []byte(c.state+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}

			values := rules.Values{"volume": "vol-0a1b2c3d", "instance": "db-1", "iops": "6000", "mibs": "1000"}
			if c.place == rules.RDS {
				values["iops"] = "24000"
			}

			b := newBenchIn(t, c.remedy, c.place, c.cloud, values, map[string]string{"aws": aws, "az": az, "gcloud": gcloud, "kubectl": claimed})
			b.env = append(b.env, "STATE="+state, "HIGHER_TIER=P40", "ZONE=europe-west1-b", "GROUP=own", "SERVER=srv", "INSTANCE=db-1",
				"CLAIM=data-db-0", "HANDLE="+handles[c.cloud])
			if c.place == rules.Kubernetes { // each step has a separate shell
				b.env = append(b.env, "VOLUME="+handles[c.cloud], "DISK=db-0")
			}
			b.brief = c.place == rules.Kubernetes // the host's steps, after the lookup of the claim's volume
			b.restores(func() string { return read(t, state) })

			b.run(b.way.Look, b.way.Do)
			if got := read(t, state); got != c.want {
				t.Errorf("after Do it is %s, want %s", got, c.want)
			}
		})
	}
}

// Storage autoscaling may grow an instance's storage between do and undo; the API then refuses the
// previous size.
func TestVolumesGrownMeanwhile(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	put := func(text string) {
		if err := os.WriteFile(state, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("gp3 500 12000 500")
	b := newBenchIn(t, "raise-both", rules.RDS, "", rules.Values{"instance": "db-1", "iops": "24000", "mibs": "1000"}, map[string]string{"aws": aws})
	b.env = append(b.env, "STATE="+state)
	b.run(b.way.Look)
	put("gp3 550 12000 500")
	b.run(b.way.Do)
	if got := strings.TrimSpace(read(t, state)); got != "gp3 550 24000 1000" {
		t.Errorf("after do it is %s", got)
	}
	put("gp3 600 24000 1000")
	b.run(b.way.Undo)
	if got := strings.TrimSpace(read(t, state)); got != "gp3 600 12000 500" {
		t.Errorf("after undo it is %s", got)
	}
}

// Volumes with nothing to order are left unchanged: a gp2, a small gp3 on RDS, a Persistent Disk.
func TestVolumesWithNothingToOrder(t *testing.T) {
	for _, c := range []struct {
		remedy string
		place  rules.Place
		cloud  rules.Cloud
		state  string
	}{
		{"raise-iops", rules.Host, rules.AWS, "gp2 500 1500 None"},
		{"raise-iops", rules.Host, rules.AWS, "io2 500 20000 None"},
		{"raise-both", rules.RDS, "", "gp3 100 3000 125"},
		{"raise-iops", rules.RDS, "", "io1 500 30000 None"},
		{"gp3", rules.Host, rules.AWS, "io2 500 20000 None"},
		{"raise-iops", rules.Host, rules.Google, "pd-ssd"},
		{"raise-iops", rules.CloudSQL, "", "PD_SSD"},
	} {
		state := filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(state, []byte(c.state+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}

		b := newBenchIn(t, c.remedy, c.place, c.cloud, rules.Values{"volume": "vol-0a1b2c3d", "instance": "db-1", "iops": "6000", "mibs": "1000"},
			map[string]string{"aws": aws, "az": az, "gcloud": gcloud})
		b.env = append(b.env, "STATE="+state, "ZONE=europe-west1-b")
		b.run(b.way.Look, b.way.Do)
		b.run(b.way.Undo)

		if got := strings.TrimSpace(read(t, state)); got != c.state {
			t.Errorf("%s on %s: it becomes %s", c.remedy, c.state, got)
		}
	}
}
