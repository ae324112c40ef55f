package rules

import (
	"fmt"

	"plimsoll/internal/record/timeline"
)

// A leaf page written for each small change; below this it is not worth a word, nor is it
// where little is written at all.
const (
	minAmplification  = 5
	minAmplifiedBytes = 50e6
)

func wiredtigerWriteAmplification() Rule {
	r := Rule{ID: "wiredtiger/write-amplification", Title: "Each changed byte is written many times", Kind: Cause, Engine: EngineMongoDB,
		When:  "plimsoll:wt_blocks_written:bytes > 5 * plimsoll:wt_log_payload:bytes",
		Needs: []string{SignalPrefix + "wt_blocks_written:bytes", SignalPrefix + "wt_log_payload:bytes"},
		Cause: "WiredTiger rewrites a whole leaf page (32 KB) however little of it changed, once between two checkpoints or evictions. Small updates spread over many pages are written many times over; large documents that grow are rewritten whole."}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		step := c.Grid.StepSeconds()
		blocks := timeline.Sum(c.One(SignalPrefix+"wt_blocks_written:bytes")) * step
		payload := timeline.Sum(c.One(SignalPrefix+"wt_log_payload:bytes")) * step
		if payload <= 0 || blocks < minAmplifiedBytes || blocks < minAmplification*payload {
			return nil
		}
		// Every random update is amplified; it matters where the volume has no room for it.
		if !c.writesMatter() {
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
		if ckpt := c.One(SignalPrefix + "wt_checkpoint_written:bytes"); ckpt != nil {
			f.Evidence = append(f.Evidence, c.figure("of it for checkpoints (the rest by eviction)", SignalPrefix+"wt_checkpoint_written:bytes", min(1, timeline.Sum(ckpt)*step/blocks), "ratio", all))
		}
		f.Fixes = []Fix{{Summary: "Write fewer pages: group documents that change together, drop unused indexes, smaller bucket documents, a longer checkpoint interval where recovery time allows",
			Expect: "more changes share a page write", TradeOff: "a day's query may read more documents; recovery replays more journal"}}
		return []Finding{f}
	}
	return r
}

// writesMatter reports whether fewer bytes would have helped: a device was saturated in part of
// the stalled time, or something stalled and no device's counters tell.
func (c *Case) writesMatter() bool {
	sat, measured := c.Saturated()
	if measured && sat.Count() > 0 && Share(sat, timeline.Known(c.One(SignalPrefix+"wt_blocks_written:bytes"))) >= minAttributable {
		return true
	}
	return c.Stall.Any() && (!measured || Share(sat, c.Stall.Cells) >= minAttributable)
}
