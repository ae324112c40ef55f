package live

import (
	"net"
	"strings"
	"sync/atomic"
)

// A listening connection watches whether a server without TLS wants the password in clear text:
// everyone on the way can read that. (PostgreSQL, protocol: AuthenticationCleartextPassword.)
type listening struct {
	net.Conn
	asked *atomic.Bool
	head  []byte
}

// clearTextPassword is the server's message: its type, its length, and what it wants.
const clearTextPassword = "R\x00\x00\x00\x08\x00\x00\x00\x03"

// Read implements [net.Conn].
func (c *listening) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if room := len(clearTextPassword) + 1 - len(c.head); room > 0 {
		c.head = append(c.head, p[:min(n, room)]...)
		// An N before it refuses TLS.
		if strings.HasPrefix(strings.TrimPrefix(string(c.head), "N"), clearTextPassword) {
			c.asked.Store(true)
		}
	}
	return n, err
}

// remote reports whether what is sent to the server leaves this machine.
func (t *target) remote() bool {
	ip := net.ParseIP(t.config.Host)
	return !t.socket() && t.config.Host != "localhost" && (ip == nil || !ip.IsLoopback())
}
