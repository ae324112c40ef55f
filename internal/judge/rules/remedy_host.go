package rules

import (
	"fmt"
	"strconv"
	"time"

	"plimsoll/internal/record/timeline"
)

// NotOurHost is the reason why a managed service has no command for the kernel.
const NotOurHost = "the host and its kernel belong to the provider"

// The file must sort after 99-sysctl.conf, which is /etc/sysctl.conf on Debian: the last setting wins.
const (
	dirtyKept   = `/etc/sysctl.d/99-zz-plimsoll.conf`
	dirtyBefore = `~/plimsoll-dirty-bytes.before`
	dirtyOfNode = `~/plimsoll-dirty-bytes-` + TheNode + `.before`
)

// OnNode runs a program on a Kubernetes node, as root.
const (
	OnNode  = `kubectl debug node/` + TheNode + ` -it --profile=sysadmin --image=busybox -- chroot /host `
	TheNode = `"${NODE:?the node that the database runs on}"`
)

// BoundDirtyBytes makes the kernel write early. The bytes and the ratio of each limit exclude each
// other: writing one sets the other to 0, and 0 bytes are rejected (mm/page-writeback.c). So the
// undo restores the one that was not 0.
var BoundDirtyBytes = &Remedy{
	Name: "dirty-bytes", Title: "Make the kernel write dirty pages early",
	Relieves: []Resource{Writeback},
	Recipes: []Recipe{
		{Places: []Place{Host, Docker},
			Look: SavedOnce(dirtyBefore, `sysctl vm.dirty_background_bytes vm.dirty_background_ratio`),
			Do:   IfSaved(dirtyBefore, `sudo sysctl -w vm.dirty_background_bytes={{.bytes}}`),
			Keep: OnShell(`echo 'vm.dirty_background_bytes = {{.bytes}}' | sudo tee `+
				dirtyKept, `grep -s dirty_background /etc/sysctl.conf /etc/sysctl.d/*.conf`),
			Check: OnShell(`sysctl vm.dirty_background_bytes; grep -E '^(Dirty|Writeback):' /proc/meminfo`),
			// If both were 0, the ratio was in effect.
			Undo: OnShell(`sudo rm -f `+dirtyKept, `{ grep -v ' = 0$' `+dirtyBefore+` || grep ratio `+dirtyBefore+
				`; } | sudo sysctl -p - && rm `+dirtyBefore),
			Notes: []string{"A later line for vm.dirty_background_ratio in /etc/sysctl.conf would win after a reboot: the last command under \"keep\" shows every file that sets one."}},
		{Places: []Place{Kubernetes},
			Look: SavedOnce(dirtyOfNode,
				OnNode+`sysctl vm.dirty_background_bytes vm.dirty_background_ratio | tr -d '\r' | grep ^vm`),
			Do:    IfSaved(dirtyOfNode, OnNode+`sysctl -w vm.dirty_background_bytes={{.bytes}}`),
			Check: OnShell(OnNode + `sysctl vm.dirty_background_bytes`),
			// kubectl debug does not report how the command ended: only what it printed shows it.
			Undo: OnShell(`WAS=$(grep -v ' = 0$' ` + dirtyOfNode + ` || grep ratio ` + dirtyOfNode + `) && ` + OnNode +
				`sysctl -w "$(echo "$WAS" | tr -d ' ')" | tr -d '\r' | grep -F "$WAS" && rm ` + dirtyOfNode),
			Kept:  "it belongs in the node group's configuration (user data, a tuning DaemonSet): a new node starts without it, and a pod cannot set it",
			Cost:  "it affects every pod on the node; kubectl debug leaves a finished pod node-debugger-... behind: delete it",
			Notes: []string{"kubectl debug --profile=sysadmin needs kubectl 1.30."}},
		{Places: Services, None: NotOurHost},
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
	dirtyUnknown = 24 * MiB
)

// sizeDirtyBytes is how much the device that writes most in the stalled time writes in the time
// that a stall may take.
func sizeDirtyBytes(c *Case, _ *Finding) Values {
	written := timeline.At(c.MostWritten(c.Stall.Cells), c.Stall.Cells)
	rate := timeline.Quantile(written, 0.5)
	if !(rate > MinFlushRate) {
		rate = timeline.Mean(written)
	}

	bytes := float64(dirtyUnknown)
	if rate > MinFlushRate {
		bytes = BackgroundBytes(rate)
	}

	return Values{"bytes": Value(fmt.Sprintf("%.0f", bytes))}
}
