package mongotest

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// A Wire is a network within a process, for tests in a bubble of testing/synctest, in which a real
// network would not count as waiting. Its zero value has no servers.
type Wire struct {
	mu      sync.Mutex
	servers map[string]*wired
}

// A wired is a server with its connections.
type wired struct {
	server *Server
	conns  []net.Conn
}

// DialContext connects to a server by its address. It implements the driver's
// options.ContextDialer.
func (w *Wire) DialContext(_ context.Context, _, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	to := w.servers[address]
	if to == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: addr(address), Err: syscall.ECONNREFUSED}
	}

	near, far := net.Pipe()
	to.conns = append(to.conns, far)
	go to.server.converse(far)
	return near, nil
}

// Start serves at an address. The returned function stops the server and closes its connections.
func (w *Wire) Start(address string, s *Server) (stop func()) {
	s.reset(address)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.servers == nil {
		w.servers = map[string]*wired{}
	}

	w.servers[address] = &wired{server: s}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range w.servers[address].conns {
			_ = c.Close()
		}
		delete(w.servers, address)
	}
}

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }
