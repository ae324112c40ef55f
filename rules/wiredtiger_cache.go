package rules

import (
	"fmt"

	"plimsoll/timeline"
)

// minWaitShare is the part of the stalled waiting time from which a wait is worth a finding.
const minWaitShare = 0.05

func wiredtigerCachePressure() Rule {
	r := Rule{ID: "wiredtiger/cache-pressure", Title: "Operations wait for room in the cache", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:wt_cache_fill:ratio >= 0.95 or plimsoll:wt_dirty:ratio >= 0.2 or plimsoll:wt_updates:ratio >= 0.1",
		Needs: []string{SignalPrefix + "wt_cache_fill:ratio", SignalPrefix + "wt_dirty:ratio"},
		Cause: "At 95 % full, 20 % dirty or 10 % updates WiredTiger makes operations wait for eviction, or evict pages themselves, before they may go on. Below these triggers eviction is background work that nobody waits for."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		over := make(timeline.Mask, c.Grid.N)
		for _, h := range held {
			over = over.Or(timeline.Known(h.Values))
		}
		share, seconds, of, measured := c.WaitShare(SignalPrefix + "wt_cache_wait:ratio")
		fraction, _, _ := c.Attributable(over)
		if share < minWaitShare && fraction < minAttributable {
			return nil
		}
		f := r.finding("wiredtiger cache")
		f.Weight = share
		if !measured {
			f.Weight = fraction
		}
		f.Severity = c.severityOf(f.Weight)
		f.Windows = c.Windows(over.And(c.Stall.Cells))
		fill, dirty := c.One(SignalPrefix+"wt_cache_fill:ratio"), c.One(SignalPrefix+"wt_dirty:ratio")
		f.Summary = fmt.Sprintf("The cache stood at up to %s full and %s dirty", pct(timeline.Max(fill)), pct(timeline.Max(dirty)))
		if upd := c.One(SignalPrefix + "wt_updates:ratio"); upd != nil {
			f.Summary += fmt.Sprintf(", updates at up to %s", pct(timeline.Max(upd)))
			f.Evidence = append(f.Evidence, c.figure("most of the cache held by updates (trigger 10 %)", SignalPrefix+"wt_updates:ratio", timeline.Max(upd), "ratio", timeline.Known(upd)))
		}
		if measured {
			f.Summary += fmt.Sprintf("; operations waited %s for it, %s of the %s they were stalled in all", opSeconds(seconds), pct(share), opSeconds(of))
			f.Evidence = append(f.Evidence, c.figure("operations' waiting for the cache in the stalled time, summed", SignalPrefix+"wt_cache_wait:ratio", seconds, "seconds", c.Stall.Cells))
		}
		f.Summary += "."
		f.Evidence = append(f.Evidence,
			c.figure("fullest (trigger 95 %)", SignalPrefix+"wt_cache_fill:ratio", timeline.Max(fill), "ratio", timeline.Known(fill)),
			c.figure("most dirty (trigger 20 %)", SignalPrefix+"wt_dirty:ratio", timeline.Max(dirty), "ratio", timeline.Known(dirty)),
			c.figure("share of the stalled time over a trigger", "", Share(over, c.Stall.Cells), "ratio", c.Stall.Cells))
		if maxBytes := c.One(SignalPrefix + "wt_cache_max:bytes"); maxBytes != nil {
			f.Evidence = append(f.Evidence, c.figure("configured cache", SignalPrefix+"wt_cache_max:bytes", timeline.Max(maxBytes), "bytes", timeline.Known(maxBytes)))
		}
		f.Fixes = []Fix{
			{Summary: "Start eviction earlier and with more threads: eviction_dirty_target=2,eviction_dirty_trigger=10,eviction=(threads_min=4,threads_max=8)",
				Expect: "background threads do the work operations do now", TradeOff: "CPU: felt on 4 cores, not on 16; more page writes"},
			{Summary: "Give the cache the working set (average object size x hot documents + indexes), explicitly below the host's or container's memory",
				Expect: "fill falls under the trigger", TradeOff: "less page cache for the OS; larger checkpoints"},
		}
		return []Finding{f}
	}
	return r
}

