package emit

import (
	"fmt"
	"math"
	"time"

	"plimsoll/internal/base/units"
)

// sysctl writes a file for /etc/sysctl.d with the kernel's limits on dirty pages
// (Documentation/admin-guide/sysctl/vm.rst). The kernel uses whichever of bytes and ratio was set last,
// so the file has only one of each pair.
func sysctl(l *Layout, _ *Options) (*Part, error) {
	b, a := &l.Before.Host, &l.After.Host
	p := &Part{}
	text := l.Head("#", "Limits on dirty pages in the kernel's page cache.")
	undo := ""
	var wrong error
	pair := func(path string, was, is units.Size, wasRatio, isRatio units.Ratio, name string) {
		if was == is && (is != 0 || wasRatio == isRatio) {
			return
		}

		// Rounding to a whole percent would change the limit, and to 0 would turn it off.
		if percent := 100 * float64(isRatio); is == 0 && math.Abs(percent-math.Round(percent)) > 1e-9 {
			wrong = Inputf("or use "+path+"_bytes, which is exact",
				"%s_ratio: the kernel only accepts whole percentages, not %s", path, isRatio)
		}

		at := path + "_bytes"
		if is == 0 && was == 0 {
			at = path + "_ratio"
		}

		text += "\n" + l.Comments(at) + limit(name, is, isRatio)
		undo += "    sysctl -w " + inWords(limit(name, was, wasRatio)) + "\n"
		p.Applies = append(p.Applies, path+"_bytes", path+"_ratio")
	}

	pair("host.dirty_background", b.DirtyBackground, a.DirtyBackground, b.DirtyBackgroundRatio,
		a.DirtyBackgroundRatio, "vm.dirty_background")
	pair("host.dirty", b.Dirty, a.Dirty, b.DirtyRatio, a.DirtyRatio, "vm.dirty")
	span := func(path string, was, is units.Duration, name string) {
		if was == is {
			return
		}
		text += "\n" + l.Comments(path) + fmt.Sprintf("%s = %d\n", name, centiseconds(is))
		undo += fmt.Sprintf("    sysctl -w %s=%d\n", name, centiseconds(was))
		p.Applies = append(p.Applies, path)
	}

	span("host.dirty_expire", b.DirtyExpire, a.DirtyExpire, "vm.dirty_expire_centisecs")
	span("host.writeback_interval", b.WritebackInterval, a.WritebackInterval, "vm.dirty_writeback_centisecs")
	if wrong != nil {
		return nil, wrong
	}
	if len(p.Applies) == 0 {
		return nil, nil
	}

	const name = "90-plimsoll.conf"
	p.Files = []File{{Path: "sysctl/" + name, Text: []byte(text), Mode: plain}}
	p.Apply = []string{"On each machine (in Kubernetes on each node, because containers do not have these settings), as root:\n\n" +
		"    install -m 644 sysctl/" + name + " /etc/sysctl.d/" + name + "\n    sysctl -p /etc/sysctl.d/" + name}
	p.Verify = []string{"`grep -E 'Dirty|Writeback:' /proc/meminfo` once a second: Dirty stays near the background limit. `plimsoll diagnose host` draws it."}
	p.Back = []string{"`rm /etc/sysctl.d/" + name +
		"`, and restore the previous values (those that the scenario has):\n\n" +
		undo[:len(undo)-1]}
	p.Risks = []string{"The limits apply to the whole machine: they also slow down anything else that writes heavily, a backup for example. " +
		"Earlier writeback merges fewer writes: in the lab, a limit of 8 MB made the volume write 40 % more bytes."}

	return p, nil
}

// limit returns the line that sets one of a pair: bytes, or a whole percentage.
func limit(name string, bytes units.Size, ratio units.Ratio) string {
	if bytes != 0 {
		return fmt.Sprintf("%s_bytes = %d\n", name, int64(bytes))
	}
	return fmt.Sprintf("%s_ratio = %d\n", name, int64(math.Round(float64(ratio)*100)))
}

// inWords turns a line of sysctl.d into an argument of sysctl -w.
func inWords(line string) string {
	var name, value string
	if _, err := fmt.Sscanf(line, "%s = %s", &name, &value); err != nil {
		return line
	}
	return name + "=" + value
}

// centiseconds converts to the kernel's unit, rounded to the nearest.
func centiseconds(d units.Duration) int64 {
	return int64((d.Std() + 5*time.Millisecond) / (10 * time.Millisecond))
}
