package act_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
)

// fakeCryptsetup knows one mapping, of the type in $TYPE, and keeps flags in the header only for
// LUKS2.
const fakeCryptsetup = `#!/bin/sh
case "$1" in
status) printf '/dev/mapper/data is active and is in use.\n  type:    %s\n  flags:   discards\n' "$TYPE" ;;
refresh)
	case "$TYPE $*" in
	LUKS2*) ;;
	*--persistent*) echo 'Device activated but cannot make flags persistent.' >&2; exit 1 ;;
	esac
	echo "$@" ;;
esac
`

// Undoing the bypass of dm-crypt's queues works for both kinds of LUKS and for plain mappings. It
// keeps discards, and removes the flags from the header of LUKS2.
func TestUndoOfCryptQueues(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell here")
	}

	dir := t.TempDir()
	for name, text := range map[string]string{"sudo": "#!/bin/sh\nexec \"$@\"\n", "cryptsetup": fakeCryptsetup} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	var undo []string
	for _, m := range pack.Remedies() {
		if m.Name == "crypt-queues" {
			undo = act.Describe(pack, "", m, rules.Values{"mapping": "data"}).Ways[0].Undo
		}
	}

	for kind, want := range map[string]string{
		"LUKS2": "refresh --persistent --allow-discards data", "LUKS1": "refresh --allow-discards data", "PLAIN": "refresh --allow-discards data",
	} {
		cmd := exec.CommandContext(t.Context(), sh, "-c", strings.Join(undo, "\n"))
		cmd.Env = []string{"TYPE=" + kind, "PATH=" + dir + ":" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", kind, got, err, want)
		}
	}
}
