package rules

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/record/timeline"
)

const notOurHost = "the host and its kernel belong to the provider"

// The file must sort after 99-sysctl.conf, which is /etc/sysctl.conf on Debian: the last setting wins.
const (
	dirtyKept   = `/etc/sysctl.d/99-zz-plimsoll.conf`
	dirtyBefore = `~/plimsoll-dirty-bytes.before`
	dirtyOfNode = `~/plimsoll-dirty-bytes-` + theNode + `.before`
)

// onNode runs a program on a Kubernetes node, as root.
const (
	onNode  = `kubectl debug node/` + theNode + ` -it --profile=sysadmin --image=busybox -- chroot /host `
	theNode = `"${NODE:?the node that the database runs on}"`
)

// BoundDirtyBytes makes the kernel write early. The bytes and the ratio of each limit exclude each
// other: writing one sets the other to 0, and 0 bytes are rejected (mm/page-writeback.c). So the
// undo restores the one that was not 0.
var BoundDirtyBytes = &Remedy{
	Name: "dirty-bytes", Title: "Make the kernel write dirty pages early",
	Relieves: []Resource{Writeback},
	Recipes: []Recipe{
		{Places: []Place{Host, Docker},
			Look: once(dirtyBefore, `sysctl vm.dirty_background_bytes vm.dirty_background_ratio`),
			Do:   having(dirtyBefore, `sudo sysctl -w vm.dirty_background_bytes={{.bytes}}`),
			Keep: OnShell(`echo 'vm.dirty_background_bytes = {{.bytes}}' | sudo tee `+
				dirtyKept, `grep -s dirty_background /etc/sysctl.conf /etc/sysctl.d/*.conf`),
			Check: OnShell(`sysctl vm.dirty_background_bytes; grep -E '^(Dirty|Writeback):' /proc/meminfo`),
			// If both were 0, the ratio was in effect.
			Undo: OnShell(`sudo rm -f `+dirtyKept, `{ grep -v ' = 0$' `+dirtyBefore+` || grep ratio `+dirtyBefore+
				`; } | sudo sysctl -p - && rm `+dirtyBefore),
			Notes: []string{"A later line for vm.dirty_background_ratio in /etc/sysctl.conf would win after a reboot: the last command under \"keep\" shows every file that sets one."}},
		{Places: []Place{Kubernetes},
			Look: once(dirtyOfNode,
				onNode+`sysctl vm.dirty_background_bytes vm.dirty_background_ratio | tr -d '\r' | grep ^vm`),
			Do:    having(dirtyOfNode, onNode+`sysctl -w vm.dirty_background_bytes={{.bytes}}`),
			Check: OnShell(onNode + `sysctl vm.dirty_background_bytes`),
			// kubectl debug does not report how the command ended: only what it printed shows it.
			Undo: OnShell(`WAS=$(grep -v ' = 0$' ` + dirtyOfNode + ` || grep ratio ` + dirtyOfNode + `) && ` + onNode +
				`sysctl -w "$(echo "$WAS" | tr -d ' ')" | tr -d '\r' | grep -F "$WAS" && rm ` + dirtyOfNode),
			Kept:  "it belongs in the node group's configuration (user data, a tuning DaemonSet): a new node starts without it, and a pod cannot set it",
			Cost:  "it affects every pod on the node; kubectl debug leaves a finished pod node-debugger-... behind: delete it",
			Notes: []string{"kubectl debug --profile=sysadmin needs kubectl 1.30."}},
		{Places: Services, None: notOurHost},
	},
	Cost: "about 40 % more bytes written to the device: less coalescing; it applies to everything on the host",
	Wait: 2 * time.Minute, Until: "the earlier dirty pages are written and a checkpoint has passed",
	Raises:   []string{"iops", "throughput", "utilisation"},
	Settings: []string{"vm.dirty_background_bytes", "vm.dirty_background_ratio"},
	Size:     sizeDirtyBytes,
	Needed: func(c *Case, v Values) bool {
		now, _ := strconv.ParseFloat(c.Facts["vm.dirty_background_bytes"], 64)
		wanted, _ := strconv.ParseFloat(string(v["bytes"]), 64)
		return now == 0 || now > dirtyAsBound*wanted
	},
	Example: Values{"bytes": "25165824"},
}

const (
	// dirtyAsBound is how far above the advised bound a setting still counts as that bound.
	dirtyAsBound = 1.5
	// dirtyUnknown is the bound if no device's write rate is known: half a second of 48 MiB/s,
	// which the smallest cloud volumes deliver.
	dirtyUnknown = 24 * mib
)

