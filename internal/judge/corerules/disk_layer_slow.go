package corerules

import (
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func diskLayerSlow() rules.Rule {
	rule := rules.Rule{
		ID:    "disk/layer-slow",
		Title: "A layer above the disk makes requests wait",
		Kind:  rules.Cause,
		Needs: []*rules.Signal{
			rules.DiskOps,
			rules.DiskMoved,
			rules.DiskBusy,
			rules.DiskQueue,
		},
		AnyOf:   []*rules.Signal{rules.DiskReadAwait, rules.DiskWriteAwait},
		NoAlert: "it compares a device with those below it, and no metric shows which those are",
		Cause:   "The file system is on a stacked device: encryption, a logical volume, a RAID. Such a layer adds its own time to each request, which the disks do not count: the request waits for a thread that encrypts it, for parity that must be read first, for a copy that a snapshot needs, or for the slowest leg.",
		Words: rules.Words{
			"inside":    "{{.kind}} on {{.device}} took {{.upper}} while {{.below}} below took {{.lower}} each and had room{{with .share}}, in {{.}} of the stalled time{{end}}: the time is lost in {{.made}}.",
			"leg":       "{{.kind}} on {{.device}} took {{.upper}}: its leg {{.leg}} took {{.lower}} each while the others took at most {{.others}}, although it served no more requests{{with .share}}, in {{.}} of the stalled time{{end}}.",
			"leg title": "One leg is slower than the others",
			"parity":    "{{.kind}} on {{.device}} took {{.upper}}{{with .share}}, in {{.}} of the stalled time{{end}}. Its load was {{.asked}}, but its legs moved {{.moved}}, {{.ratio}} times as much: they read an extra {{.extra}}, because writing part of a stripe needs the old parity.",
			"sync":      "{{.kind}} on {{.device}} took {{.upper}}{{with .share}}, in {{.}} of the stalled time{{end}}. Its load was {{.asked}}, but its legs moved {{.moved}}, {{.ratio}} times as much.",
			"known":     "Its sync_action was {{.syncs}} when the recording began: the RAID also reads its legs for that.",
			"not known": "Either the RAID was being checked or rebuilt (see /proc/mdstat), or another program reads the same disks.",
		},
		Advice: map[string]rules.Advice{
			"queue": {Summary: "Let dm-crypt encrypt on the CPU that issues the request, without its queues",
				Expect:   "a request waits only for its own encryption, not for a thread and the requests queued there",
				TradeOff: "the issuing CPU does the work; on spinning disks the order of writes gets worse",
				Do:       []*rules.Remedy{bypassCryptQueues}},
			"snapshot": {Summary: "Check whether {{.device}} has a snapshot that is no longer needed, or a thin pool without space: lvs -a -o +devices,data_percent",
				Expect:    "without a snapshot, the first write to a block copies nothing",
				TradeOff:  "none, if the snapshot is a backup that has been copied",
				NoCommand: "only you know which snapshots are still needed"},
			"look": {Summary: "Find out what kind of layer {{.device}} is and what it waits for: dmsetup table, dmsetup status; for paths: multipath -ll",
				Expect:   "the layer, and a failed path or a full queue",
				TradeOff: "none", NoCommand: "the next step depends on the layer"},
			"whose": {Summary: "Check whether {{.device}} is being checked or rebuilt (cat /proc/mdstat); if not, find out what else reads its disks: iotop, pidstat -d",
				Expect:   "what reads in addition to the database",
				TradeOff: "none", NoCommand: "the next step depends on the program that reads"},
			"slower": {Summary: "Lower the speed of the resync while clients work",
				Expect:   "requests no longer wait behind it",
				TradeOff: "it takes longer, and meanwhile a RAID that lost a leg has no redundancy",
				Do:       []*rules.Remedy{slowSync}},
			"mirror": {Summary: "Put the database on RAID 10 instead of parity",
				Expect:    "a small write is two writes, without a read",
				TradeOff:  "half of the space goes to mirrors",
				NoCommand: "it needs a new array, and the data has to move"},
			"cache": {Summary: "If the writes are sequential, raise the RAID's md/stripe_cache_size, and write in multiples of a stripe",
				Expect:    "whole stripes are written without reading",
				TradeOff:  "a page of memory per leg and entry; random writes gain nothing",
				NoCommand: "whether stripes fill up depends on the writes: try it on a copy"},
			"replace": {Summary: "Check {{.leg}} (smartctl -a, dmesg, its path or volume), and replace it: mdadm --replace, with a spare",
				Expect:    "the RAID is as fast as its other legs",
				TradeOff:  "its data is copied, which slows the RAID until that is done",
				NoCommand: "only you know which disk takes its place"},
		}}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		var out []rules.Finding
		for _, l := range layerLosses(c) {
			if f, ok := rule.Condition(c, l.Device, l.cells); ok {
				layerSlow(c, &f, l)
				out = append(out, f)
			}
		}
		return out
	}

	return rule
}

