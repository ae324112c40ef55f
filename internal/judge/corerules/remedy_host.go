package corerules

import (
	"strings"
	"time"

	"plimsoll/internal/judge/rules"
)

// throttleWriteback turns the kernel's writeback throttling on for one device.
var throttleWriteback = &rules.Remedy{
	Name: "writeback-throttling", Title: "Turn the kernel's writeback throttling on",
	Relieves: []rules.Resource{rules.Writeback},
	Recipes: []rules.Recipe{
		{Places: []rules.Place{rules.Host, rules.Docker},
			Look: append(rules.SavedOnce(wbtBefore, `cat `+wbtFile), rules.OnShell(`cat `+queueFolder+`/scheduler; uname -r`)...),
			Do:   rules.IfSaved(wbtBefore, `echo 2000 | sudo tee `+wbtFile),
			Keep: rules.OnShell(
				`SERIAL=$(udevadm info --query=property --name=`+theDisk+` | sed -n 's/^ID_SERIAL=//p')`,
				`test -n "$SERIAL" && echo 'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", ENV{ID_SERIAL}=="'"$SERIAL"'", ATTR{queue/wbt_lat_usec}="2000"' | sudo tee `+
					wbtKept),
			Check: rules.OnShell(`cat ` + wbtFile),
			Undo:  rules.OnShell(`sudo rm -f `+wbtKept, `sudo tee `+wbtFile+` < `+wbtBefore+` && rm `+wbtBefore),
			Notes: []string{
				"Do not use it with the bfq scheduler, which turns it off again, or on 4.18 kernels, some of which hang with it. If the file does not exist, the kernel does not support it.",
				"The udev rule recognises the disk by its serial number, because names change at boot. A disk without a serial number cannot be recognised.",
			}},
		{Places: []rules.Place{rules.Kubernetes},
			Look:  rules.SavedOnce(wbtOfNode, rules.OnNode+`cat `+wbtFile+` | tr -d '\r' | grep '^[0-9]'`),
			Do:    rules.IfSaved(wbtOfNode, rules.OnNode+`sh -c 'echo 2000 > "$0"' `+wbtFile),
			Check: rules.OnShell(rules.OnNode + `cat ` + wbtFile),
			Undo: rules.OnShell(`WAS=$(cat ` + wbtOfNode + `) && ` + rules.OnNode + `sh -c 'echo "$1" > "$0" && cat "$0"' ` +
				wbtFile + ` "$WAS" | tr -d '\r' | grep -x "$WAS" && rm ` + wbtOfNode),
			Kept:  "it belongs in the node group's configuration, as a udev rule: a new node starts without it",
			Cost:  "it affects every pod on the node; kubectl debug leaves a finished pod node-debugger-... behind: delete it",
			Notes: []string{"Do not use it with the bfq scheduler or on a 4.18 kernel. kubectl debug --profile=sysadmin needs kubectl 1.30."}},
		{Places: rules.Services, None: rules.NotOurHost},
	},
	Cost: "fewer and smaller writes: a restore or a bulk load takes longer; if Dirty in /proc/meminfo then grows from checkpoint to checkpoint, the volume needs more IOPS too",
	Wait: 2 * time.Minute, Until: "a checkpoint has passed",
	Raises: []string{"page_cache_dirty"},
	Size: func(_ *rules.Case, f *rules.Finding) rules.Values {
		v := rules.Values{"disk": ""}
		if dev := f.Subject; dev != "" && strings.Trim(dev, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" {
			v["disk"] = rules.Called(dev)
		}
		return v
	},
	Needed:  func(_ *rules.Case, v rules.Values) bool { return v["disk"] != "" },
	Example: rules.Values{"disk": "nvme1n1"},
}

const (
	theDisk     = `{{ask .disk "DISK" "the disk, such as nvme1n1"}}`
	queueFolder = `/sys/block/` + theDisk + `/queue`
	wbtFile     = queueFolder + `/wbt_lat_usec`
	wbtBefore   = `~/plimsoll-wbt-` + theDisk + `.before`
	wbtOfNode   = `~/plimsoll-wbt-` + rules.TheNode + `-` + theDisk + `.before`
	wbtKept     = `/etc/udev/rules.d/61-plimsoll-wbt-` + theDisk + `.rules`
)
