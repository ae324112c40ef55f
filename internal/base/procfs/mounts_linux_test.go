package procfs

import "testing"

func TestMounts(t *testing.T) {
	const text = `27 1 254:0 / / rw - ext4 /dev/root rw
44 27 7:2 / /a\040b\134c rw,relatime shared:5 master:3 - xfs /dev/loop2 rw,attr2
damaged
x 1 1:1 / / rw - a b c
45 44 0:41 /sub /a\040b rw -  tmpfs
46 44 0:41 /sub /mnt rw - fuse.sshfs  rw
47 44 0:41 /sub /a\040b rw - tmpf`

	mounts := ParseMounts(text)
	if len(mounts) != 3 {
		t.Fatalf("%d mounts", len(mounts))
	}

	if m := mounts[1]; m.ID != 44 || m.Parent != 27 || m.Major != 7 || m.Minor != 2 || m.Mountpoint != `/a b\c` || m.FSType != "xfs" || m.Source != "/dev/loop2" || m.Options != "rw,relatime" || m.VFSOptions != "rw,attr2" {
		t.Errorf("%+v", m)
	}

	if m := mounts[2]; m.FSType != "fuse.sshfs" || m.Source != "" {
		t.Errorf("a mount without a source: %+v", m)
	}

	if got := Unescape(`/mnt/a\040b\134c`); got != `/mnt/a b\c` {
		t.Error(got)
	}

	all, err := Mounts("self")
	if err != nil || len(all) == 0 {
		t.Errorf("%d mounts of this process, %v", len(all), err)
	}
}
