package emit_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine"
)

// scripts returns the scripts of a layout that has every kind of them.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, l := range []*emit.Transition{
		layoutOf(t, "iris.yaml", "volumes.data.stripe=2", "volumes.data.stripe_unit=128KiB", "volumes.wij.iops=4000", "host.instance=r5n.4xlarge", "host.memory=64GiB", "host.wbt_lat_usec=0"),
		layoutOf(t, "telemetry.yaml", "volumes.journal={type: gp3, size: 10GiB}", "host.filesystem=ext4"),
		layoutOf(t, "etcd.yaml", "volumes.wal.iops=4000", "members.3.volumes.wal={type: gp3, size: 60GiB}"),
	} {
		r, err := emit.Files(l, []string{"aws", "lvm", "udev"}, emit.Options{})
		if err != nil {
			t.Fatal(err)
		}

		for _, f := range r.Files {
			if strings.HasSuffix(f.Path, ".sh") {
				if f.Mode != 0o755 {
					t.Errorf("%s has mode %v", f.Path, f.Mode)
				}
				out[l.Slug()+"-"+strings.ReplaceAll(f.Path, "/", "-")] = string(f.Text)
			}
		}
	}

	for _, key := range emit.Movers(engine.All().Deployments()) {
		files, err := emit.MoveFiles(engine.All().Deployments(),
			emit.MoveRequest{Engine: key, Data: "/srv/data", Unit: "db@15-main", Filesystem: "ext4"})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f.Path, ".sh") {
				out[key+"-"+f.Path] = string(f.Text)
			}
		}
	}

	return out
}

// writeScripts writes the scripts into a folder.
func writeScripts(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip(program + " is not installed")
	}
}

func TestShellcheck(t *testing.T) {
	needs(t, "shellcheck")
	dir := writeScripts(t, scripts(t))
	files, err := filepath.Glob(filepath.Join(dir, "*.sh"))
	if err != nil || len(files) < 6 {
		t.Fatalf("scripts are %v, %v", files, err)
	}
	if out, err := exec.Command("shellcheck", files...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// loopDevice creates a device for scripts: a loop device on a file of this size, removed at the end.
func loopDevice(t *testing.T, mib int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "disk")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}

	if err := f.Truncate(mib << 20); err != nil {
		t.Fatal(err)
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	out, err := exec.Command("losetup", "--find", "--show", path).CombinedOutput()
	if err != nil {
		t.Skipf("no loop devices here: %s", out)
	}

	device := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("%s stays: %s", device, out)
		}
	})

	return device
}

// An lvmBench is a script for two striped devices of 1 GiB, and two such devices.
type lvmBench struct {
	script, fstab, mount string
	devices              []string
}

