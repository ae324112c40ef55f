package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// checkpointsNotSeen finds PostgreSQL 17 or later behind an exporter that leaves out its checkpoints.
// Up to 16 one view has both what the background writer and what checkpoints wrote, so the one without
// the other is 17 or later, whose checkpoints have a view of their own.
func checkpointsNotSeen() rules.Rule {
	r := rules.Rule{ID: "postgres/checkpoints-not-seen", Title: "Checkpoints are not in these sources",
		Kind: rules.Symptom, Whole: true,
		When:    "plimsoll:postgres_buffers_clean:rate >= 0",
		Needs:   []*rules.Signal{BuffersClean},
		NoAlert: "its condition is that the background writer is reported",
		Cause:   "From PostgreSQL 17 on pg_stat_checkpointer counts checkpoints. postgres_exporter reads it from 0.17.1 on and only if it is told to: its collector stat_checkpointer is off by default (up to 0.20.1).",
		Words: rules.Words{
			"unseen": "The background writer is reported and checkpoints are not: a PostgreSQL 17 or later whose exporter does not read pg_stat_checkpointer. Whether checkpoints stall commits cannot be judged.",
		},
		Advice: map[string]rules.Advice{
			"collector": {Summary: "Start postgres_exporter 0.17.1 or later with --collector.stat_checkpointer, or record postgres:// directly",
				Expect:    "checkpoints are judged the next time",
				TradeOff:  "none",
				NoCommand: "it is the exporter's command line"},
		}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		for _, s := range []*rules.Signal{CheckpointWrite, CheckpointSync, CheckpointsTimed, CheckpointsRequested} {
			if c.Measured(s) {
				return nil
			}
		}

		f := r.Finding("postgres")
		f.Severity = rules.Info
		f.Say("unseen", nil)
		seen := timeline.Known(c.One(BuffersClean))
		f.Evidence = []rules.Evidence{c.Figure("buffers that the background writer wrote, mean", BuffersClean,
			timeline.Mean(c.One(BuffersClean)), "1/s", seen)}
		f.Advise("collector", nil)

		return []rules.Finding{f}
	}

	return r
}
