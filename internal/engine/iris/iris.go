// Package iris collects Plimsoll's support for InterSystems IRIS. This file lists its parts, which
// are in the packages below.
package iris

import (
	"embed"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/engine/iris/advise"
	"plimsoll/internal/engine/iris/judge"
	"plimsoll/internal/engine/iris/model"
	"plimsoll/internal/engine/parts"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/source"
)

//go:embed profiles/*.yaml
var profiles embed.FS

// monitor is the web application that serves /metrics. By default it needs no login (InterSystems
// IRIS documentation, "Monitoring InterSystems IRIS via REST").
const monitor = "/api/monitor"

// Engine is InterSystems IRIS.
var Engine = parts.Engine{
	Engine: model.Spec,
	Source: recognise.Engine{Exporters: []exposition.Exporter{{
		Engine: "iris", Prefix: "iris", Product: "IRIS", Page: monitor + "/metrics", Below: monitor,
		Refused: "IRIS admits the users that its web application " + monitor +
			" allows (Management Portal: System Administration, Security, Applications, Web Applications: allowed authentication methods, and the resource it requires): give such a user in " +
			source.EnvUser + " and " + source.EnvPassword,
	}}},
	Rules:      judge.Knowledge,
	Fit:        &fit.Engine{Fit: advise.Fit},
	Start:      &advise.Start,
	Plan:       advise.Plan,
	Deployment: advise.Deployment,
	Container:  advise.Container,
	Profiles:   profiles,
}