func newLVMBench(t *testing.T, mib int64) *lvmBench {
	t.Helper()
	for _, program := range []string{"bash", "losetup", "wipefs", "blkid", "lsblk", "findmnt", "mkfs.xfs"} {
		needs(t, program)
	}

	if os.Geteuid() != 0 {
		t.Skip("loop devices take root")
	}

	l := layoutOf(t, "telemetry.yaml", "name=emit test "+fmt.Sprint(os.Getpid()), "volumes.journal={type: gp3, size: 1GiB, stripe: 2}")
	dir := t.TempDir()
	b := &lvmBench{script: filepath.Join(dir, "journal.sh"), fstab: filepath.Join(dir, "fstab"), mount: filepath.Join(dir, "journal")}
	files := filesOf(t, l, emit.Options{}, "lvm")

	if err := os.WriteFile(b.script, []byte(files["lvm/journal.sh"]), 0o700); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(b.fstab, []byte("# none\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	b.devices = []string{loopDevice(t, mib), loopDevice(t, mib)}
	return b
}

func (b *lvmBench) run(args ...string) (string, error) {
	c := exec.Command("bash", append([]string{b.script}, args...)...)
	c.Env = append(os.Environ(), "FSTAB="+b.fstab, "MOUNT="+b.mount, "LC_ALL=C")
	out, err := c.CombinedOutput()
	return string(out), err
}

// The script refuses a device that contains anything, and leaves it unchanged.
func TestLVMRefuses(t *testing.T) {
	b := newLVMBench(t, 1024)
	blank := b.devices[0]
	beginning := func(device string) []byte {
		f, err := os.Open(device)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		buf := make([]byte, 4<<20)
		if _, err := f.Read(buf); err != nil {
			t.Fatal(err)
		}
		return buf
	}

	for _, c := range []struct{ name, make, says string }{
		{"ext4", "mkfs.ext4 -q $0", "signature"},
		{"xfs", "mkfs.xfs -q $0", "signature"},
		{"swap", "mkswap $0", "signature"},
		{"a partition table", "printf '\\200\\040\\041\\000\\203\\376\\377\\377\\000\\010\\000\\000\\000\\000\\020\\000' | dd of=$0 bs=1 seek=446 conv=notrunc status=none && printf '\\125\\252' | dd of=$0 bs=1 seek=510 conv=notrunc status=none", "has a signature|contains|partitions"},
		{"data that is nothing known", "head -c 4096 /dev/urandom | dd of=$0 bs=4096 seek=7 conv=notrunc status=none", "not zero|signature"},
		{"a file system without its superblock", "mkfs.ext4 -q $0 && dd if=/dev/zero of=$0 bs=1024 seek=1 count=1 conv=notrunc status=none", "not zero|signature"},
	} {
		t.Run(c.name, func(t *testing.T) {
			device := loopDevice(t, 1024)
			if out, err := exec.Command("bash", "-c", c.make, device).CombinedOutput(); err != nil {
				t.Skipf("cannot be made here: %s", out)
			}

			before := beginning(device)
			for _, args := range [][]string{{"--dry-run", blank, device}, {"--dry-run", device, blank}} {
				out, err := b.run(args...)
				if err == nil || !strings.Contains(out, "refused: "+device) || !containsOne(out, c.says) {
					t.Errorf("%v: %v, want it refused for its %s:\n%s", args, err, c.says, out)
				}
				if strings.Contains(out, "would run") {
					t.Errorf("%v: it would go on:\n%s", args, out)
				}
			}

			if out, err := b.run(blank, device); err == nil || !strings.Contains(out, "refused: ") {
				t.Errorf("without --dry-run: %v\n%s", err, out)
			}

			if !bytes.Equal(before, beginning(device)) {
				t.Error("the device was written to")
			}
		})
	}

	small := loopDevice(t, 512)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{blank}, "2 device(s) are needed, 1 were given"},
		{[]string{blank, blank}, "given twice"},
		{[]string{blank, b.fstab}, "is not a block device"},
		{[]string{blank, "/dev/null"}, "is not a block device"},
		{[]string{"--dry-run", blank, small}, "is it the right device?"},
		{[]string{"--force", blank, small}, "usage:"},
	} {
		if out, err := b.run(c.args...); err == nil || !strings.Contains(out, c.says) {
			t.Errorf("%v: %v, want %q of\n%s", c.args, err, c.says, out)
		}
	}
}

