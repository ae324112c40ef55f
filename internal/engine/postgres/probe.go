package postgres

import (
	"embed"
	"io/fs"
)

//go:embed profiles/*.yaml
var profiles embed.FS

// Profiles implements probe.Profiler.
func (Engine) Profiles() fs.FS { return profiles }
