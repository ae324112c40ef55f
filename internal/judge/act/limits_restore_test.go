package act_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/judge/rules"
)

// docker keeps a container's limits as Docker does: --cpus is rejected if the limit was set by
// --cpu-quota (moby, daemon/daemon_unix.go), and 0 changes nothing.
const docker = `#!/bin/sh
. "$LIMITS"
case "$1" in
inspect)
	case "$3" in
	*Nano*) echo "$NANO $QUOTA $PERIOD" ;;
	*) echo "$MEMORY $SWAP" ;;
	esac
	exit ;;
stats) exit ;;
update) shift ;;
esac
while [ $# -gt 1 ]; do
	case "$1" in
	--cpus)
		if [ "$QUOTA" -gt 0 ]; then echo 'Conflicting options: CPU Quota already set' >&2; exit 1; fi
		NANO=$(awk -v n="$2" 'BEGIN { printf "%.0f", n * 1e9 }') ;;
	--cpu-quota) QUOTA=$2 ;;
	--cpu-period) [ "$2" = 0 ] || PERIOD=$2 ;;
	--memory) case "$2" in *m) MEMORY=$((${2%m} * 1048576)) ;; *) MEMORY=$2 ;; esac ;;
	--memory-swap) [ "$2" = 0 ] || SWAP=$2 ;;
	*) echo "unknown: $1" >&2; exit 1 ;;
	esac
	shift 2
done
if [ "$SWAP" -gt 0 ] && [ "$SWAP" -lt "$MEMORY" ]; then echo 'memory-swap under memory' >&2; exit 1; fi
printf 'NANO=%s QUOTA=%s PERIOD=%s MEMORY=%s SWAP=%s\n' "$NANO" "$QUOTA" "$PERIOD" "$MEMORY" "$SWAP" >"$LIMITS"
`

func TestDockerLimitsRestored(t *testing.T) {
	for _, c := range []struct{ remedy, limits, done string }{
		{"cpu-limit", "NANO=1500000000 QUOTA=0 PERIOD=0 MEMORY=0 SWAP=0", "NANO=4000000000 QUOTA=0 "},
		{"cpu-limit", "NANO=0 QUOTA=50000 PERIOD=20000 MEMORY=0 SWAP=0", "NANO=0 QUOTA=400000 PERIOD=100000"},
		{"memory-limit", "NANO=0 QUOTA=0 PERIOD=0 MEMORY=8589934592 SWAP=17179869184", "MEMORY=12884901888 SWAP=21474836480"},
		{"memory-limit", "NANO=0 QUOTA=0 PERIOD=0 MEMORY=8589934592 SWAP=8589934592", "MEMORY=12884901888 SWAP=12884901888"},
		{"memory-limit", "NANO=0 QUOTA=0 PERIOD=0 MEMORY=8589934592 SWAP=-1", "MEMORY=12884901888 SWAP=-1"},
	} {
		limits := filepath.Join(t.TempDir(), "limits")
		if err := os.WriteFile(limits, []byte(c.limits+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b := newBench(t, c.remedy, rules.Docker, rules.Values{"name": "db"}, map[string]string{"docker": docker})
		b.env = append(b.env, "LIMITS="+limits)
		b.restores(func() string { return read(t, limits) })

		if b.run(b.way.Look, b.way.Do); !strings.Contains(read(t, limits), c.done) {
			t.Errorf("%s: after Do it is %s, want %s", c.limits, read(t, limits), c.done)
		}
	}
}

// systemctl writes drop-ins as systemd does for set-property.
const systemctl = `#!/bin/sh
[ "$1" = set-property ] || exit 0
shift
root=$ETC
if [ "$1" = --runtime ]; then root=$RUN; shift; fi
dir=$root/systemd/system.control/$1.d
shift
mkdir -p "$dir"
for p; do printf '[Service]\n%s\n' "$p" >"$dir/50-${p%%=*}.conf"; done
`

// A unit's drop-ins are restored: none, or those of an earlier set-property.
func TestUnitLimitsRestored(t *testing.T) {
	for _, former := range []map[string]string{
		{},
		{"etc/systemd/system.control/db.service.d/50-MemoryMax.conf": "[Service]\nMemoryMax=4G\n", "etc/systemd/system.control/db.service.d/50-CPUQuota.conf": "[Service]\nCPUQuota=150%\n"},
		{"run/systemd/system.control/db.service.d/50-MemoryMax.conf": "[Service]\nMemoryMax=5G\n", "run/systemd/system.control/db.service.d/50-IOWeight.conf": "[Service]\nIOWeight=10\n"},
	} {
		for _, remedy := range []string{"cpu-limit", "memory-limit"} {
			root := t.TempDir()
			for path, text := range former {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}

			b := newBench(t, remedy, rules.Host, rules.Values{"unit": "db.service"}, map[string]string{"systemctl": systemctl},
				"/etc/systemd", root+"/etc/systemd", "/run/systemd", root+"/run/systemd", "free -m", "true")
			b.env = append(b.env, "ETC="+root+"/etc", "RUN="+root+"/run")
			b.restores(func() string { return files(t, root) })
		}
	}
}

// files lists the files of a folder with their contents.
func files(t *testing.T, root string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(root, path)
			all.WriteString(name + ": " + read(t, path) + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// A cgroup's I/O limit is restored. The kernel's file is replaced by one with a single device.
func TestIOLimitRestored(t *testing.T) {
	group := t.TempDir()
	for name, text := range map[string]string{"io.max": "259:1 rbps=max wbps=max riops=max wiops=3000\n", "io.pressure": ""} {
		if err := os.WriteFile(filepath.Join(group, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t, "io-limit", rules.Host, rules.Values{"cgroup": "/db.scope", "device": "/dev/nvme1n1"},
		map[string]string{"lsblk": "#!/bin/sh\necho ' 259:1 '\n"}, "/sys/fs/cgroup/db.scope", group)
	b.restores(func() string { return read(t, filepath.Join(group, "io.max")) })
}
