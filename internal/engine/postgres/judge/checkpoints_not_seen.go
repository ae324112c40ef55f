package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// checkpointsNotSeen detects PostgreSQL 17 or later behind an exporter that leaves out checkpoints.
// Up to 16 a single view counts the buffers of both the background writer and checkpoints; so if
// only the background writer is reported, the server is 17 or later, which has a separate view for
// checkpoints.
func checkpointsNotSeen() rules.Rule {
	rule := rules.Rule{ID: "postgres/checkpoints-not-seen", Title: "These sources do not report checkpoints",
		Kind: rules.Symptom, Whole: true,
		When:    "plimsoll:postgres_buffers_clean:rate >= 0",
		Needs:   []*rules.Signal{BuffersClean},
		NoAlert: "its condition is that the background writer is reported",
		Cause:   "From PostgreSQL 17 on pg_stat_checkpointer counts checkpoints. postgres_exporter 0.17.1 and later can read it, but its collector stat_checkpointer is off by default (up to 0.20.1).",
		Words: rules.Words{
			"unseen": "The background writer is reported but checkpoints are not: this is PostgreSQL 17 or later with an exporter that does not read pg_stat_checkpointer. Whether checkpoints stall commits cannot be judged.",
		},
		Advice: map[string]rules.Advice{
			"collector": {Summary: "Start postgres_exporter 0.17.1 or later with --collector.stat_checkpointer, or record postgres:// directly",
				Expect:    "the next diagnosis covers checkpoints",
				TradeOff:  "none",
				NoCommand: "it is an option on the exporter's command line"},
		}}

	rule.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		for _, s := range []*rules.Signal{CheckpointWrite, CheckpointSync, CheckpointsTimed, CheckpointsRequested} {
			if c.Measured(s) {
				return nil
			}
		}

		f := rule.Finding("postgres")
		f.Severity = rules.Info
		f.Say("unseen", nil)
		seen := timeline.Known(c.One(BuffersClean))
		f.Evidence = []rules.Evidence{c.Figure("buffers written by the background writer, mean", BuffersClean,
			timeline.Mean(c.One(BuffersClean)), "1/s", seen)}
		f.Advise("collector", nil)

		return []rules.Finding{f}
	}

	return rule
}
