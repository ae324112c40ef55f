package watch

import (
	"net"
	"net/http"
	"testing"
	"time"
)

const ConnectionsMax = connectionsMax

// Connections returns a ConnState callback that allows this many connections.
func Connections(most int) func(net.Conn, http.ConnState) { return newConnections(most).changed }

// AnswerWithin changes the time limit of an answer until the test ends.
func AnswerWithin(t *testing.T, d time.Duration) {
	before := answerWithin
	answerWithin = d
	t.Cleanup(func() { answerWithin = before })
}
