package iris

import (
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/source"
)

// monitor is the web application whose page /metrics is.
const monitor = "/api/monitor"

// Exporters implements sources.Exporting. By default the page asks nobody who they are
// (InterSystems IRIS documentation, "Monitoring InterSystems IRIS via REST").
func (Engine) Exporters() []exposition.Exporter {
	return []exposition.Exporter{{
		Engine: "iris", Prefix: "iris", Product: "IRIS", Page: monitor + "/metrics", Below: monitor,
		Refused: "IRIS lets in whom its web application " + monitor + " does (Management Portal: System Administration, Security, Applications, Web Applications: allowed authentication methods, and the resource it requires): give such a user by " +
			source.EnvUser + " and " + source.EnvPassword,
	}}
}
