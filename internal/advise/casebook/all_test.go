package casebook

import "plimsoll/internal/engine"

var profilers = engine.All().Plans()
