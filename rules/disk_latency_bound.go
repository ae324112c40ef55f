package rules

import (
	"fmt"

	"plimsoll/timeline"
)

// One request at a time: by Little's law the rate is then queue / latency, and a
// higher cap changes neither. The bounds leave room for an occasional second request.
const (
	serialQueueLow  = 0.5
	serialQueueHigh = 1.5
	serialShare     = 0.5  // of the time the device writes
	serialMaxSat    = 0.02 // of that time with a deep queue
	serialFsync     = 0.6  // of the time etcd's WAL is in fdatasync
	serialMinRate   = 50.0
)

func diskLatencyBound() Rule {
	r := Rule{ID: "disk/latency-bound", Title: "Latency-bound: more IOPS will not help", Kind: Refutation,
		When:  "plimsoll:disk_queue:requests > 0.5 and plimsoll:disk_queue:requests < 1.5 and plimsoll:disk_writes:rate > 50",
		Needs: []string{},
		Cause: "The writer waits for one request before it makes the next (a WAL's or a journal's fdatasync). Its rate is one over the latency, whatever the volume would allow. A cap that is not reached can be raised without any effect."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		var out []Finding
		for _, h := range held {
			if f, ok := r.serialDevice(c, h); ok {
				out = append(out, f)
			}
		}
		return append(out, r.serialFio(c)...)
	}
	return r
}

func (r Rule) serialDevice(c *Case, held timeline.Track) (Finding, bool) {
	dev := held.Labels.Get("device")
	get := func(signal string) []float64 { return c.For(SignalPrefix+signal, "device", dev) }
	writes, queue, ops, busy := get("disk_writes:rate"), get("disk_queue:requests"), get("disk_ops:rate"), get("disk_busy:ratio")
	if writes == nil || queue == nil || ops == nil {
		return Finding{}, false
	}
	writing := timeline.Where(writes, func(x float64) bool { return x > serialMinRate })
	serial := timeline.Known(held.Values)
	deep := timeline.Where(queue, func(x float64) bool { return x > 2 })
	if c.Seconds(serial) < 5 || Share(serial, writing) < serialShare || Share(deep, writing) > serialMaxSat {
		return Finding{}, false
	}
	// Busy with one request or more nearly all the time: the writer does wait for it.
	if busy != nil && timeline.Quantile(timeline.At(busy, serial), 0.5) < serialQueueLow {
		return Finding{}, false
	}
	rate := timeline.Quantile(timeline.At(ops, serial), 0.5)
	q := timeline.Quantile(timeline.At(queue, serial), 0.5)
	each := q / rate
	f := r.finding(dev)
	f.Weight = Share(serial, writing)
	f.Severity = Info
	if p99, ok := c.slowestFsync(); ok && p99 > etcdFsyncCriterionS {
		f.Severity = Warning
	}
	f.Windows = c.Windows(serial.Close(3))
	f.Summary = fmt.Sprintf("%s serves one request at a time: %s requests/s at %s each, a queue of %s. The limit is the latency; raising the volume's IOPS buys nothing.",
		dev, num(rate), dur(each), num(q))
	f.Evidence = []Evidence{
		c.figure("median requests completed", SignalPrefix+"disk_ops:rate", rate, "1/s", serial),
		c.figure("most requests completed in one interval", SignalPrefix+"disk_ops:rate", timeline.Max(ops), "1/s", timeline.Known(ops)),
		c.figure("median queue while writing", SignalPrefix+"disk_queue:requests", q, "requests", serial),
		c.figure("share of the writing time with a queue over 2", SignalPrefix+"disk_queue:requests", Share(deep, writing), "ratio", writing),
		c.figure("latency of a request, by Little's law (queue / rate)", "", each, "seconds", serial),
	}
	for _, t := range c.Signal(SignalPrefix + "etcd_wal_fsync_time:ratio") {
		if in := timeline.Quantile(timeline.At(t.Values, serial), 0.5); in >= serialFsync {
			fsync := c.For(SignalPrefix+"etcd_wal_fsync:seconds", "instance", t.Labels.Get("instance"))
			f.Evidence = append(f.Evidence,
				c.figure("share of the time etcd's WAL was in fdatasync", SignalPrefix+"etcd_wal_fsync_time:ratio", in, "ratio", serial),
				c.figure("mean fdatasync of etcd's WAL", SignalPrefix+"etcd_wal_fsync:seconds", timeline.Quantile(timeline.At(fsync, serial), 0.5), "seconds", serial))
		}
	}
	f.Fixes = latencyFixes(each)
	return f, true
}

