package streams

import "plimsoll/internal/advise/emit"

// Deployment is how the volumes are deployed: a benchmark has no configuration of its own.
func (Engine) Deployment() emit.Deployment { return emit.Deployment{} }
