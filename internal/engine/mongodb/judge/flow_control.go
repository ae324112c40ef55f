package judge

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func flowControl() rules.Rule {
	r := rules.Rule{ID: "mongodb/flow-control", Title: "Flow control holds writes back", Kind: rules.Cause,
		When:  "plimsoll:mongodb_flow_control_wait:ratio > 0.5",
		Cause: "When a majority of the replica set lags behind, the primary delays its own writes. The slow disk, if it is one, is then on a secondary."}
	r.Judge = func(c *rules.Case, held []timeline.Track) []rules.Finding {
		share, seconds, of, ok := c.WaitShare(FlowControlWait)
		if !ok || share < rules.MinWaitShare {
			return nil
		}
		f := r.Finding("replica set")
		f.Weight = share
		f.Severity = c.SeverityOf(share)
		if len(held) > 0 {
			f.Windows = c.Windows(timeline.Known(held[0].Values).Close(3))
		}
		f.Summary = fmt.Sprintf("Flow control held writes for %s, %s of the %s of stalled waiting: the majority's commit point lags.", rules.OpSeconds(seconds), units.Percent(share), rules.OpSeconds(of))
		f.Evidence = []rules.Evidence{c.Figure("time writes were held in the stalled time, summed", FlowControlWait, seconds, units.OpSeconds, c.Stall.Cells)}
		if lagged := c.One(FlowControlLagged); lagged != nil {
			f.Evidence = append(f.Evidence, c.Figure("share of the stalled time in which flow control saw a majority lagging", FlowControlLagged,
				timeline.Mean(timeline.At(lagged, c.Stall.Cells)), "ratio", c.Stall.Cells))
		}
		f.Fixes = []rules.Fix{{Summary: "Diagnose the lagging secondaries: hand over their diagnostic.data", Expect: "writes here are released when they catch up", TradeOff: "disabling flow control lets the lag grow instead"}}
		return []rules.Finding{f}
	}
	return r
}
