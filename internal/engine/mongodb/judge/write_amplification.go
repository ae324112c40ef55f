package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A whole leaf page is written for each small change. Below these levels it is not worth reporting.
const (
	minAmplification  = 5
	minAmplifiedBytes = 50e6
)

func writeAmplification() rules.Rule {
	rule := rules.Rule{ID: "wiredtiger/write-amplification", Title: "Each changed byte is written many times",
		Kind:    rules.Cause,
		When:    "plimsoll:wt_blocks_written:bytes > 5 * plimsoll:wt_log_payload:bytes",
		Needs:   []*rules.Signal{BlocksWritten, LogPayload},
		NoAlert: "it is judged by totals over the whole time; during a checkpoint the condition always holds",
		Cause:   "WiredTiger rewrites a whole leaf page (32 KB) however little of it changed, once between two checkpoints or evictions. So small updates that are spread over many pages cause many times as many bytes to be written, and large growing documents are rewritten whole.",
		Words:   rules.Words{"written": "{{.blocks}} were written to data files for {{.payload}} of logged changes: {{.times}} times as much."},
		Advice: map[string]rules.Advice{"fewer pages": {Summary: "Write fewer pages: group documents that change together, drop unused indexes, use smaller bucket documents, and lengthen the checkpoint interval if recovery time allows",
			Expect:    "more changes share a page write",
			TradeOff:  "a day's query may read more documents; recovery replays more journal",
			NoCommand: "it depends on the documents and indexes"}}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		step := input.Grid.StepSeconds()
		blocks := timeline.Sum(input.One(BlocksWritten)) * step
		payload := timeline.Sum(input.One(LogPayload)) * step
		if payload <= 0 || blocks < minAmplifiedBytes || blocks < minAmplification*payload {
			return nil
		}

		// Every random update is amplified. It matters only if the volume has no headroom for it.
		if !writesMatter(input) {
			return nil
		}

		f := rule.Finding("wiredtiger")
		f.Severity = rules.Info
		all := timeline.Known(input.One(BlocksWritten))
		f.Say("written", rules.Values{"blocks": rules.Bytes(blocks), "payload": rules.Bytes(payload),
			"times": rules.Number(blocks / payload)})
		f.Evidence = []rules.Evidence{
			input.Figure("written by the block manager", BlocksWritten, blocks, "bytes", all),
			input.Figure("changes logged in the journal", LogPayload, payload, "bytes", all),
		}

		if ckpt := input.One(CheckpointWritten); ckpt != nil {
			f.Evidence = append(f.Evidence,
				input.Figure("of that, for checkpoints (the rest by eviction)", CheckpointWritten,
					min(1, timeline.Sum(ckpt)*step/blocks), "ratio", all))
		}

		f.Advise("fewer pages", nil)
		return []rules.Finding{f}
	}

	return rule
}

// writesMatter reports whether fewer bytes would have helped: a device was saturated in part of the
// time, or something stalled and no device counters are available.
func writesMatter(c *rules.Case) bool {
	sat, measured := c.Saturated()
	if measured && sat.Count() > 0 && rules.Share(sat,
		timeline.Known(c.One(BlocksWritten))) >= rules.MinAttributable {
		return true
	}
	return c.Stall.Any() && (!measured || rules.Share(sat, c.Stall.Cells) >= rules.MinAttributable)
}