func containsOne(text, words string) bool {
	for word := range strings.SplitSeq(words, "|") {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// On blank devices, --dry-run shows what would be done, and does nothing.
func TestLVMDryRun(t *testing.T) {
	b := newLVMBench(t, 1024)
	out, err := b.run(append([]string{"--dry-run"}, b.devices...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	for _, says := range []string{"would run: vgcreate emit_test_", "would run: lvcreate --stripes 2 --stripesize 64k --extents 100%FREE --name journal", "would run: mkfs.xfs -q -d su=64k\\,sw=2 /dev/emit_test_", "would add a line for " + b.mount} {
		if !strings.Contains(out, says) {
			t.Errorf("it does not say %q:\n%s", says, out)
		}
	}

	for _, d := range b.devices {
		if out, err := exec.Command("wipefs", d).Output(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v %s", d, err, out)
		}
	}

	if text, err := os.ReadFile(b.fstab); err != nil || string(text) != "# none\n" {
		t.Errorf("fstab is %q, %v", text, err)
	}
}

// fakeLVM replaces LVM's programs if there is no device mapper: the group is a file, the logical
// volume another loop device.
var fakeLVM = map[string]string{
	"vgcreate": `echo "$1" >"$FAKE/group"; shift; printf '%s\n' "$@" >"$FAKE/devices"`,
	"pvs":      `[[ -e $FAKE/group ]] && grep -qx "${@: -1}" "$FAKE/devices" && echo "  $(<"$FAKE/group") "; exit 0`,
	"vgs":      `[[ -e $FAKE/group ]] || exit 5; [[ $* != *pv_count* ]] || wc -l <"$FAKE/devices"`,
	"lvs":      `[[ -e $FAKE/made ]] || exit 5`,
	"lvcreate": `touch "$FAKE/made"; mkdir -p "/dev/${@: -1}"; [[ $* =~ --name\ ([a-z]+) ]]; ln -s "$FAKE_DEVICE" "/dev/${@: -1}/${BASH_REMATCH[1]}"`,
}

// lvmOrFake puts LVM's stand-ins into PATH if there is no device mapper, with a logical volume of this
// size. It reports whether LVM is real.
func lvmOrFake(t *testing.T, mib int64) bool {
	t.Helper()

	// the node may exist without the kernel's part
	mapper, noMapper := os.OpenFile("/dev/mapper/control", os.O_RDWR, 0)
	if noMapper == nil {
		mapper.Close()
	}

	_, noLVM := exec.LookPath("lvcreate")
	real := noMapper == nil && noLVM == nil
	t.Logf("with the real LVM: %v", real)

	if !real {
		fake := t.TempDir()
		for name, text := range fakeLVM {
			if err := os.WriteFile(filepath.Join(fake, name), []byte("#!/bin/bash\n"+text+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", fake+":"+os.Getenv("PATH"))
		t.Setenv("FAKE", fake)
		t.Setenv("FAKE_DEVICE", loopDevice(t, mib))
	}

	return real
}

// A full run, and a second one that skips completed steps.
func TestLVMMakesAStripe(t *testing.T) {
	b := newLVMBench(t, 1100)

	real := lvmOrFake(t, 2200)
	group := fmt.Sprintf("emit_test_%d_journal", os.Getpid())
	t.Cleanup(func() {
		clean := "umount " + b.mount + "; vgremove -f -y " + group
		if !real {
			clean = "umount " + b.mount + "; rm -r /dev/" + group
		}
		if out, err := exec.Command("bash", "-c", clean).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", clean, out)
		}
	})

	out, err := b.run(b.devices...)
	if err != nil {
		if !real && strings.Contains(out, "mount") && strings.Contains(out, "permission denied") {
			t.Skip("nothing can be mounted here")
		}
		t.Fatalf("%v\n%s", err, out)
	}

	if err := os.WriteFile(filepath.Join(b.mount, "kept"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}

	kind, err := exec.Command("findmnt", "-rno", "FSTYPE", b.mount).Output()
	if err != nil || strings.TrimSpace(string(kind)) != "xfs" {
		t.Errorf("mounted is %q, %v", kind, err)
	}

	fstab, err := os.ReadFile(b.fstab)
	if err != nil || !strings.Contains(string(fstab), "UUID=") {
		t.Errorf("fstab is %q, %v", fstab, err)
	}

	out, err = b.run(b.devices...)
	if err != nil || strings.Contains(out, "running:") {
		t.Errorf("once more: %v\n%s", err, out)
	}

	if again, err := os.ReadFile(b.fstab); err != nil || !bytes.Equal(again, fstab) {
		t.Errorf("fstab is %q then, %v", again, err)
	}

	if _, err := os.Stat(filepath.Join(b.mount, "kept")); err != nil {
		t.Error(err)
	}

	// Devices that are not the group's are refused.
	other := loopDevice(t, 1100)
	if out, err := b.run(b.devices[0], other); err == nil || !strings.Contains(out, "refused: 1 of these devices belong to "+group) {
		t.Errorf("another device: %v\n%s", err, out)
	}
}
