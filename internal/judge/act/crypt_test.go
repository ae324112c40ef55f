package act_test

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/judge/rules"
)

// fakeCryptsetup keeps one mapping's flags as cryptsetup does: refresh replaces all of them, and only
// LUKS2 has a header to store them in.
const fakeCryptsetup = `#!/bin/sh
. "$STATE"
case "$1" in
status)
	printf '/dev/mapper/data is active and is in use.\n  type:    %s\n' "$TYPE"
	[ -z "$FLAGS" ] || echo "  flags:   $FLAGS"
	exit ;;
refresh) shift ;;
*) exit 1 ;;
esac
FLAGS= PERSISTENT=
for o; do
	case "$o" in
	--persistent) PERSISTENT=y ;;
	--allow-discards) FLAGS="$FLAGS discards" ;;
	--perf-same_cpu_crypt | --perf-submit_from_crypt_cpus | --perf-no_read_workqueue | --perf-no_write_workqueue)
		f=${o#--perf-}
		case " $FLAGS " in *" $f "*) ;; *) FLAGS="$FLAGS $f" ;; esac ;;
	data) ;;
	*) echo "unknown option $o" >&2; exit 1 ;;
	esac
done
FLAGS=${FLAGS# }
if [ -n "$PERSISTENT" ]; then
	[ "$TYPE" = LUKS2 ] || { echo 'Device activated but cannot make flags persistent.' >&2; exit 1; }
	HEADER=$FLAGS
fi
printf "TYPE='%s' FLAGS='%s' HEADER='%s'\n" "$TYPE" "$FLAGS" "$HEADER" >"$STATE"
`

// Bypassing dm-crypt's queues keeps a mapping's other flags, and undo restores all of them, including
// those in a LUKS2 header.
func TestCryptQueuesRestored(t *testing.T) {
	for _, former := range []string{
		"TYPE='LUKS2' FLAGS='discards' HEADER='discards'",
		"TYPE='LUKS2' FLAGS='' HEADER=''",
		"TYPE='LUKS2' FLAGS='discards same_cpu_crypt no_read_workqueue' HEADER='discards same_cpu_crypt no_read_workqueue'",
		"TYPE='LUKS1' FLAGS='discards' HEADER=''",
		"TYPE='PLAIN' FLAGS='submit_from_crypt_cpus' HEADER=''",
	} {
		state := filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(state, []byte(former+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b := newBench(t, "crypt-queues", rules.Host, rules.Values{"mapping": "data"}, map[string]string{"cryptsetup": fakeCryptsetup})
		b.env = append(b.env, "STATE="+state)
		if former[6:11] != "LUKS2" {
			b.way.Keep = nil // its note says how to keep it
		}
		b.restores(func() string { return read(t, state) })
	}
}
