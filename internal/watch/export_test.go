package watch

import (
	"testing"
	"time"
)

const ConnectionsMax = connectionsMax

// AnswerWithin shortens the bound of one answer until the test ends.
func AnswerWithin(t *testing.T, d time.Duration) {
	before := answerWithin
	answerWithin = d
	t.Cleanup(func() { answerWithin = before })
}
