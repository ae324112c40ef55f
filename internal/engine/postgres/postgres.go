// Package postgres collects Plimsoll's support for PostgreSQL. This file assembles the
// parts from the packages below.
package postgres

import (
	"embed"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/engine/parts"
	"plimsoll/internal/engine/postgres/advise"
	"plimsoll/internal/engine/postgres/fsynctext"
	"plimsoll/internal/engine/postgres/judge"
	"plimsoll/internal/engine/postgres/live"
	"plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/engine/postgres/pgbenchtext"
	"plimsoll/internal/engine/postgres/pglog"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/serverlog"
)

//go:embed profiles/*.yaml
var profiles embed.FS

// Engine is PostgreSQL.
var Engine = parts.Engine{
	Engine: model.Spec,
	Source: recognise.Engine{
		Schemes: []string{"postgres", "postgresql"}, Port: "5432", // libpq accepts both
		Open: live.Open,
		// The output of PostgreSQL's own sync benchmark.
		Captures: []recognise.Capture{{Name: "a report of pg_test_fsync", Whole: "the text itself",
			Sniff: fsynctext.Sniff, Open: fsynctext.Format.Open}},
		Texts: []recognise.Text{
			{Sniff: pgbenchtext.SniffReport, New: pgbenchtext.Report.NewLog},
			{Sniff: pgbenchtext.SniffLog, New: pgbenchtext.Log.NewLog},
			{Sniff: pgbenchtext.SniffAggregated, New: pgbenchtext.Aggregated.NewLog},
		},
		// postgres_exporter's page.
		Exporters: []exposition.Exporter{{Engine: "postgres", Prefix: "pg", VersionMetric: "pg_static",
			VersionLabel: "short_version"}},
		Logs:     []*serverlog.Format{&pglog.Format},
		Programs: []string{"postgres"}, Names: []string{"pg", "pgsql", "psql", "postmaster"},
		DataFolder: live.DataFolder, Configured: live.Configured, ConfiguredPort: live.ConfiguredPort,
	},
	Rules:      judge.Knowledge,
	Fit:        &fit.Engine{Fit: advise.Fit},
	Start:      &advise.Start,
	Plan:       advise.Plan,
	Deployment: advise.Deployment,
	Container:  advise.Container,
	FileNames:  live.FileNames,
	Profiles:   profiles,
}
