package watch

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// connectionsMax bounds a server's open connections, so that clients cannot use up the file
// descriptors that the sources need.
const connectionsMax = 128

// connections tracks a server's connections. If there are too many, the one that has been in its
// current state the longest is closed: a client that stopped reading, or an idle one.
type connections struct {
	most int

	mu    sync.Mutex
	clock uint64
	since map[net.Conn]uint64
}

func newConnections(most int) *connections {
	return &connections{most: most, since: map[net.Conn]uint64{}}
}

// changed implements the ConnState callback of [http.Server].
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == http.StateClosed || state == http.StateHijacked {
		delete(c.since, conn)
		return
	}

	c.clock++
	c.since[conn] = c.clock
	if len(c.since) <= c.most {
		return
	}

	oldest := conn
	for other, since := range c.since {
		if since < c.since[oldest] {
			oldest = other
		}
	}

	// Remove it here: its callback for the closed state may come much later.
	delete(c.since, oldest)
	if t, ok := oldest.(*tls.Conn); ok {
		oldest = t.NetConn() // closing the TLS connection would wait for the client
	}

	_ = oldest.Close() // the client is dropped anyway
}