// sizeDirtyBytes is how much the device that writes most in the stalled time writes in the time
// that a stall may take.
func sizeDirtyBytes(c *Case, _ *Finding) Values {
	written := timeline.At(c.MostWritten(c.Stall.Cells), c.Stall.Cells)
	rate := timeline.Quantile(written, 0.5)
	if !(rate > minFlushRate) {
		rate = timeline.Mean(written)
	}

	bytes := float64(dirtyUnknown)
	if rate > minFlushRate {
		bytes = backgroundBytes(rate)
	}

	return Values{"bytes": Value(fmt.Sprintf("%.0f", bytes))}
}

// throttleWriteback turns the kernel's writeback throttling on for one device.
var throttleWriteback = &Remedy{
	Name: "writeback-throttling", Title: "Turn the kernel's writeback throttling on",
	Relieves: []Resource{Writeback},
	Recipes: []Recipe{
		{Places: []Place{Host, Docker},
			Look: append(once(wbtBefore, `cat `+wbtFile), OnShell(`cat `+queueFolder+`/scheduler; uname -r`)...),
			Do:   having(wbtBefore, `echo 2000 | sudo tee `+wbtFile),
			Keep: OnShell(
				`SERIAL=$(udevadm info --query=property --name=`+theDisk+` | sed -n 's/^ID_SERIAL=//p')`,
				`test -n "$SERIAL" && echo 'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", ENV{ID_SERIAL}=="'"$SERIAL"'", ATTR{queue/wbt_lat_usec}="2000"' | sudo tee `+
					wbtKept),
			Check: OnShell(`cat ` + wbtFile),
			Undo:  OnShell(`sudo rm -f `+wbtKept, `sudo tee `+wbtFile+` < `+wbtBefore+` && rm `+wbtBefore),
			Notes: []string{
				"Do not use it with the bfq scheduler, which turns it off again, or on 4.18 kernels, some of which hang with it. If the file does not exist, the kernel does not support it.",
				"The udev rule recognises the disk by its serial number, because names change at boot. A disk without a serial number cannot be recognised.",
			}},
		{Places: []Place{Kubernetes},
			Look:  once(wbtOfNode, onNode+`cat `+wbtFile+` | tr -d '\r' | grep '^[0-9]'`),
			Do:    having(wbtOfNode, onNode+`sh -c 'echo 2000 > "$0"' `+wbtFile),
			Check: OnShell(onNode + `cat ` + wbtFile),
			Undo: OnShell(`WAS=$(cat ` + wbtOfNode + `) && ` + onNode + `sh -c 'echo "$1" > "$0" && cat "$0"' ` +
				wbtFile + ` "$WAS" | tr -d '\r' | grep -x "$WAS" && rm ` + wbtOfNode),
			Kept:  "it belongs in the node group's configuration, as a udev rule: a new node starts without it",
			Cost:  "it affects every pod on the node; kubectl debug leaves a finished pod node-debugger-... behind: delete it",
			Notes: []string{"Do not use it with the bfq scheduler or on a 4.18 kernel. kubectl debug --profile=sysadmin needs kubectl 1.30."}},
		{Places: Services, None: notOurHost},
	},
	Cost: "fewer and smaller writes: a restore or a bulk load takes longer; if Dirty in /proc/meminfo then grows from checkpoint to checkpoint, the volume needs more IOPS too",
	Wait: 2 * time.Minute, Until: "a checkpoint has passed",
	Raises: []string{"page_cache_dirty"},
	Size: func(_ *Case, f *Finding) Values {
		v := Values{"disk": ""}
		if dev := f.Subject; dev != "" && strings.Trim(dev, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" {
			v["disk"] = Called(dev)
		}
		return v
	},
	Needed:  func(_ *Case, v Values) bool { return v["disk"] != "" },
	Example: Values{"disk": "nvme1n1"},
}

const (
	theDisk     = `{{ask .disk "DISK" "the disk, such as nvme1n1"}}`
	queueFolder = `/sys/block/` + theDisk + `/queue`
	wbtFile     = queueFolder + `/wbt_lat_usec`
	wbtBefore   = `~/plimsoll-wbt-` + theDisk + `.before`
	wbtOfNode   = `~/plimsoll-wbt-` + theNode + `-` + theDisk + `.before`
	wbtKept     = `/etc/udev/rules.d/61-plimsoll-wbt-` + theDisk + `.rules`
)
