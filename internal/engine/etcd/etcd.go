// Package etcd contains everything Plimsoll knows about etcd. This file assembles the parts from
// the packages below.
package etcd

import (
	"embed"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/engine/etcd/advise"
	"plimsoll/internal/engine/etcd/endpoint"
	"plimsoll/internal/engine/etcd/etcdlog"
	"plimsoll/internal/engine/etcd/judge"
	"plimsoll/internal/engine/etcd/live"
	"plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/engine/etcd/perftext"
	"plimsoll/internal/engine/parts"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/serverlog"
)

//go:embed profiles/*.yaml
var profiles embed.FS

// Engine is etcd.
var Engine = parts.Engine{
	Engine: model.Spec,
	Source: recognise.Engine{
		Schemes: []string{"etcd", "etcds"}, Port: endpoint.Port, // etcds is with TLS
		OwnCredentials: true, // etcdctl's
		Open:           live.Open,
		Captures: []recognise.Capture{{Name: "a report of etcdctl check perf", Whole: "the text itself",
			Sniff: perftext.Sniff, Open: perftext.Format.Open}},
		Exporters: []exposition.Exporter{live.Exporter},
		Logs:      []*serverlog.Format{&etcdlog.Format},
		Programs:  []string{"etcd"}, Names: []string{"etcdctl"}, DataFolder: live.DataFolder,
		Configured: live.Configured, ConfiguredPort: live.ClientURLs,
	},
	Rules:      judge.Knowledge,
	Fit:        &fit.Engine{Fit: advise.Fit, LogSyncs: advise.LogSyncs, Leader: advise.Leader},
	Start:      &advise.Start,
	Plan:       advise.Plan,
	Deployment: advise.Deployment,
	Container:  advise.Container,
	Profiles:   profiles,
}
