package model

import (
	"plimsoll/internal/engine/enginetest"
	"plimsoll/internal/engine/etcd/judge"
)

// pack is what recordings of this engine are judged by.
var pack = enginetest.Pack("etcd", "etcd", judge.Knowledge())
