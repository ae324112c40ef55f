package emit

import (
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/internal/base/units"
)

// sysctl writes a file for /etc/sysctl.d with the kernel's limits on dirty pages
// (Documentation/admin-guide/sysctl/vm.rst). The kernel uses whichever of bytes and ratio was set last,
// so the file has only one of each pair.
func sysctl(transition *Transition, _ *Options) (*Part, error) {
	host, after := &transition.Before.Host, &transition.After.Host
	part := &Part{}
	text := transition.Head("#", "Limits on dirty pages in the kernel's page cache.")
	var names []string
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

		text += "\n" + transition.Comments(at) + limit(name, is, isRatio)
		names = append(names, name+"_ratio", name+"_bytes")
		part.Applies = append(part.Applies, path+"_bytes", path+"_ratio")
	}

	pair("host.dirty_background", host.DirtyBackground, after.DirtyBackground, host.DirtyBackgroundRatio,
		after.DirtyBackgroundRatio, "vm.dirty_background")
	pair("host.dirty", host.Dirty, after.Dirty, host.DirtyRatio, after.DirtyRatio, "vm.dirty")
	span := func(path string, was, is units.Duration, name string) {
		if was == is {
			return
		}
		text += "\n" + transition.Comments(path) + fmt.Sprintf("%s = %d\n", name, centiseconds(is))
		names = append(names, name)
		part.Applies = append(part.Applies, path)
	}

	span("host.dirty_expire", host.DirtyExpire, after.DirtyExpire, "vm.dirty_expire_centisecs")
	span("host.writeback_interval", host.WritebackInterval, after.WritebackInterval, "vm.dirty_writeback_centisecs")
	if wrong != nil {
		return nil, wrong
	}
	if len(part.Applies) == 0 {
		return nil, nil
	}

	const name = "90-plimsoll.conf"
	part.Files = []File{{Path: "sysctl/" + name, Text: []byte(text), Mode: plain}}
	apply, back := sysctlSteps("sysctl/"+name, "layout", names)
	part.Apply = []string{"On each machine (in Kubernetes on each node, because containers do not have these settings), as root. The first line saves the present values, once:\n\n" + apply}
	part.Verify = []string{"`grep -E 'Dirty|Writeback:' /proc/meminfo` once a second: Dirty stays near the background limit. `plimsoll diagnose host` draws it."}
	part.Back = []string{"On each machine, as root, restore what was saved:\n\n" + back}
	part.Risks = []string{"The limits apply to the whole machine: they also slow down anything else that writes heavily, a backup for example. " +
		"Earlier writeback merges fewer writes: in the lab, a limit of 8 MB made the volume write 40 % more bytes."}

	return part, nil
}

// limit returns the line that sets one of a pair: bytes, or a whole percentage.
func limit(name string, bytes units.Size, ratio units.Ratio) string {
	if bytes != 0 {
		return fmt.Sprintf("%s_bytes = %d\n", name, int64(bytes))
	}
	return fmt.Sprintf("%s_ratio = %d\n", name, int64(math.Round(float64(ratio)*100)))
}

// sysctlSteps returns the lines that save the present values, install a file in /etc/sysctl.d and apply
// it, and those that undo it. of says what the file is part of. Files there apply in the order of their
// names, and 99-sysctl.conf is /etc/sysctl.conf on Debian. Of a pair, the ratio must come first in names:
// writing one sets the other to 0, and the kernel rejects 0 bytes.
func sysctlSteps(file, of string, names []string) (apply, back string) {
	saved, installed := "~/plimsoll-sysctl-"+of+".before", "/etc/sysctl.d/99-zz-plimsoll-"+of+".conf"
	apply = "    F=" + saved + `; test -s "$F" || { sysctl ` + strings.Join(names, " ") +
		` > "$F.new" && mv "$F.new" "$F"; }; cat "$F"` + "\n" +
		"    cat " + saved + " && install -m 644 " + file + " " + installed + " && sysctl -p " + installed
	back = "    rm -f " + installed + "\n" +
		"    test -s " + saved + " && grep -v '_bytes = 0$' " + saved + " | sysctl -p - && rm " + saved
	return apply, back
}

// centiseconds converts to the kernel's unit, rounded to the nearest.
func centiseconds(d units.Duration) int64 {
	return int64((d.Std() + 5*time.Millisecond) / (10 * time.Millisecond))
}
