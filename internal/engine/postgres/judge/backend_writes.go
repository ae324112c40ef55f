package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Backends write a buffer themselves only if neither the checkpointer nor the background writer got
// to it in time. The rule needs at least this share and this number of buffers.
const (
	minBackendShare   = 0.3
	minBackendBuffers = 1000
)

func backendWrites() rules.Rule {
	rule := rules.Rule{ID: "postgres/backend-writes",
		Title: "Backends write buffers themselves", Kind: rules.Cause,
		When:    "plimsoll:postgres_buffers_backend:rate > plimsoll:postgres_buffers_checkpoint:rate + plimsoll:postgres_buffers_clean:rate",
		Needs:   []*rules.Signal{BuffersBackend, BuffersClean, BuffersCheckpoint},
		NoAlert: "it is judged by totals over the whole recording",
		Cause:   "A query that needs a buffer and finds only dirty ones has to write one out first. (Before 16 the counter also includes blocks that extend files and COPY's ring-buffer writes: bulk loads raise it harmlessly.)",
		Words: rules.Words{
			"wrote":  "Backends wrote {{.backend}} buffers, {{.share}} of all; checkpoints wrote {{.checkpoint}}, the background writer {{.clean}}.",
			"synced": "They had to fsync files themselves {{.fsyncs}} times: the checkpointer's queue of fsync requests was full.",
		},
		Advice: map[string]rules.Advice{"clean": {Summary: "Raise bgwriter_lru_maxpages and lower bgwriter_delay; raise shared_buffers if the working set does not fit",
			Expect:   "clean buffers are ready when a query needs one",
			TradeOff: "some pages are written more than once",
			Do:       []*rules.Remedy{cleanEarlier}},
			"queue": {Summary: "Shorten the checkpoint's fsync (pace it), and raise shared_buffers: the queue of fsync requests has one entry per buffer",
				Expect:   "the queue no longer fills while the checkpointer is in an fsync",
				TradeOff: "raising shared_buffers needs a restart",
				Do:       []*rules.Remedy{paceCheckpoints}}}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		step := input.Grid.StepSeconds()
		total := func(s *rules.Signal) float64 { return timeline.Sum(input.One(s)) * step }
		backend, clean, ckpt := total(BuffersBackend), total(BuffersClean), total(BuffersCheckpoint)
		all := backend + clean + ckpt

		fsyncs := total(BackendFsyncs)

		// A single fsync by a backend counts on its own: it is the slowest thing a query can be
		// made to do.
		if (backend < minBackendBuffers || backend < minBackendShare*all) && fsyncs < 1 {
			return nil
		}

		finding := rule.Finding("postgres")
		finding.Severity = rules.Info
		if fsyncs >= 1 {
			finding.Severity = rules.Warning
		}

		seen := timeline.Known(input.One(BuffersBackend))
		finding.Say("wrote", rules.Values{"backend": rules.Number(backend),
			"share":      rules.Part(backend / max(all, 1)),
			"checkpoint": rules.Number(ckpt), "clean": rules.Number(clean)})
		if fsyncs >= 1 {
			finding.Say("synced", rules.Values{"fsyncs": rules.Events(fsyncs)})
		}

		finding.Evidence = []rules.Evidence{
			input.Figure("buffers written by backends", BuffersBackend, backend, "", seen),
			input.Figure("share of all buffers written", nil, backend/max(all, 1), "ratio", seen),
			input.Figure("fsyncs by backends", BackendFsyncs, math.Round(fsyncs), "", seen),
		}

		if backend >= minBackendBuffers && backend >= minBackendShare*all {
			finding.Advise("clean", nil)
		}

		if fsyncs >= 1 {
			// The queue has NBuffers entries (CheckpointerShmemSize in checkpointer.c, 10 to 17);
			// 18 caps it at 10 million.
			finding.Advise("queue", nil)
		}

		return []rules.Finding{finding}
	}

	return rule
}
