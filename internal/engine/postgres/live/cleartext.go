package live

import (
	"net"
	"strings"
	"sync/atomic"
)

// A listening connection detects whether a server without TLS requests the password in clear text,
// which anyone on the network path can read (PostgreSQL, protocol:
// AuthenticationCleartextPassword).
type listening struct {
	net.Conn
	asked *atomic.Bool
	head  []byte
}

// clearTextPassword is the server's message: type, length and authentication method.
const clearTextPassword = "R\x00\x00\x00\x08\x00\x00\x00\x03"

// Read implements [net.Conn].
func (c *listening) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if room := len(clearTextPassword) + 1 - len(c.head); room > 0 {
		c.head = append(c.head, p[:min(n, room)]...)
		// A preceding N is the refusal of TLS.
		if strings.HasPrefix(strings.TrimPrefix(string(c.head), "N"), clearTextPassword) {
			c.asked.Store(true)
		}
	}
	return n, err
}

// remote reports whether traffic to the server leaves this machine.
func (t *target) remote() bool {
	ip := net.ParseIP(t.config.Host)
	return !t.socket() && t.config.Host != "localhost" && (ip == nil || !ip.IsLoopback())
}
