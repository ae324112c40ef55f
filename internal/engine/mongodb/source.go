package mongodb

import (
	"context"

	"plimsoll/internal/engine/mongodb/live"
	"plimsoll/internal/engine/mongodb/names"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/ftdc"
	"plimsoll/internal/record/source"
	"plimsoll/internal/record/sources"
)

// Schemes implements sources.Live.
func (Engine) Schemes() []string { return []string{"mongodb", "mongodb+srv"} }

// Port implements sources.Live.
func (Engine) Port() string { return "27017" }

// OpenLive implements sources.Live.
func (Engine) OpenLive(ctx context.Context, address string, opt sources.LiveOptions) (source.Source, error) {
	return live.Open(ctx, address, live.Options{Insecure: opt.Insecure, Getenv: opt.Getenv, Within: opt.Within})
}

// Captures implements sources.Capturing.
func (Engine) Captures() []sources.Capture {
	return []sources.Capture{{
		Name: "MongoDB's diagnostic data", Holds: "MongoDB's metrics.* files, in it or in its diagnostic.data",
		Whole: "the whole diagnostic.data folder", Sniff: ftdc.Sniff,
		Open: func(path string) (source.Source, error) { return ftdc.Open(path, names.Server) },
	}}
}

// Exporters implements sources.Exporting: percona/mongodb_exporter's page.
func (Engine) Exporters() []exposition.Exporter {
	return []exposition.Exporter{{Engine: "mongodb", Prefix: "mongodb", VersionMetric: "mongodb_version_info", VersionLabel: "mongodb"}}
}

// Looks implements sources.Recognizing.
func (Engine) Looks() []sources.Look {
	return []sources.Look{
		// WT_BLOCK_MAGIC, 120897 in little endian (WiredTiger: block.h).
		{Is: sources.Starts("\x41\xd8\x01\x00"), Text: "is one of WiredTiger's own files: give the diagnostic.data folder that lies in the dbPath"},
		{
			Is:   sources.Matches(`(?m)^insert +query +update +delete +getmore +command`),
			Text: "is mongostat's output, which has rates but no latencies: give the diagnostic.data folder of the same server, which mongod writes by itself",
		},
		{
			Is:   sources.Matches(`^\{"t":\{"\$date"`),
			Text: "is a mongod log, which tells slow operations but no disk or cache figures: give the diagnostic.data folder of the same server",
		},
		{
			Is:   sources.Matches(`^\d{4}-\d\d-\d\dT[\d:.+-]+Z? +[IWEFD]\d? +[A-Z]+ `),
			Text: "is a mongod log of before 4.4, which tells no disk or cache figures: give the diagnostic.data folder of the same server",
		},
	}
}
