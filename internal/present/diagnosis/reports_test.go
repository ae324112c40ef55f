package diagnosis

import (
	"math"
	"strings"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
)

var start = time.Date(2026, 7, 20, 15, 55, 0, 0, time.UTC)

func at(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }

func span(from, to float64) diagnose.Span { return diagnose.Span{From: at(from), To: at(to)} }

func number(text, metric string, v float64, unit string, from, to float64) diagnose.Evidence {
	return diagnose.Evidence{Text: text, Metric: metric, Value: &v, Unit: unit, From: at(from), To: at(to)}
}

// wave is a track of 300 seconds that is high in the seconds [from, to) of each minute, and low
// otherwise.
func wave(name, unit string, low, high float64, from, to int) diagnose.Track {
	t := diagnose.Track{Name: name, Unit: unit, From: start, To: at(300), StepS: 2}
	for k := range 150 {
		v := low
		if s := (2 * k) % 60; s >= from && s < to {
			v = high
		}
		t.Values = append(t.Values, &v)
	}
	return t
}

func blankOut(t diagnose.Track, from, to int) diagnose.Track {
	for i := from; i < to; i++ {
		t.Values[i] = nil
	}
	return t
}

// checkpointReport is the published case of checkpoints on a gp3 volume, with our own figures.
func checkpointReport() *diagnose.Report {
	windows := []diagnose.Span{span(42, 56), span(102, 116), span(162, 176), span(222, 236), span(282, 296)}
	r := &diagnose.Report{
		Version: diagnose.Version,
		Sources: []diagnose.Source{
			{Kind: "ftdc", Name: "diagnostic.data", Engine: "mongodb", Version: "7.0.12", Host: "db-0", From: start, To: at(300), PeriodS: 1, Samples: 300,
				Facts: map[string]string{"storage_engine": "wiredTiger", "cores": "8"}},
			{Kind: "iostat", Name: "iostat.log", From: start, To: at(300), PeriodS: 1, Samples: 300},
		},
		Span:    span(0, 300),
		Verdict: "Mongodb writes stalled for 70.0 s of 5m, every 60.0 s. Why: the volume's IOPS cap binds (nvme1n1); checkpoints stall writes (mongodb). The cache is large enough.",
		Account: []diagnose.Share{
			{Share: "queue for a write ticket", Seconds: 3105, Of: 9240},
			{Share: "waiting for room in the cache", Seconds: 184, Of: 9240},
			{Share: "evicting pages themselves", Seconds: 92, Of: 9240, Overlaps: true, Note: "may be counted in the wait for the cache"},
			{Share: "journal fdatasync", Seconds: 5690, Of: 9240, Overlaps: true, Note: "upper bound: the waiting of all operations while a sync was in progress"},
			{Share: "unexplained", Seconds: 5951, Of: 9240},
		},
		Missing: []diagnose.NotMeasured{
			{Rule: "disk/instance-capped", Missing: []string{"aws_ebs_csi_ec2_exceeded_iops_seconds_total"}},
			{Rule: "host/memory-limit", Missing: []string{"container_memory_working_set_bytes or mongodb_sys_memory_MemFree_kb", "node_pressure_memory_stalled_seconds_total"}},
			{Rule: "host/io-throttled", Missing: []string{"node_pressure_io_stalled_seconds_total"}},
		},
		Timeline: []diagnose.Track{
			wave("mongodb writes latency", "seconds", 0.0012, 8.13, 42, 56),
			wave("checkpoint running", "", 0, 1, 40, 58),
			wave("nvme1n1 busy", "ratio", 0.31, 1, 40, 58),
			wave("nvme1n1 IOPS", "1/s", 740, 3003, 40, 58),
			wave("nvme1n1 throughput", "bytes/s", 11e6, 48e6, 40, 58),
			wave("WiredTiger dirty", "ratio", 0.051, 0.213, 20, 44),
		},
		Stalls: diagnose.StallSummary{Signal: "mongodb writes", ThresholdS: 0.02, Seconds: 70, Of: 300, Episodes: 5, LongestS: 14, PeriodS: 60, Windows: windows},
	}

	r.Findings = []diagnose.Finding{
		iopsCapped(windows),
		checkpointStall(windows),
		{Rule: "host/writeback-backlog", Severity: diagnose.Info, Kind: diagnose.Cause, Subject: "page cache", Title: "The kernel holds more dirty pages than the volume writes in time", Weight: 0.04,
			Summary: "Dirty pages reached 412 MB, 8.58 s of the volume's throughput.", Docs: "docs/rules/host-writeback-backlog.md"},
		{Rule: "mongodb/slow-writes", Severity: diagnose.Critical, Kind: diagnose.Symptom, Subject: "mongodb writes", Title: "Writes stall", Weight: 0.233, PeriodS: 60,
			Summary:  "70.0 s of 5m stalled (23 %), in 5 episodes of at most 14.0 s. They recur every 60.0 s. Mean latency in a stalled second: median 3.20 s, worst 8.13 s; otherwise 1.20 ms.",
			Evidence: []diagnose.Evidence{number("worst mean latency in one interval", "", 8.13, "seconds", 42, 296)},
			Windows:  windows},
		cacheIsLarge(),
	}

	return r
}

