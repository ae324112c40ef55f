package rules

import (
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

func diskLayerSlow() Rule {
	r := Rule{ID: "disk/layer-slow", Title: "A layer above the disk makes requests wait", Kind: Cause,
		Needs: []*Signal{DiskOps, DiskMoved, DiskBusy, DiskQueue}, AnyOf: []*Signal{DiskReadAwait, DiskWriteAwait},
		NoAlert: "it compares a device with those below it, and which lie below it no metric says",
		Cause:   "The file system is on a device that is made of others: encryption, a logical volume, a RAID. What such a layer does to a request takes time of its own, which the disks do not count: it waits for a thread that encrypts it, for the parity that must be read first, for a copy that a snapshot needs, for the slowest leg.",
		Words: Words{
			"inside":    "{{.kind}} of {{.device}} took {{.upper}} while {{.below}} below took {{.lower}} for each and had room{{with .share}}, in {{.}} of the stalled time{{end}}: the time is lost in {{.made}}.",
			"leg":       "{{.kind}} of {{.device}} took {{.upper}}: its leg {{.leg}} took {{.lower}} for each where the others took at most {{.others}}, at no more requests{{with .share}}, in {{.}} of the stalled time{{end}}.",
			"leg title": "One leg is slower than the others",
			"parity":    "{{.kind}} of {{.device}} took {{.upper}}{{with .share}}, in {{.}} of the stalled time{{end}}. It was asked for {{.asked}}, and its legs moved {{.moved}}, {{.ratio}} times as much: they read {{.extra}} that nobody asked for, since a write of part of a stripe needs the old parity.",
			"sync":      "{{.kind}} of {{.device}} took {{.upper}}{{with .share}}, in {{.}} of the stalled time{{end}}. It was asked for {{.asked}}, and its legs moved {{.moved}}, {{.ratio}} times as much.",
			"known":     "Its sync_action was {{.syncs}} when the recording began: the RAID reads its legs besides.",
			"not known": "Either the RAID was being checked or rebuilt (/proc/mdstat tells), or somebody else reads the same disks.",
		},
		Advice: map[string]Advice{
			"queue": {Summary: "Let dm-crypt encrypt where the request comes from, without its queues",
				Expect:   "a request waits for its own encryption only, not for a thread and those before it",
				TradeOff: "the CPU that asks does the work; on spinning disks the order of writes gets worse",
				Do:       []*Remedy{bypassCryptQueues}},
			"snapshot": {Summary: "Look whether {{.device}} has a snapshot that is no longer needed, or a thin pool without space: lvs -a -o +devices,data_percent",
				Expect:    "without a snapshot a first write of a block copies nothing",
				TradeOff:  "none, if the snapshot is a backup that was read",
				NoCommand: "which snapshot is still needed, only you know"},
			"look": {Summary: "Look what {{.device}} is, and what it waits for: dmsetup table, dmsetup status; for paths: multipath -ll",
				Expect:   "the layer, and a path that failed or a queue that is full",
				TradeOff: "none", NoCommand: "what is to be done depends on the layer"},
			"whose": {Summary: "Look whether {{.device}} is being checked or rebuilt (cat /proc/mdstat); if not, find who else reads its disks: iotop, pidstat -d",
				Expect:   "what reads besides the database",
				TradeOff: "none", NoCommand: "what is to be done depends on who reads"},
			"slower": {Summary: "Lower the speed of the resync while clients work",
				Expect:   "requests no longer wait behind it",
				TradeOff: "it takes longer, and a RAID that lost a leg has no redundancy so long",
				Do:       []*Remedy{slowSync}},
			"mirror": {Summary: "Put the database on RAID 10 instead of parity",
				Expect:   "a small write is two writes, and no read",
				TradeOff: "half of the space is mirrors", NoCommand: "it is a new array, and the data moves"},
			"cache": {Summary: "If the writes are sequential, raise the RAID's md/stripe_cache_size, and write in multiples of a stripe",
				Expect:    "whole stripes are written without reading",
				TradeOff:  "a page of memory for each leg and entry; random writes gain nothing",
				NoCommand: "whether stripes fill depends on the writes: try it on a copy"},
			"replace": {Summary: "Look at {{.leg}} (smartctl -a, dmesg, its path or volume), and replace it: mdadm --replace, with a spare",
				Expect:    "the RAID is as quick as its other legs",
				TradeOff:  "its data is copied meanwhile, which slows it for that time",
				NoCommand: "which disk takes its place, only you know"},
		}}

	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		var out []Finding
		for _, l := range c.layerLosses() {
			if f, ok := r.condition(c, l.device, l.cells); ok {
				r.layerSlow(c, &f, l)
				out = append(out, f)
			}
		}
		return out
	}

	return r
}

