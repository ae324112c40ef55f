package casebook

import engines "plimsoll/internal/engine"

var profilers = engines.All().Plans()