func wiredtigerAppEviction() Rule {
	r := Rule{ID: "wiredtiger/app-eviction", Title: "Application threads evict pages", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:wt_app_evictions:rate > 10",
		Cause: "When the eviction threads cannot keep up, the threads that serve clients evict pages before they may go on. It is the second step of cache pressure."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		rate := c.One(SignalPrefix + "wt_app_evictions:rate")
		if len(held) == 0 || c.Seconds(timeline.Known(held[0].Values)) < 2 {
			return nil
		}
		pages := timeline.Sum(rate) * c.Grid.StepSeconds()
		share, seconds, of, measured := c.WaitShare(SignalPrefix + "wt_app_evict_time:ratio")
		f := r.finding("wiredtiger cache")
		f.Weight = share
		cells := timeline.Known(held[0].Values)
		if !measured {
			f.Weight, _, _ = c.Attributable(cells)
		}
		f.Severity = c.severityOf(f.Weight)
		f.Windows = c.Windows(cells.Close(3))
		f.Summary = fmt.Sprintf("%s pages were evicted by application threads (up to %s a second)", num(pages), num(timeline.Max(rate)))
		switch {
		case measured && share < minWaitShare:
			f.Summary += fmt.Sprintf(", which took them %s: only %s of the %s they were stalled. A sign of pressure, not what the time went into.", opSeconds(seconds), pct(share), opSeconds(of))
		case measured:
			f.Summary += fmt.Sprintf(", which took them %s: %s of the %s they were stalled.", opSeconds(seconds), pct(share), opSeconds(of))
		default:
			f.Summary += "; how long it took them this version does not tell."
		}
		f.Evidence = []Evidence{
			c.figure("pages evicted by application threads", SignalPrefix+"wt_app_evictions:rate", pages, "pages", cells),
			c.figure("most in one interval", SignalPrefix+"wt_app_evictions:rate", timeline.Max(rate), "1/s", cells),
		}
		if measured {
			f.Evidence = append(f.Evidence, c.figure("time it took them in the stalled time, summed", SignalPrefix+"wt_app_evict_time:ratio", seconds, "seconds", c.Stall.Cells))
		}
		f.Fixes = []Fix{{Summary: "Let the background start earlier: eviction_dirty_target=2,eviction_dirty_trigger=10,eviction=(threads_min=4,threads_max=8)",
			Expect: "application threads stop evicting; a stall behind the journal's fdatasync stays as it is", TradeOff: "CPU; more page writes"}}
		return []Finding{f}
	}
	return r
}

func wiredtigerTicketQueue() Rule {
	r := Rule{ID: "wiredtiger/ticket-queue", Title: "Writes queue for a ticket", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:mongodb_write_tickets_available:count < 1 or plimsoll:mongodb_ticket_wait:ratio > 1",
		Needs: []string{SignalPrefix + "mongodb_write_tickets_available:count"},
		Cause: "Only so many operations may be inside the storage engine at once; the others queue. The queue is long because those inside are slow: it multiplies a stall and is seldom where one begins."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		if len(held) == 0 {
			return nil
		}
		none := timeline.Where(c.One(SignalPrefix+"mongodb_write_tickets_available:count"), func(x float64) bool { return x < 1 })
		share, seconds, of, measured := c.WaitShare(SignalPrefix + "mongodb_ticket_wait:ratio")
		exhausted := Share(none, c.Stall.Cells)
		if share < minWaitShare && exhausted < minAttributable {
			return nil
		}
		f := r.finding("write tickets")
		f.Weight = share
		if !measured {
			f.Weight, _, _ = c.Attributable(none)
		}
		if f.Severity = c.severityOf(f.Weight); f.Severity == Critical {
			f.Severity = Warning // a multiplier, not an origin
		}
		f.Windows = c.Windows(none.And(c.Stall.Cells).Close(2))
		f.Summary = fmt.Sprintf("No write ticket was free in %s of the stalled time", pct(exhausted))
		if measured {
			f.Summary += fmt.Sprintf("; operations queued %s for one, %s of the %s they were stalled", opSeconds(seconds), pct(share), opSeconds(of))
			f.Evidence = append(f.Evidence, c.figure("time queued for a write ticket in the stalled time, summed", SignalPrefix+"mongodb_ticket_wait:ratio", seconds, "seconds", c.Stall.Cells))
		}
		f.Summary += "."
		f.Evidence = append(f.Evidence, c.figure("share of the stalled time without a free write ticket", SignalPrefix+"mongodb_write_tickets_available:count", exhausted, "ratio", c.Stall.Cells))
		if total := c.One(SignalPrefix + "mongodb_write_tickets:count"); total != nil {
			f.Evidence = append(f.Evidence, c.figure("write tickets, fewest", SignalPrefix+"mongodb_write_tickets:count", timeline.Quantile(total, 0), "", timeline.Known(total)))
		}
		if q := c.One(SignalPrefix + "mongodb_write_queue:count"); q != nil {
			f.Evidence = append(f.Evidence, c.figure("longest queue", SignalPrefix+"mongodb_write_queue:count", timeline.Max(q), "", timeline.Known(q)))
		}
		f.Fixes = []Fix{{Summary: "Remove what makes the operations inside slow (the other causes); do not raise the tickets",
			Expect: "the queue goes with its cause", TradeOff: "more tickets move the wait from the queue into the engine and make cache pressure worse"}}
		return []Finding{f}
	}
	return r
}

