package rules

import (
	"fmt"
	"math"

	"plimsoll/internal/record/timeline"
)

// Backends write buffers themselves only when neither the checkpointer nor the
// background writer did in time.
const (
	minBackendShare   = 0.3
	minBackendBuffers = 1000
)

func postgresBackendWrites() Rule {
	r := Rule{ID: "postgres/backend-writes", Title: "Backends write buffers themselves", Kind: Cause, Engine: EnginePostgres,
		When:  "plimsoll:postgres_buffers_backend:rate > plimsoll:postgres_buffers_checkpoint:rate + plimsoll:postgres_buffers_clean:rate",
		Needs: []string{SignalPrefix + "postgres_buffers_backend:rate", SignalPrefix + "postgres_buffers_clean:rate", SignalPrefix + "postgres_buffers_checkpoint:rate"},
		Cause: "A query that needs a buffer and finds only dirty ones writes one out first. (The counter also holds blocks by which files grow: bulk loads raise it without harm.)"}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		step := c.Grid.StepSeconds()
		total := func(s string) float64 { return timeline.Sum(c.One(SignalPrefix+s)) * step }
		backend, clean, ckpt := total("postgres_buffers_backend:rate"), total("postgres_buffers_clean:rate"), total("postgres_buffers_checkpoint:rate")
		all := backend + clean + ckpt
		fsyncs := total("postgres_backend_fsyncs:rate")
		if (backend < minBackendBuffers || backend < minBackendShare*all) && fsyncs < 1 {
			return nil
		}
		f := r.finding("postgres")
		f.Severity = Info
		if fsyncs >= 1 {
			f.Severity = Warning
		}
		seen := timeline.Known(c.One(SignalPrefix + "postgres_buffers_backend:rate"))
		f.Summary = fmt.Sprintf("Backends wrote %s buffers, %s of all; checkpoints wrote %s, the background writer %s.", num(backend), pct(backend/max(all, 1)), num(ckpt), num(clean))
		if fsyncs >= 1 {
			f.Summary += fmt.Sprintf(" They had to fsync files themselves %s times: the checkpointer's queue of fsync requests was full.", whole(fsyncs))
		}
		f.Evidence = []Evidence{
			c.figure("buffers written by backends", SignalPrefix+"postgres_buffers_backend:rate", backend, "", seen),
			c.figure("of all buffers written", "", backend/max(all, 1), "ratio", seen),
			c.figure("fsyncs backends had to do themselves", SignalPrefix+"postgres_backend_fsyncs:rate", math.Round(fsyncs), "", seen),
		}
		f.Fixes = []Fix{{Summary: "Raise bgwriter_lru_maxpages and lower bgwriter_delay; raise shared_buffers if the working set does not fit", Expect: "clean buffers are ready when a query needs one", TradeOff: "some pages are written more than once"}}
		return []Finding{f}
	}
	return r
}