func (r Rule) layerSlow(c *Case, f *Finding, l *layerLoss) {
	f.Foremost = true
	v := Values{"kind": upperFirst(Called(l.kind)), "device": Called(l.device), "upper": Seconds(l.upperS),
		"lower": Seconds(l.lowerS), "others": Seconds(l.othersS),
		"below": joined(l.below), "leg": Called(l.leg), "made": l.calledLayer(), "share": "",
		"syncs": Called(l.syncs),
		"asked": Of(l.asked, "bytes/s"), "moved": Of(l.moved, "bytes/s"), "extra": Of(l.extra, "bytes/s"),
		"ratio": Value(units.Number(l.moved / l.asked))}

	if c.Change == nil {
		v["share"] = Part(Share(l.cells, c.Stall.Cells))
	}

	await := DiskReadAwait
	if l.kind == "writes" {
		await = DiskWriteAwait
	}

	in := l.cells.And(c.Stall.Cells)
	f.Evidence = append(f.Evidence,
		c.Figure("median await of "+l.device+"'s "+l.kind+" meanwhile", await, l.upperS, "seconds", in))

	switch l.why {
	case "leg":
		f.Entitle("leg title", nil)
		f.Say("leg", v)
		f.Advise("replace", v)
		f.Evidence = append(f.Evidence,
			c.Figure("median await of "+l.leg+"'s "+l.kind, await, l.lowerS, "seconds", in),
			c.Figure("median await of the slowest other leg", await, l.othersS, "seconds", in))
	case "layer":
		f.Say("inside", v)
		f.Evidence = append(f.Evidence,
			c.Figure("median await of the slowest device below", await, l.lowerS, "seconds", in))
		switch l.made {
		case "crypt":
			f.Advise("queue", nil)
		case "lvm":
			f.Advise("snapshot", v)
		default:
			f.Advise("look", v)
		}
	default:
		f.Evidence = append(f.Evidence,
			c.Figure("bytes that "+l.device+" was asked for, mean", DiskMoved, l.asked, "bytes/s", in),
			c.Figure("bytes that its legs moved, mean", DiskMoved, l.moved, "bytes/s", in),
			c.Figure("bytes read from its legs that it was not asked for, mean", DiskMoved, l.extra, "bytes/s", in))

		f.Say(l.why, v)
		if l.why == "parity" {
			f.Advise("mirror", nil)
			f.Advise("cache", nil)
			return
		}

		if l.syncing() {
			f.Say("known", v)
			f.Advise("slower", nil)
		} else {
			f.Say("not known", nil)
			f.Advise("whose", v)
		}
	}
}

// calledLayer is what a reader calls the layer.
func (l layer) calledLayer() Value {
	switch {
	case l.made == "crypt":
		return "dm-crypt's encryption"
	case l.made == "lvm":
		return "LVM (a snapshot, a thin pool)"
	case l.made == "mpath":
		return "multipath"
	case strings.HasPrefix(l.made, "raid"):
		return Called("the RAID (" + l.made + ")")
	}
	return "the layer between them (encryption, a snapshot, a path)"
}

const (
	cryptName = `{{ask .mapping "MAPPING" "the name of the encrypted mapping, as dmsetup ls --target crypt shows it"}}`
	// cryptKeeps is the option that a mapping has already and refresh would take away.
	cryptKeeps = `$(sudo cryptsetup status ` + cryptName + ` | grep -qw discards && echo --allow-discards)`
	// cryptHeader is the option that takes flags out of the volume's header, which only LUKS2 has.
	cryptHeader = `$(sudo cryptsetup status ` + cryptName + ` | grep -qw LUKS2 && echo --persistent)`
	theArray    = `{{ask .disk "ARRAY" "the array, such as md0"}}`
	syncFolder  = `/sys/block/` + theArray + `/md`
	syncBefore  = `~/plimsoll-sync-speed-` + theArray + `.before`
)