// A leaf page written for each small change; below this it is not worth a word.
const minAmplification = 5

func wiredtigerWriteAmplification() Rule {
	r := Rule{ID: "wiredtiger/write-amplification", Title: "Each changed byte is written many times", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:wt_blocks_written:bytes > 5 * plimsoll:wt_log_payload:bytes",
		Needs: []string{SignalPrefix + "wt_blocks_written:bytes", SignalPrefix + "wt_log_payload:bytes"},
		Cause: "WiredTiger rewrites a whole leaf page (32 KB) however little of it changed, once between two checkpoints or evictions. Small updates spread over many pages are written many times over; large documents that grow are rewritten whole."}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		step := c.Grid.StepSeconds()
		blocks := timeline.Sum(c.One(SignalPrefix+"wt_blocks_written:bytes")) * step
		payload := timeline.Sum(c.One(SignalPrefix+"wt_log_payload:bytes")) * step
		if payload <= 0 || blocks < 50e6 || blocks < minAmplification*payload {
			return nil
		}
		f := r.finding("wiredtiger")
		f.Severity = Info
		all := timeline.Known(c.One(SignalPrefix + "wt_blocks_written:bytes"))
		f.Summary = fmt.Sprintf("%s were written to data files for %s of logged changes: %s times as much.", size(blocks), size(payload), num(blocks/payload))
		f.Evidence = []Evidence{
			c.figure("written by the block manager", SignalPrefix+"wt_blocks_written:bytes", blocks, "bytes", all),
			c.figure("changes logged in the journal", SignalPrefix+"wt_log_payload:bytes", payload, "bytes", all),
		}
		f.Fixes = []Fix{{Summary: "Write fewer pages: group documents that change together, drop unused indexes, smaller bucket documents, a longer checkpoint interval where recovery time allows",
			Expect: "more changes share a page write", TradeOff: "a day's query may read more documents; recovery replays more journal"}}
		return []Finding{f}
	}
	return r
}

func mongodbFlowControl() Rule {
	r := Rule{ID: "mongodb/flow-control", Title: "Flow control holds writes back", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:mongodb_flow_control_wait:ratio > 0.5",
		Cause: "When a majority of the replica set lags behind, the primary delays its own writes. The slow disk, if it is one, is then on a secondary."}
	r.Judge = func(c *Case, held []timeline.Track) []Finding {
		share, seconds, of, ok := c.WaitShare(SignalPrefix + "mongodb_flow_control_wait:ratio")
		if !ok || share < minWaitShare {
			return nil
		}
		f := r.finding("replica set")
		f.Weight = share
		f.Severity = c.severityOf(share)
		if len(held) > 0 {
			f.Windows = c.Windows(timeline.Known(held[0].Values).Close(3))
		}
		f.Summary = fmt.Sprintf("Flow control held writes for %s, %s of the %s they were stalled: a majority of members lags.", opSeconds(seconds), pct(share), opSeconds(of))
		f.Evidence = []Evidence{c.figure("time writes were held in the stalled time, summed", SignalPrefix+"mongodb_flow_control_wait:ratio", seconds, "seconds", c.Stall.Cells)}
		f.Fixes = []Fix{{Summary: "Diagnose the lagging secondaries: hand over their diagnostic.data", Expect: "writes here are released when they catch up", TradeOff: "disabling flow control lets the lag grow instead"}}
		return []Finding{f}
	}
	return r
}