func iopsCapped(windows []diagnose.Span) diagnose.Finding {
	return diagnose.Finding{
		Rule: "disk/iops-capped", Severity: diagnose.Critical, Kind: diagnose.Cause, Subject: "nvme1n1", Title: "The volume's IOPS cap binds", Weight: 0.94,
		Summary: "nvme1n1 stands at 3,003 IOPS and goes no higher: 78.0 s in all, and in 94 % of the stalled time. It recurs every 60.0 s.",
		Cause:   "A rented volume serves so many requests a second and makes the rest wait in its queue. The device is never idle, the queue is deep, and the rate stands at one figure that it does not pass.",
		Evidence: []diagnose.Evidence{
			number("the plateau: the rate of 91 % of the saturated intervals, within 5 %", "plimsoll:disk_ops:rate", 3003, "1/s", 40, 298),
			number("share of all intervals in which it was passed", "plimsoll:disk_ops:rate", 0.0033, "ratio", 0, 300),
			number("median queue at the plateau", "plimsoll:disk_queue:requests", 38.2, "requests", 40, 298),
			number("median write await at the plateau", "plimsoll:disk_write_await:seconds", 0.0125, "seconds", 40, 298),
			number("median write await elsewhere", "plimsoll:disk_write_await:seconds", 0.00071, "seconds", 0, 300),
			number("median request at saturation", "", 16384, "bytes", 40, 298),
			{Text: "3,003 IOPS is gp3's baseline, and gp2's burst", From: at(0), To: at(300)},
		},
		Fixes: []diagnose.Fix{
			{Summary: "First make the bursts smaller: pace the checkpoint, bound the OS's dirty bytes, or give the journal a volume of its own", Expect: "the same bytes spread over more seconds; it costs nothing", TradeOff: "less coalescing: more bytes written in all"},
			{Summary: "Then raise the volume's IOPS above 3,003", Expect: "the time at the cap shrinks in proportion, until 16.4 kB requests meet the throughput limit or the instance's", TradeOff: "gp3: USD 0.005 a month for each IOPS over 3,000 (us-east-1); pointless beyond the instance's own limit"},
		},
		Windows: windows, PeriodS: 60, Docs: "docs/rules/disk-iops-capped.md",
	}
}

func checkpointStall(windows []diagnose.Span) diagnose.Finding {
	return diagnose.Finding{
		Rule: "wiredtiger/checkpoint-stall", Severity: diagnose.Warning, Kind: diagnose.Cause, Subject: "mongodb", Title: "Checkpoints stall writes", Weight: 0.81,
		Summary:  "81 % of the stalled time lies in checkpoints, which take 18.0 s.",
		Cause:    "A checkpoint writes every dirty page and syncs every file; whoever writes meanwhile waits behind it.",
		Evidence: []diagnose.Evidence{number("longest checkpoint", "mongodb_ss_wt_txn_transaction_checkpoint_max_time_msecs", 18.2, "seconds", 40, 58)},
		Fixes:    []diagnose.Fix{{Summary: "Lower eviction_dirty_target", Expect: "less is left for the checkpoint", TradeOff: "more CPU for eviction"}},
		Windows:  windows, Docs: "docs/rules/wiredtiger-checkpoint-stall.md",
	}
}

