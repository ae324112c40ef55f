// Package streams collects Plimsoll's support for I/O streams. This file lists its parts, which are
// in the packages below.
package streams

import (
	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/fit"
	"plimsoll/internal/engine/parts"
	"plimsoll/internal/engine/streams/advise"
	"plimsoll/internal/engine/streams/model"
)

// Engine is I/O streams. They are not a database: no rule judges their recordings, and a benchmark
// has no configuration.
var Engine = parts.Engine{
	Engine:     model.Spec,
	Fit:        &fit.Engine{Fit: advise.Fit},
	Plan:       advise.Plan,
	Deployment: func() emit.Deployment { return emit.Deployment{} },
}
