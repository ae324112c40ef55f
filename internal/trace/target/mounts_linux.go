package target

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/trace/events"
)

// readMounts reads a process's mounts, in their order.
func readMounts(pid int) ([]events.Mount, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return nil, err
	}
	var out []events.Mount
	in := bufio.NewScanner(bytes.NewReader(text))
	for in.Scan() {
		// 27 1 254:0 / /mnt rw shared:1 - ext4 /dev/vda rw
		before, after, ok := strings.Cut(in.Text(), " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(rest) == 0 {
			continue
		}
		major, minor, ok := numbers(fields[2])
		if !ok || fields[3] != "/" && slices.ContainsFunc(out, func(m events.Mount) bool { return m.Dev == major<<20|minor }) {
			continue // a bind mount of what is already there
		}
		m := events.Mount{Dev: major<<20 | minor, Path: unescape(fields[4]), FSType: rest[0]}
		if len(rest) > 1 && strings.HasPrefix(rest[1], "/dev/") {
			m.Source = unescape(rest[1])
		}
		if m.FSType == "overlay" && len(rest) > 2 {
			m.Upper, m.Below = upper(rest[2])
		}
		out = append(out, m)
	}
	return out, nil
}

// upper finds the folder of an overlay's changed files in its options, and its file system. It is a
// path of whoever mounted the overlay: on a host, also for a container's.
func upper(options string) (dir string, dev uint32) {
	for option := range strings.SplitSeq(options, ",") {
		if path, ok := strings.CutPrefix(option, "upperdir="); ok {
			dir = unescape(path)
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

// unescape undoes the octal escapes of mountinfo.
func unescape(s string) string {
	for _, r := range []struct{ from, to string }{{`\040`, " "}, {`\011`, "\t"}, {`\012`, "\n"}, {`\134`, `\`}} {
		s = strings.ReplaceAll(s, r.from, r.to)
	}
	return s
}