func cacheIsLarge() diagnose.Finding {
	return diagnose.Finding{
		Rule: "wiredtiger/cache-pressure", Severity: diagnose.Info, Kind: diagnose.Refutation, Subject: "mongodb", Title: "The cache is large enough",
		Summary:  "The cache was 71 % full at most; application threads evicted nothing.",
		Cause:    "Application threads evict when the cache is 95 % full or 20 % dirty.",
		Evidence: []diagnose.Evidence{number("cache fill, most", "mongodb_ss_wt_cache_bytes_currently_in_the_cache", 0.71, "ratio", 0, 300)},
		Fixes:    []diagnose.Fix{{Summary: "Do not buy memory for this", Expect: "no change", TradeOff: "none"}},
	}
}

// healthyReport has no findings over two days.
func healthyReport() *diagnose.Report {
	day := 86400.0
	return &diagnose.Report{
		Version: diagnose.Version,
		Sources: []diagnose.Source{{Kind: "prometheus", Name: "http://prometheus:9090", From: at(0), To: at(2 * day), PeriodS: 15}},
		Span:    span(0, 2*day),
		Verdict: "No stall in 48h0m of mongodb writes (1 s samples): mean latency peaked at 3.10 ms.",
		Stalls:  diagnose.StallSummary{Signal: "mongodb writes", ThresholdS: 0.1, Of: 2 * day},
		Timeline: []diagnose.Track{
			{Name: "mongodb writes latency", Unit: "seconds", From: at(0), To: at(2 * day), StepS: day / 4, Values: values(0.001, 0.002, 0.0015, 0.001, 0, 0.004, 0.002, 0.001)},
		},
	}
}

// nothingReport could not judge anything.
func nothingReport() *diagnose.Report {
	return &diagnose.Report{Version: diagnose.Version, Verdict: "No source reports how long writes took, so a stall can be neither detected nor ruled out.",
		Sources: []diagnose.Source{{Kind: "openmetrics", Name: "metrics.txt"}},
		Missing: []diagnose.NotMeasured{{Rule: "etcd/wal-fsync-slow", Missing: []string{"etcd_disk_wal_fsync_duration_seconds_bucket"}}, {Rule: "x/y"}, {Rule: "x/z", Missing: []string{"custom_metric"}}}}
}

// refutedReport is a stall whose only finding is a refutation.
func refutedReport() *diagnose.Report {
	r := checkpointReport()
	r.Verdict = "Mongodb writes stalled for 70.0 s of 5m, every 60.0 s. No cause found in these sources; see what could not be measured. The disk is not the cause."
	r.Findings = []diagnose.Finding{{
		Rule: "disk/not-the-cause", Severity: diagnose.Critical, Kind: diagnose.Refutation, Subject: "all devices", Title: "The disk is not the cause", Weight: 1,
		Summary: "While writes stalled, the busiest device (nvme1n1) was busy 3.1 % of the time, at most 12 % in any interval, with at most 210 IOPS. A faster or larger volume will not help.",
		Cause:   "While clients waited, every device had time to spare.",
		Evidence: []diagnose.Evidence{
			number("busy share of nvme1n1 while stalled, 95th percentile", "plimsoll:disk_busy:ratio", 0.087, "ratio", 42, 296),
			number("write await of nvme1n1 while stalled, median", "plimsoll:disk_write_await:seconds", 0.00042, "seconds", 42, 296),
		},
		Fixes:   []diagnose.Fix{{Summary: "Do not buy IOPS or throughput for this", Expect: "no change: the device was not what writes waited for", TradeOff: "none; it saves money"}},
		Windows: []diagnose.Span{span(42, 296)},
	}}

	r.Timeline = r.Timeline[:1]
	r.Missing = nil
	return r
}

