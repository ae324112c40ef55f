package target

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/trace/events"
)

// readMounts reads a process's mounts, in their order in /proc.
func readMounts(pid int) ([]events.Mount, error) {
	mounts, err := procfs.Mounts(strconv.Itoa(pid))
	if err != nil {
		return nil, err
	}

	var out []events.Mount
	for _, x := range mounts {
		dev := uint32(x.Major)<<20 | uint32(x.Minor)
		if x.Root != "/" && slices.ContainsFunc(out, func(m events.Mount) bool { return m.Dev == dev }) {
			continue // a bind mount of a file system already listed
		}

		m := events.Mount{Dev: dev, Path: x.Mountpoint, FSType: x.FSType}
		if strings.HasPrefix(x.Source, "/dev/") {
			m.Source = x.Source
		}

		if m.FSType == "overlay" {
			m.Upper, m.Below = upper(x.VFSOptions)
		}

		out = append(out, m)
	}

	return out, nil
}

// upper finds the folder with an overlay's changed files in its mount options, and that folder's
// file system. The path is as seen by the process that mounted the overlay: on a host, this also
// works for a container's overlay.
func upper(options string) (dir string, dev uint32) {
	for option := range strings.SplitSeq(options, ",") {
		if path, ok := strings.CutPrefix(option, "upperdir="); ok {
			dir = procfs.Unescape(path)
		}
	}
	var st unix.Stat_t
	if !filepath.IsAbs(dir) || unix.Stat(dir, &st) != nil {
		return "", 0
	}
	return dir, kernelDev(st.Dev)
}

func numbers(text string) (major, minor uint32, ok bool) {
	a, b, _ := strings.Cut(text, ":")
	x, err1 := strconv.ParseUint(a, 10, 12)
	y, err2 := strconv.ParseUint(strings.TrimSpace(b), 10, 20)
	return uint32(x), uint32(y), err1 == nil && err2 == nil
}
