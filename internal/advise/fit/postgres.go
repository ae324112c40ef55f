package fit

import (
	"math"

	"plimsoll/internal/base/units"
	model "plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/record/timeline"
)

// tupleHeader is a row's header (PostgreSQL 15 documentation, 73.6.1).
const tupleHeader = 24

const postgresExporter = "postgres_exporter gives it (--collector.stat_bgwriter and --collector.database are on by default; settings are pg_settings_*)"

// postgres enters a PostgreSQL.
func (f *fitting) postgres() error {
	commits := f.one("postgres_commits:rate")
	if commits == nil {
		return &MissingError{What: "what is asked of the database", Metrics: []string{"pg_stat_database_xact_commit", "pg_stat_database_xact_commit_total"}, From: postgresExporter}
	}
	key := "engine.postgres."
	c := f.endings(sum(f.one("postgres_checkpoint_write:ratio"), f.one("postgres_checkpoint_sync:ratio")), nil)
	timeout := f.gauge("postgres_checkpoint_timeout:seconds")
	f.periodS = c.periodS
	switch {
	case !math.IsNaN(c.periodS):
	case timeout > 0:
		f.periodS = timeout
	default:
		f.periodS = model.Defaults().CheckpointTimeout.Std().Seconds()
	}
	if err := f.enough(commits, two(f.periodS), every(f.periodS)); err != nil {
		return err
	}
	f.settings(key, timeout, c)
	updated, inserted, deleted := f.mean("postgres_rows_updated:rate"), f.mean("postgres_rows_inserted:rate"), f.mean("postgres_rows_deleted:rate")
	total := timeline.Mean(commits)
	l := load{ops: commits, how: Measured, rateOf: "transactions ended", mixOf: "rows updated, inserted and deleted, of which a transaction is taken to change one"}
	switch {
	case math.IsNaN(updated) && math.IsNaN(inserted):
		l.how, l.mixOf = Assumed, "what transactions do (pg_stat_database_tup_*): each is taken for an update"
		l.shares = []share{{"update", total}}
	default:
		// A row that is inserted beside an update is a history's, as in pgbench.
		u := min(updated+zero(deleted), total)
		i := min(max(inserted-u, 0), total-u)
		f.history(key, u, inserted)
		l.shares = []share{{"update", u}, {"insert", i}, {"read", max(total-u-i, 0)}}
	}
	if err := f.arrivals(l); err != nil {
		return err
	}
	f.rows(l.shares)
	return nil
}

func zero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// sum adds two signals; one that is missing counts as nothing.
func sum(a, b []float64) []float64 {
	if a == nil {
		return b
	}
	out := make([]float64, len(a))
	for k := range a {
		out[k] = a[k]
		if b != nil {
			out[k] += b[k]
		}
	}
	return out
}

// settings enters what pg_settings tells.
func (f *fitting) settings(key string, timeout float64, c cycles) {
	const said = "the server's setting"
	tell := func(field, signal string, as func(float64) quantity, otherwise quantity) {
		x := f.gauge(signal)
		if math.IsNaN(x) {
			f.add(key+field, otherwise, Assumed, "%s; PostgreSQL's default taken", field).left().measure("SHOW " + field)
			return
		}
		f.add(key+field, as(x), Measured, said)
	}
	d := model.Defaults()
	switch {
	case timeout > 0:
		f.add(key+"checkpoint_timeout", duration(timeout), Measured, said)
	case !math.IsNaN(c.periodS):
		f.add(key+"checkpoint_timeout", duration(c.periodS), Inferred, "%d checkpoints ended every %s (median)", c.n, units.Seconds(c.periodS)).measure("SHOW checkpoint_timeout")
	default:
		f.add(key+"checkpoint_timeout", duration(d.CheckpointTimeout.Std().Seconds()), Assumed, "checkpoint_timeout; PostgreSQL's default taken").left().measure("SHOW checkpoint_timeout")
	}
	tell("shared_buffers", "postgres_shared_buffers:bytes", exactly, exactly(float64(d.SharedBuffers)))
	tell("checkpoint_completion_target", "postgres_checkpoint_completion_target:ratio", ratio, ratio(float64(d.CheckpointCompletionTarget)))
	tell("checkpoint_flush_after", "postgres_checkpoint_flush_after:bytes", exactly, exactly(float64(d.CheckpointFlushAfter)))
	tell("max_wal_size", "postgres_max_wal_size:bytes", exactly, exactly(float64(d.MaxWALSize)))
	tell("min_wal_size", "postgres_min_wal_size:bytes", exactly, exactly(float64(d.MinWALSize)))
	tell("bgwriter_flush_after", "postgres_bgwriter_flush_after:bytes", exactly, exactly(float64(d.BgwriterFlushAfter)))
	tell("wal_buffers", "postgres_wal_buffers:bytes", exactly, exactly(float64(d.SharedBuffers/32)))
	tell("full_page_writes", "postgres_full_page_writes:bool", func(x float64) quantity { return boolean(x > 0) }, boolean(d.FullPageWrites))
	tell("max_connections", "postgres_max_connections:count", count, count(float64(d.MaxConnections)))
}

