package iris

import (
	"plimsoll/internal/engine/iris/judge"
	"plimsoll/internal/judge/rules"
)

// Rules is what recordings of it are judged by.
func (Engine) Rules() rules.Knowledge { return judge.Knowledge() }
