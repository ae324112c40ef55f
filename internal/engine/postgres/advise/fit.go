package advise

import (
	"math"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/postgres/judge"
	model "plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// tupleHeader is the size of a row's header in bytes (PostgreSQL 15 documentation, 73.6.1).
const tupleHeader = 24

const postgresExporter = "postgres_exporter reports it (--collector.stat_bgwriter and --collector.database are on by default; settings are pg_settings_*)"

type fitting struct{ *fit.Fitting }

// Fit derives a PostgreSQL scenario from a recording.
func Fit(f *fit.Fitting) error { return fitting{f}.fit() }

func (f fitting) fit() error {
	commits := f.One(judge.Commits)
	if commits == nil {
		return &fit.MissingError{What: "the database's load",
			Metrics: []string{"pg_stat_database_xact_commit", "pg_stat_database_xact_commit_total"},
			From:    postgresExporter}
	}

	key := "engine.postgres."
	c := f.Cycles(judge.CheckpointTime(f.One(judge.CheckpointWrite), f.One(judge.CheckpointSync)), nil)
	timeout := f.Gauge(judge.CheckpointTimeout)
	f.PeriodS = c.PeriodS

	switch {
	case !math.IsNaN(c.PeriodS):
	case timeout > 0:
		f.PeriodS = timeout
	default:
		f.PeriodS = model.Defaults().CheckpointTimeout.Std().Seconds()
	}

	if err := f.Enough(commits, fit.Two(f.PeriodS), fit.Every(f.PeriodS)); err != nil {
		return err
	}

	f.settings(key, timeout, c)
	updated, inserted, deleted := f.Mean(judge.RowsUpdated), f.Mean(judge.RowsInserted),
		f.Mean(judge.RowsDeleted)
	total := timeline.Mean(commits)

	l := fit.Load{Ops: commits, How: fit.Measured, RateOf: "transactions ended",
		MixOf: "rows updated, inserted and deleted, assuming one changed row per transaction"}
	switch {
	case math.IsNaN(updated) && math.IsNaN(inserted):
		l.How, l.MixOf = fit.Assumed, "what transactions do (pg_stat_database_tup_*): all are assumed to be updates"
		l.Shares = []fit.Share{{Kind: "update", Rate: total}}
	default:
		// A row inserted together with an update is a history row, as in pgbench.
		u := min(updated+fit.Zero(deleted), total)
		i := min(max(inserted-u, 0), total-u)
		f.history(key, u, inserted)
		l.Shares = []fit.Share{{Kind: "update", Rate: u}, {Kind: "insert", Rate: i},
			{Kind: "read", Rate: max(total-u-i, 0)}}
	}

	if err := f.Arrivals(l); err != nil {
		return err
	}

	f.rows(l.Shares)
	return nil
}

// settings enters the settings from pg_settings.
func (f fitting) settings(key string, timeout float64, c fit.Cycles) {
	const said = "the server's setting"
	enter := func(field string, signal *rules.Signal, as func(float64) fit.Quantity, otherwise fit.Quantity) {
		x := f.Gauge(signal)
		if math.IsNaN(x) {
			f.Add(key+field, otherwise, fit.Assumed, "%s; PostgreSQL's default assumed",
				field).AsDefault().ToKnow("SHOW " + field)
			return
		}
		f.Add(key+field, as(x), fit.Measured, said)
	}

	d := model.Defaults()
	// Measured, then inferred, then assumed: the first that is available.
	switch {
	case timeout > 0:
		f.Add(key+"checkpoint_timeout", fit.Duration(timeout), fit.Measured, said)
	case !math.IsNaN(c.PeriodS):
		f.Add(key+"checkpoint_timeout", fit.Duration(c.PeriodS), fit.Inferred,
			"%d checkpoints ended every %s (median)", c.N, units.Seconds(c.PeriodS)).ToKnow("SHOW checkpoint_timeout")
	default:
		f.Add(key+"checkpoint_timeout", fit.Duration(d.CheckpointTimeout.Std().Seconds()), fit.Assumed,
			"checkpoint_timeout; PostgreSQL's default assumed").AsDefault().ToKnow("SHOW checkpoint_timeout")
	}

	enter("shared_buffers", judge.SharedBuffers, fit.Exactly, fit.Exactly(float64(d.SharedBuffers)))
	enter("checkpoint_completion_target", judge.CheckpointCompletionTarget, fit.Ratio,
		fit.Ratio(float64(d.CheckpointCompletionTarget)))
	enter("checkpoint_flush_after", judge.CheckpointFlushAfter, fit.Exactly,
		fit.Exactly(float64(d.CheckpointFlushAfter)))
	enter("max_wal_size", judge.MaxWALSize, fit.Exactly, fit.Exactly(float64(d.MaxWALSize)))
	enter("min_wal_size", judge.MinWALSize, fit.Exactly, fit.Exactly(float64(d.MinWALSize)))
	enter("bgwriter_flush_after", judge.BgwriterFlushAfter, fit.Exactly,
		fit.Exactly(float64(d.BgwriterFlushAfter)))
	// PostgreSQL's own default, -1: 1/32 of shared_buffers.
	enter("wal_buffers", judge.WALBuffers, fit.Exactly, fit.Exactly(float64(d.SharedBuffers/32)))
	enter("full_page_writes", judge.FullPageWrites, func(x float64) fit.Quantity { return fit.Boolean(x > 0) },
		fit.Boolean(d.FullPageWrites))
	enter("max_connections", judge.MaxConnections, fit.Count, fit.Count(float64(d.MaxConnections)))
}

// history enters whether each update also inserts a row.
func (f fitting) history(key string, updated, inserted float64) {
	d := model.Defaults()
	const with = 0.5 // of the updates
	// Not exactly one for each, because other transactions insert too and counters are read at
	// different times.
	if updated > 0 && inserted >= with*updated {
		f.Add(key+"history_row", fit.Exactly(float64(d.HistoryRow)),
			fit.Inferred, "%s rows inserted per second with %s updates: one for each, as in pgbench; its size is pgbench's",
			units.Number(inserted), units.Number(updated))
		return
	}
	f.Add(key+"history_row", fit.Exactly(0), fit.Inferred, "updates rarely inserted a row as well")
}

// rows enters the size and number of rows. If checkpoints keep writing the same pages, there are
// few.
func (f fitting) rows(shares []fit.Share) {
	config := model.Defaults()
	row := float64(config.Row - tupleHeader)
	f.Add("workload.document.size", fit.Exactly(row), fit.Assumed,
		"the size of a row; pgbench's assumed").ToKnow("SELECT avg(pg_column_size(t.*)) FROM table t")
	perPage := math.Floor(float64(model.PageSize-tupleHeader) / (math.Ceil(float64(config.Row)/8)*8 + 4))

	var updates float64
	for _, s := range shares {
		if s.Kind == "update" {
			updates = s.Rate
		}
	}

	const ask = "SELECT relname, n_live_tup FROM pg_stat_user_tables"
	written := f.Mean(judge.BuffersCheckpoint) + fit.Zero(f.Mean(judge.BuffersClean)) +
		fit.Zero(f.Mean(judge.BuffersBackend))
	pages := fit.Distinct(written*f.PeriodS, updates*f.PeriodS)

	size := f.Mean(judge.Database)
	switch {
	// The size of the databases bounds the number of rows from above.
	case size > 0:
		pages = size / float64(model.PageSize)
		f.Add("workload.keys.count", fit.Count(fit.Significant(pages*perPage)), fit.Inferred,
			"the databases take %s, at %s rows per page", units.Bytes(size), units.Number(perPage)).
			Between(math.NaN(), pages*perPage).ToKnow(ask)
	case pages > 0 && !math.IsInf(pages, 1):
		f.Add("workload.keys.count", fit.Count(fit.Significant(pages*perPage)),
			fit.Inferred, "%s updates between two checkpoints wrote %s pages, as if evenly spread over %s pages, at %s rows per page",
			units.Number(updates*f.PeriodS), units.Number(written*f.PeriodS), units.Number(pages),
			units.Number(perPage)).
			Between(written*f.PeriodS*perPage/3, math.NaN()).ToKnow(ask)
	default:
		pages = float64(config.Rows) / perPage
		v := f.Add("workload.keys.count", fit.Count(float64(config.Rows)), fit.Assumed,
			"the number of rows; pgbench's at scale 100 assumed").ToKnow(ask)
		// Distinct found no bound: every update wrote another page.
		if updates > 0 && written > 0 {
			pages = max(pages, updates*f.PeriodS)
			v.Set(fit.Count(fit.Significant(pages * perPage)))
			v.Evidence = "the number of rows; nearly every update between two checkpoints changed a different page, so there are many"
		}
	}

	f.Data = 1.5 * pages * float64(model.PageSize) // including the index
	f.Skew()
	f.Connections("the maximum number of concurrent operations; 100 assumed")
}