// slowestFsync is the largest p99 of an etcd WAL's fdatasync.
func (c *Case) slowestFsync() (float64, bool) {
	worst, ok := 0.0, false
	for _, t := range c.Signal(SignalPrefix + "etcd_wal_fsync_p99:seconds") {
		if timeline.Count(t.Values) > 0 {
			worst, ok = max(worst, timeline.Quantile(t.Values, 0.5)), true
		}
	}
	return worst, ok
}

func latencyFixes(each float64) []Fix {
	return []Fix{
		{Summary: "Do not buy IOPS for this", Expect: "no change: the cap is not reached", TradeOff: "none; money kept"},
		{Summary: "Make fewer, larger syncs: batch writes, use more clients at once (group commit)",
			Expect: "the same syncs carry more writes", TradeOff: "each write waits for its batch"},
		{Summary: "Use a volume with a lower latency: io2 Block Express (under 0.5 ms on average, by its maker), local NVMe",
			Expect:   fmt.Sprintf("the rate of one writer grows by the ratio of the latencies; %s each now", dur(each)),
			TradeOff: "io2: USD 0.125 per GB and 0.065 per IOPS a month; local NVMe is lost with the instance"},
		{Summary: "Write into preallocated files: an append that grows a file costs further journal writes of the file system",
			Expect: "two to three device writes an append become one", TradeOff: "space taken in advance"},
	}
}

// serialFio judges fio's own report: a job of depth one is serial by construction.
func (r Rule) serialFio(c *Case) []Finding {
	var out []Finding
	for _, t := range c.Signal(SignalPrefix + "fio_iodepth:count") {
		job := t.Labels.Get("job")
		depth := timeline.Max(t.Values)
		rate := timeline.Max(c.For(SignalPrefix+"fio_write:rate", "job", job))
		lat := timeline.Max(c.For(SignalPrefix+"fio_write_latency:mean", "job", job))
		syncLat := timeline.Max(c.For(SignalPrefix+"fio_sync_latency:mean", "job", job))
		each := lat
		if syncLat == syncLat {
			each = lat + syncLat
		}
		// NaN fails each comparison.
		if !(depth == 1) || !(rate > 0) || !(rate*each > 0.7) {
			continue
		}
		f := r.finding("fio job " + job)
		f.Severity, f.Weight = Info, 1
		f.Summary = fmt.Sprintf("Job %s makes one write at a time: %s a second at %s each, %s of its time spent waiting. The limit is the latency; raising the volume's IOPS buys nothing.",
			job, num(rate), dur(each), pct(min(1, rate*each)))
		f.Evidence = []Evidence{
			c.figure("writes", "fio_write_iops", rate, "1/s", timeline.Known(t.Values)),
			c.figure("mean latency of a write", "fio_write_latency_mean_seconds", lat, "seconds", timeline.Known(t.Values)),
			c.figure("mean latency of a sync", "fio_sync_latency_mean_seconds", syncLat, "seconds", timeline.Known(t.Values)),
			c.figure("requests in flight", "fio_job_iodepth", depth, "requests", timeline.Known(t.Values)),
		}
		f.Fixes = latencyFixes(each)
		out = append(out, f)
	}
	return out
}
