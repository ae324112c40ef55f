package rules

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

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
		f.Summary = fmt.Sprintf("Flow control held writes for %s, %s of the %s of stalled waiting: the majority's commit point lags.", opSeconds(seconds), pct(share), opSeconds(of))
		f.Evidence = []Evidence{c.figure("time writes were held in the stalled time, summed", SignalPrefix+"mongodb_flow_control_wait:ratio", seconds, units.OpSeconds, c.Stall.Cells)}
		if lagged := c.One(SignalPrefix + "mongodb_flow_control_lagged:bool"); lagged != nil {
			f.Evidence = append(f.Evidence, c.figure("share of the stalled time in which flow control saw a majority lagging", SignalPrefix+"mongodb_flow_control_lagged:bool",
				timeline.Mean(timeline.At(lagged, c.Stall.Cells)), "ratio", c.Stall.Cells))
		}
		f.Fixes = []Fix{{Summary: "Diagnose the lagging secondaries: hand over their diagnostic.data", Expect: "writes here are released when they catch up", TradeOff: "disabling flow control lets the lag grow instead"}}
		return []Finding{f}
	}
	return r
}