// bypassCryptQueues makes dm-crypt work in the context of the request. (cryptsetup-refresh(8); the
// flags are Linux 5.9's and cryptsetup 2.3.4's.)
var bypassCryptQueues = &Remedy{
	Name: "crypt-queues", Title: "Bypass dm-crypt's queues",
	Recipes: []Recipe{
		{Places: []Place{Host, Docker},
			Look: OnShell(`sudo cryptsetup status `+cryptName, `uname -r`),
			Do: OnShell(`sudo cryptsetup refresh ` + cryptKeeps +
				` --perf-no_read_workqueue --perf-no_write_workqueue ` + cryptName),
			Keep: OnShell(`sudo cryptsetup refresh --persistent ` + cryptKeeps +
				` --perf-no_read_workqueue --perf-no_write_workqueue ` + cryptName),
			Check: OnShell(`sudo cryptsetup status ` + cryptName),
			Undo:  OnShell(`sudo cryptsetup refresh ` + cryptHeader + ` ` + cryptKeeps + ` ` + cryptName),
			Notes: []string{"It needs Linux 5.9 and cryptsetup 2.3.4, and asks for the passphrase or takes --key-file. The mapping stays in use.",
				"--persistent is LUKS2's. LUKS1 and plain: to keep it, write no-read-workqueue,no-write-workqueue into the mapping's options in /etc/crypttab instead; to undo it, take them out again.",
				"If the status shows same_cpu_crypt or submit_from_crypt_cpus, give refresh these options, too: it takes away what it is not given."}},
		{Places: []Place{Kubernetes},
			None: "the mapping is the node's: it is opened with these options there, in the node group's configuration"},
		{Places: []Place{RDS, Managed}, None: notOurHost},
	},
	Cost: "the CPU that asks does the encryption; on spinning disks writes are no longer sorted",
	Wait: time.Minute, Until: "a minute of the usual load has passed",
	Size: func(c *Case, f *Finding) Values {
		return Values{"mapping": Called(c.Facts["called."+f.Subject])}
	},
	Example: Values{"mapping": "data"},
}

// slowSync bounds a RAID's resync. (Linux, Documentation/admin-guide/md.rst: sync_speed_max in
// KiB/s; "system" is the limit of all arrays.)
var slowSync = &Remedy{
	Name: "sync-speed", Title: "Lower the speed of the RAID's resync",
	Recipes: []Recipe{
		{Places: []Place{Host, Docker},
			Look: append(once(syncBefore, `cat `+syncFolder+`/sync_speed_max`),
				OnShell(`cat `+syncFolder+`/sync_action `+syncFolder+`/sync_completed `+syncFolder+`/sync_speed_min`)...),
			Do:    OnShell(`echo 10000 | sudo tee ` + syncFolder + `/sync_speed_max`),
			Check: OnShell(`cat ` + syncFolder + `/sync_speed ` + syncFolder + `/sync_speed_max /proc/mdstat`),
			// The file shows "200000 (system)", or "10000 (local)" if the array has its own limit.
			Undo: OnShell(`read -r SPEED SCOPE < ` + syncBefore +
				` && { test "$SCOPE" = "(local)" || SPEED=system; } && echo "$SPEED" | sudo tee ` + syncFolder +
				`/sync_speed_max && rm ` + syncBefore),
			Kept: "it lasts until the array is stopped, which is longer than a resync takes",
			Notes: []string{"10000 is 10 MB/s for each leg. sync_speed_min must not be above it.",
				"After a leg was lost do this only if the time without redundancy is bearable. A monthly check can be moved to a quiet hour instead."}},
		{Places: []Place{Kubernetes}, None: "the RAID is the node's: on the node, as on any host"},
		{Places: []Place{RDS, Managed}, None: notOurHost},
	},
	Cost: "the resync takes longer; a RAID that lost a leg has no redundancy so long",
	Wait: time.Minute, Until: "a minute of the usual load has passed",
	Size: func(_ *Case, f *Finding) Values {
		v := Values{"disk": ""}
		if strings.Trim(f.Subject, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
			v["disk"] = Called(f.Subject)
		}
		return v
	},
	Needed:  func(_ *Case, v Values) bool { return v["disk"] != "" },
	Example: Values{"disk": "md0"},
}
