package model

import (
	"plimsoll/internal/engine/enginetest"
	"plimsoll/internal/engine/postgres/judge"
)

// pack is what recordings of this engine are judged by.
var pack = enginetest.Pack("postgres", "PostgreSQL", judge.Knowledge())
