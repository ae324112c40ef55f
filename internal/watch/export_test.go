package watch

import (
	"net"
	"net/http"
	"testing"
	"time"
)

const ConnectionsMax = connectionsMax

// Connections is a server's ConnState that allows so many connections.
func Connections(most int) func(net.Conn, http.ConnState) { return newConnections(most).changed }

// AnswerWithin shortens the bound of one answer until the test ends.
func AnswerWithin(t *testing.T, d time.Duration) {
	before := answerWithin
	answerWithin = d
	t.Cleanup(func() { answerWithin = before })
}