func layerSlow(input *rules.Case, finding *rules.Finding, loss *layerLoss) {
	finding.Foremost = true
	values := rules.Values{
		"kind":   rules.UpperFirst(rules.Called(loss.kind)),
		"device": rules.Called(loss.Device),
		"upper":  rules.Seconds(loss.upperS),
		"lower":  rules.Seconds(loss.lowerS),
		"others": rules.Seconds(loss.othersS),
		"below":  rules.Joined(loss.Below),
		"leg":    rules.Called(loss.leg),
		"made":   calledLayer(loss.Layer),
		"share":  "",
		"syncs":  rules.Called(loss.Syncs),
		"asked": rules.Of(
			loss.asked,
			"bytes/s",
		),
		"moved": rules.Of(loss.moved, "bytes/s"),
		"extra": rules.Of(loss.extra, "bytes/s"),
		"ratio": rules.Value(units.Number(loss.moved / loss.asked)),
	}

	if input.Change == nil {
		values["share"] = rules.Part(rules.Share(loss.cells, input.Stall.Cells))
	}

	await := rules.DiskReadAwait
	if loss.kind == "writes" {
		await = rules.DiskWriteAwait
	}

	in := loss.cells.And(input.Stall.Cells)
	finding.Evidence = append(finding.Evidence,
		input.Figure("median await of "+loss.Device+"'s "+loss.kind+" meanwhile", await, loss.upperS,
			"seconds", in))

	switch loss.why {
	case "leg":
		finding.Entitle("leg title", nil)
		finding.Say("leg", values)
		finding.Advise("replace", values)
		finding.Evidence = append(finding.Evidence,
			input.Figure("median await of "+loss.leg+"'s "+loss.kind, await, loss.lowerS, "seconds", in),
			input.Figure("median await of the slowest other leg", await, loss.othersS, "seconds", in))
	case "layer":
		finding.Say("inside", values)
		finding.Evidence = append(finding.Evidence,
			input.Figure("median await of the slowest device below", await, loss.lowerS, "seconds", in))
		switch loss.Made {
		case "crypt":
			finding.Advise("queue", nil)
		case "lvm":
			finding.Advise("snapshot", values)
		default:
			finding.Advise("look", values)
		}
	default:
		finding.Evidence = append(finding.Evidence,
			input.Figure("bytes requested of "+loss.Device+", mean", rules.DiskMoved, loss.asked, "bytes/s", in),
			input.Figure("bytes moved by its legs, mean", rules.DiskMoved, loss.moved, "bytes/s", in),
			input.Figure("extra bytes read from its legs, mean", rules.DiskMoved, loss.extra, "bytes/s", in))

		finding.Say(loss.why, values)
		if loss.why == "parity" {
			finding.Advise("mirror", nil)
			finding.Advise("cache", nil)
			return
		}

		if syncing(loss.Layer) {
			finding.Say("known", values)
			finding.Advise("slower", nil)
		} else {
			finding.Say("not known", nil)
			finding.Advise("whose", values)
		}
	}
}

// calledLayer is the layer's name in texts.
func calledLayer(l rules.Layer) rules.Value {
	switch {
	case l.Made == "crypt":
		return "dm-crypt's encryption"
	case l.Made == "lvm":
		return "LVM (a snapshot, a thin pool)"
	case l.Made == "mpath":
		return "multipath"
	case strings.HasPrefix(l.Made, "raid"):
		return rules.Called("the RAID (" + l.Made + ")")
	}
	return "the layer between them (encryption, a snapshot, a path)"
}

const (
	cryptName   = `{{ask .mapping "MAPPING" "the name of the encrypted mapping, as dmsetup ls --target crypt shows it"}}`
	cryptBefore = `~/plimsoll-crypt-` + cryptName + `.before`
	// cryptFlags are the options for the flags that the mapping had: refresh removes those it is not given.
	cryptFlags = `$(sed -n 's/^ *flags: *//p' ` + cryptBefore +
		` | sed 's/discards/--allow-discards/; s/[a-z]*_[a-z_]*/--perf-&/g')`
	// cryptHeader is the option that removes flags from the volume's header, which only LUKS2 has.
	cryptHeader = `$(sudo cryptsetup status ` + cryptName + ` | grep -qw LUKS2 && echo --persistent)`
	theArray    = `{{ask .disk "ARRAY" "the array, such as md0"}}`
	syncFolder  = `/sys/block/` + theArray + `/md`
	syncBefore  = `~/plimsoll-sync-speed-` + theArray + `.before`
)