// history enters whether an update inserts a row beside it.
func (f *fitting) history(key string, updated, inserted float64) {
	d := model.Defaults()
	const with = 0.5 // of the updates
	if updated > 0 && inserted >= with*updated {
		f.add(key+"history_row", exactly(float64(d.HistoryRow)), Inferred, "%s rows were inserted a second beside %s updates: one with each, as pgbench does; its size is pgbench's",
			units.Number(inserted), units.Number(updated))
		return
	}
	f.add(key+"history_row", exactly(0), Inferred, "hardly a row was inserted beside an update")
}

// rows enters how large they are and how many: pages that checkpoints write again and again are few.
func (f *fitting) rows(shares []share) {
	d := model.Defaults()
	row := float64(d.Row - tupleHeader)
	f.add("workload.document.size", exactly(row), Assumed, "the size of a row; pgbench's taken").measure("SELECT avg(pg_column_size(t.*)) FROM table t")
	perPage := math.Floor(float64(model.PageSize-tupleHeader) / (math.Ceil(float64(d.Row)/8)*8 + 4))
	var updates float64
	for _, s := range shares {
		if s.kind == "update" {
			updates = s.rate
		}
	}
	const ask = "SELECT relname, n_live_tup FROM pg_stat_user_tables"
	written := f.mean("postgres_buffers_checkpoint:rate") + zero(f.mean("postgres_buffers_clean:rate")) + zero(f.mean("postgres_buffers_backend:rate"))
	pages := distinct(written*f.periodS, updates*f.periodS)
	size := f.mean("postgres_database:bytes")
	switch {
	case size > 0:
		pages = size / float64(model.PageSize)
		f.add("workload.keys.count", count(significant(pages*perPage)), Inferred, "the databases are of %s, at %s rows a page", units.Bytes(size), units.Number(perPage)).
			between(math.NaN(), pages*perPage).measure(ask)
	case pages > 0 && !math.IsInf(pages, 1):
		f.add("workload.keys.count", count(significant(pages*perPage)), Inferred, "%s updates between two checkpoints wrote %s pages, as of %s that are asked for evenly, at %s rows a page",
			units.Number(updates*f.periodS), units.Number(written*f.periodS), units.Number(pages), units.Number(perPage)).
			between(written*f.periodS*perPage/3, math.NaN()).measure(ask)
	default:
		pages = float64(d.Rows) / perPage
		v := f.add("workload.keys.count", count(float64(d.Rows)), Assumed, "how many rows there are; pgbench's at scale 100 taken").measure(ask)
		if updates > 0 && written > 0 {
			pages = max(pages, updates*f.periodS)
			v.Text, *v.Number = count(significant(pages*perPage)).text, significant(pages*perPage)
			v.Evidence = "how many rows there are; nearly every update between two checkpoints met another page, so there are many"
		}
	}
	f.data = 1.5 * pages * float64(model.PageSize) // with its index
	f.skew()
	f.connections()
}
