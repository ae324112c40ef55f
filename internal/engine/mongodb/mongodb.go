// Package mongodb collects Plimsoll's support for MongoDB. This file lists its parts, which are in
// the packages below.
package mongodb

import (
	"context"
	"embed"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/engine/mongodb/advise"
	"plimsoll/internal/engine/mongodb/ftdc"
	"plimsoll/internal/engine/mongodb/judge"
	"plimsoll/internal/engine/mongodb/live"
	"plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/engine/mongodb/mongodlog"
	"plimsoll/internal/engine/mongodb/saved"
	"plimsoll/internal/engine/mongodb/statcolumns"
	"plimsoll/internal/engine/parts"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/serverlog"
	"plimsoll/internal/record/source"
)

//go:embed profiles/*.yaml
var profiles embed.FS

// Engine is MongoDB.
var Engine = parts.Engine{
	Engine: model.Spec,
	Source: recognise.Engine{
		Schemes: []string{"mongodb", "mongodb+srv"}, Port: "27017",
		Open: func(ctx context.Context, address string, opt recognise.LiveOptions) (source.Source, error) {
			return live.Open(ctx, address,
				live.Options{Insecure: opt.Insecure, Getenv: opt.Getenv, Within: opt.Within})
		},
		Captures: []recognise.Capture{{
			Name: "MongoDB's diagnostic data", Holds: "MongoDB's metrics.* files, directly or in diagnostic.data",
			Whole: "the whole diagnostic.data folder", Sniff: ftdc.Sniff,
			Open: func(path string) (source.Source, error) { return ftdc.Open(path) },
		}},
		Texts: []recognise.Text{{Sniff: statcolumns.Sniff, New: statcolumns.New}, {Sniff: saved.Sniff,
			New: saved.New}},
		// percona/mongodb_exporter's page.
		Exporters: []exposition.Exporter{{Engine: "mongodb", Prefix: "mongodb",
			VersionMetric: "mongodb_version_info", VersionLabel: "mongodb"}},
		Logs:     []*serverlog.Format{&mongodlog.Format},
		Looks:    looks,
		Programs: []string{"mongod"}, Names: []string{"mongo", "mongosh"}, DataFolder: live.DataFolder,
		Configured: live.Configured, ConfiguredPort: live.ConfiguredPort,
	},
	Rules: judge.Knowledge,
	Fit: &fit.Engine{
		Fit: advise.Fit, LogSyncs: advise.LogSyncs,
		DeviceMetric: "mongodb_sys_disks_writes", DeviceMetricFrom: "diagnostic.data of a mongod on Linux",
	},
	Start:      &advise.Start,
	Plan:       advise.Plan,
	Deployment: advise.Deployment,
	Container:  advise.Container,
	Profiles:   profiles,
}

var looks = []recognise.Look{
	// WT_BLOCK_MAGIC, 120897 in little endian (WiredTiger: block.h).
	{Is: recognise.Starts("\x41\xd8\x01\x00"),
		Text: "is one of WiredTiger's own files: give the diagnostic.data folder in the dbPath"},
	{Is: recognise.Matches(`^\s*\{\s*"t":\s*\{\s*"\$date":`),
		Text: "is mongod's log with each entry on several lines: put each on one line again with jq -c . FILE"},
	{Is: recognise.Matches(`^\s*\[\s*\{\s*"t":\s*\{\s*"\$date":`),
		Text: "is mongod's log as one array: put each entry on a line again with jq -c '.[]' FILE"},
}
