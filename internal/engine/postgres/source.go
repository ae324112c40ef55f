package postgres

import (
	"context"

	"plimsoll/internal/engine/postgres/fsynctext"
	"plimsoll/internal/engine/postgres/live"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/source"
	"plimsoll/internal/record/sources"
)

// Schemes implements sources.Live: libpq takes both.
func (Engine) Schemes() []string { return []string{"postgres", "postgresql"} }

// Port implements sources.Live.
func (Engine) Port() string { return "5432" }

// OpenLive implements sources.Live.
func (Engine) OpenLive(_ context.Context, address string, opt sources.LiveOptions) (source.Source, error) {
	return live.Open(address, live.Options{Insecure: opt.Insecure, Getenv: opt.Getenv, Within: opt.Within})
}

// Exporters implements sources.Exporting: postgres_exporter's page.
func (Engine) Exporters() []exposition.Exporter {
	return []exposition.Exporter{{Engine: "postgres", Prefix: "pg", VersionMetric: "pg_static", VersionLabel: "short_version"}}
}

// Looks implements sources.Recognizing.
func (Engine) Looks() []sources.Look {
	return []sources.Look{
		{
			Is:   sources.Matches(`(?m)^\d{4}-\d\d-\d\d [\d:.]+ \S+ \[\d+\].*(LOG|ERROR|FATAL|WARNING|STATEMENT): `),
			Text: "is a PostgreSQL log: give what its exporter shows under /metrics, and an iostat log",
		},
		{
			Is:   sources.Matches(`(?m)^progress: [\d.]+ s, [\d.]+ tps, `),
			Text: "is pgbench's progress, which has the clients' side only: run plimsoll record postgres://HOST host --out FOLDER meanwhile and give the folder",
		},
	}
}

// Captures implements sources.Capturing: what PostgreSQL's own benchmark of syncs printed.
func (Engine) Captures() []sources.Capture {
	return []sources.Capture{{Name: "a report of pg_test_fsync", Whole: "the text itself", Sniff: fsynctext.Sniff, Open: fsynctext.Format.Open}}
}