// degradedReport has an evidence pack.
func degradedReport() *diagnose.Report {
	slow, usual := 0.3, 0.001
	rate := 400.0
	r := checkpointReport()
	r.Findings = []diagnose.Finding{{
		Rule: "disk/degraded", Severity: diagnose.Critical, Kind: diagnose.Cause, Subject: "nvme1n1", Title: "The volume itself became slow", Weight: 1,
		Summary: "Writes of nvme1n1 took 300 ms where 1.00 ms is usual at that rate, for 2m.", Windows: []diagnose.Span{span(60, 180)},
		SupportCase: &rules.SupportCase{Device: "nvme1n1", Volume: "vol-1", From: at(60), To: at(180), SlowS: 120,
			Counters: []rules.Counted{{Device: "nvme1n1", Counter: "writes", Metric: "plimsoll:disk_writes:rate", Unit: "1/s", Slow: &rate, Usual: &rate},
				{Device: "nvme1n1", Counter: "write await", Metric: "plimsoll:disk_write_await:seconds", Unit: "seconds", Slow: &slow, Usual: &usual},
				{Device: "nvme2n1", Counter: "read await", Metric: "plimsoll:disk_read_await:seconds", Unit: "seconds"}},
			Excluded: []string{"The CPUs: 12 % busy meanwhile."}},
	}}
	r.Timeline, r.Account, r.Missing = nil, nil, nil
	return r
}

// damagedReport has gaps, damage, and numbers that are not finite.
func damagedReport() *diagnose.Report {
	nan := math.NaN()
	r := checkpointReport()
	r.Findings = []diagnose.Finding{{
		Rule: "evidence/gap", Severity: diagnose.Warning, Kind: diagnose.Symptom, Subject: "sources", Title: "Part of the evidence is missing",
		Summary: "2 gaps, one damaged place and no other remark in the sources; 68.0 s without samples. The rest was judged.",
		Cause:   "A sampler that stops is a fact of its own: the database restarted, the host was too busy to write its statistics, or the file is damaged. What was not sampled is not judged.",
		Evidence: []diagnose.Evidence{
			{Text: "diagnostic.data: no samples for 60 s; was the server down?", From: at(60), To: at(120)},
			{Text: "diagnostic.data: metrics.2026-07-20T15-55-00Z-00000 is damaged at byte 1048576: 5,312 bytes were skipped"},
			{Text: "iostat.log: the last report is cut off", From: at(299)},
			{Text: "a figure that could not be computed", Value: &nan, Unit: "seconds", To: at(10)},
		},
		Windows: []diagnose.Span{span(60, 120), span(200, 208)},
	}}

	r.Timeline = []diagnose.Track{blankOut(r.Timeline[0], 30, 60), blankOut(blankOut(r.Timeline[3], 30, 60), 100, 104)}
	r.Timeline[1].Values[110] = &nan
	r.Timeline = append(r.Timeline, diagnose.Track{Name: "never measured", Unit: "bytes", From: start, To: at(300), StepS: 100, Values: []*float64{nil, nil, nil}})
	r.Account, r.Missing = nil, nil

	return r
}

// hostileReport has malicious names: wide, combining and unbreakable text.
func hostileReport() *diagnose.Report {
	long := strings.Repeat("very-long-volume-name-without-any-space", 6)
	r := checkpointReport()
	r.Sources = []diagnose.Source{{Kind: "ftdc", Name: "\x1b[2J\x1b]0;owned\x07/データ/診断/" + long, Engine: "mongodb", Version: "\xff\xfe", Host: "\u202egnp.exe"}}

	for i := range 7 {
		r.Sources = append(r.Sources, diagnose.Source{Kind: "iostat", Name: "日誌-" + string(rune('a'+i)) + ".log"})
	}

	r.Verdict = "書き込みが停滞しました。" + strings.Repeat("ディスクの上限に達しています。", 8)
	f := iopsCapped(nil)
	f.Subject, f.Title, f.Summary = long, strings.Repeat("Größenwahn ", 12), "a\nb\tc "+strings.Repeat("👩‍👩‍👧 family ", 12)
	f.Severity = "catastrophic"
	f.Fixes = []diagnose.Fix{{Summary: long}}
	r.Findings = []diagnose.Finding{f}
	r.Timeline = []diagnose.Track{wave("データベースの書き込み待ち時間", "seconds", 0, 3, 10, 20), wave(long, "1/s", -5, math.Inf(1), 10, 20)}
	r.Account = []diagnose.Share{{Share: "待ち" + long, Seconds: 500, Of: 100, Note: long}, {Share: "none", Of: 0}, {Share: "negative", Seconds: -1, Of: 100}}
	r.Missing = []diagnose.NotMeasured{{Rule: long, Missing: []string{long}}}

	return r
}

func values(x ...float64) []*float64 {
	out := make([]*float64, len(x))
	for i := range x {
		out[i] = &x[i]
	}
	return out
}
