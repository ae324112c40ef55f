package procfs

import (
	"os"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// A Mount is a line of a mountinfo file, without the kernel's octal escapes.
type Mount = mountinfo.Info

// Mounts returns the mounts that a process sees, in the kernel's order. pid may be "self".
func Mounts(pid string) ([]*Mount, error) {
	text, err := os.ReadFile("/proc/" + pid + "/mountinfo")
	if err != nil {
		return nil, err
	}
	return ParseMounts(string(text)), nil
}

// ParseMounts reads the text of a mountinfo file (proc_pid_mountinfo(5)). It skips unreadable
// lines, such as one that was cut off while mounts changed.
func ParseMounts(text string) []*Mount {
	damaged := func(m *Mount) (skip, stop bool) { return m.ID <= 0, false } // kernel ids start at 1
	mounts, err := mountinfo.GetMountsFromReader(strings.NewReader(text), damaged)
	if err == nil {
		return mounts
	}

	// The library gives up at the first unreadable line, so the lines are read one by one.
	mounts = nil
	for line := range strings.Lines(text) {
		if one, err := mountinfo.GetMountsFromReader(strings.NewReader(line), damaged); err == nil {
			mounts = append(mounts, one...)
		}
	}
	return mounts
}