// bypassCryptQueues makes dm-crypt work in the context of the request. (cryptsetup-refresh(8); the
// flags need Linux 5.9 and cryptsetup 2.3.4.)
var bypassCryptQueues = &rules.Remedy{
	Name: "crypt-queues", Title: "Bypass dm-crypt's queues",
	Recipes: []rules.Recipe{
		{Places: []rules.Place{rules.Host, rules.Docker},
			Look: append(rules.SavedOnce(cryptBefore, `sudo cryptsetup status `+cryptName), rules.OnShell(`uname -r`)...),
			Do: rules.IfSaved(cryptBefore, `sudo cryptsetup refresh `+cryptFlags+
				` --perf-no_read_workqueue --perf-no_write_workqueue `+cryptName),
			Keep: rules.IfSaved(cryptBefore, `sudo cryptsetup refresh --persistent `+cryptFlags+
				` --perf-no_read_workqueue --perf-no_write_workqueue `+cryptName),
			Check: rules.OnShell(`sudo cryptsetup status ` + cryptName),
			Undo: rules.IfSaved(cryptBefore, `sudo cryptsetup refresh `+cryptHeader+` `+cryptFlags+` `+cryptName+
				` && rm `+cryptBefore),
			Notes: []string{"It needs Linux 5.9 and cryptsetup 2.3.4, and prompts for the passphrase unless you pass --key-file. The mapping stays in use.",
				"--persistent needs LUKS2. For LUKS1 and plain mappings, keep it by adding no-read-workqueue,no-write-workqueue to the mapping's options in /etc/crypttab; to undo it, remove them again.",
				"The undo writes the flags that were active into the header of LUKS2, also those that came from /etc/crypttab."}},
		{Places: []rules.Place{rules.Kubernetes},
			None: "the mapping belongs to the node: open it with these options there, in the node group's configuration"},
		{Places: rules.Services, None: rules.NotOurHost},
	},
	Cost: "the issuing CPU does the encryption; on spinning disks writes are no longer sorted",
	Wait: time.Minute, Until: "a minute of the usual load has passed",
	Size: func(c *rules.Case, f *rules.Finding) rules.Values {
		return rules.Values{"mapping": rules.Called(c.Facts["called."+f.Subject])}
	},
	Example: rules.Values{"mapping": "data"},
}

// slowSync limits the speed of a RAID's resync. (Linux, Documentation/admin-guide/md.rst:
// sync_speed_max in KiB/s; "system" is the limit of all arrays.)
var slowSync = &rules.Remedy{
	Name: "sync-speed", Title: "Lower the speed of the RAID's resync",
	Recipes: []rules.Recipe{
		{Places: []rules.Place{rules.Host, rules.Docker},
			Look: append(rules.SavedOnce(syncBefore, `cat `+syncFolder+`/sync_speed_max`),
				rules.OnShell(`cat `+syncFolder+`/sync_action `+syncFolder+`/sync_completed `+syncFolder+`/sync_speed_min`)...),
			Do:    rules.IfSaved(syncBefore, `echo 10000 | sudo tee `+syncFolder+`/sync_speed_max`),
			Check: rules.OnShell(`cat ` + syncFolder + `/sync_speed ` + syncFolder + `/sync_speed_max /proc/mdstat`),
			// The file shows "200000 (system)", or "10000 (local)" if the array has its own limit.
			Undo: rules.OnShell(`read -r SPEED SCOPE < ` + syncBefore +
				` && { test "$SCOPE" = "(local)" || SPEED=system; } && echo "$SPEED" | sudo tee ` + syncFolder +
				`/sync_speed_max && rm ` + syncBefore),
			Kept: "it lasts until the array is stopped, so it outlasts the resync",
			Notes: []string{"10000 means 10 MB/s per leg. sync_speed_min must not be higher.",
				"After losing a leg, do this only if you can accept the longer time without redundancy. A monthly check can be moved to a quiet hour instead."}},
		{Places: []rules.Place{rules.Kubernetes}, None: "the RAID belongs to the node: do it there, as on any host"},
		{Places: rules.Services, None: rules.NotOurHost},
	},
	Cost: "the resync takes longer; meanwhile a RAID that lost a leg has no redundancy",
	Wait: time.Minute, Until: "a minute of the usual load has passed",
	Size: func(_ *rules.Case, f *rules.Finding) rules.Values {
		v := rules.Values{"disk": ""}
		if strings.Trim(f.Subject, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
			v["disk"] = rules.Called(f.Subject)
		}
		return v
	},
	Needed:  func(_ *rules.Case, v rules.Values) bool { return v["disk"] != "" },
	Example: rules.Values{"disk": "md0"},
}
