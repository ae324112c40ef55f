package etcd

import (
	"context"

	"plimsoll/internal/engine/etcd/endpoint"
	"plimsoll/internal/engine/etcd/live"
	"plimsoll/internal/engine/etcd/perftext"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/source"
	"plimsoll/internal/record/sources"
)

// Schemes implements sources.Live: etcds is with TLS.
func (Engine) Schemes() []string { return []string{"etcd", "etcds"} }

// Port implements sources.Live.
func (Engine) Port() string { return endpoint.Port }

// OpenLive implements sources.Live.
func (Engine) OpenLive(_ context.Context, address string, opt sources.LiveOptions) (source.Source, error) {
	return live.Open(address, live.Options{Insecure: opt.Insecure, Getenv: opt.Getenv, Within: opt.Within})
}

// Exporters implements sources.Exporting.
func (Engine) Exporters() []exposition.Exporter { return []exposition.Exporter{live.Exporter} }

// Looks implements sources.Recognizing.
func (Engine) Looks() []sources.Look {
	return []sources.Look{
		{Is: sources.Matches(`^\{"level":"(info|warn|error|debug)","ts":"`), Text: "is an etcd log: give what etcd shows under /metrics"},
	}
}

// Captures implements sources.Capturing: what etcdctl's own check printed.
func (Engine) Captures() []sources.Capture {
	return []sources.Capture{{Name: "a report of etcdctl check perf", Whole: "the text itself", Sniff: perftext.Sniff, Open: perftext.Format.Open}}
}
