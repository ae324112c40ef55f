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
	servers map[string]*listener
}

// DialContext connects to a server by its address. It implements the driver's
// options.ContextDialer.
func (w *Wire) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	w.mu.Lock()
	l := w.servers[address]
	w.mu.Unlock()

	if l != nil {
		near, far := net.Pipe()
		select {
		case l.calls <- far:
			l.keep(far)
			return near, nil
		case <-l.closed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}

	return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: addr(address), Err: syscall.ECONNREFUSED}
}

// Start serves at an address. The returned function stops the server and closes its connections.
func (w *Wire) Start(address string, s *Server) (stop func()) {
	l := &listener{address: address, calls: make(chan net.Conn), closed: make(chan struct{})}
	w.mu.Lock()
	if w.servers == nil {
		w.servers = map[string]*listener{}
	}

	w.servers[address] = l
	w.mu.Unlock()
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(l) }()

	return func() {
		w.mu.Lock()
		delete(w.servers, address)
		w.mu.Unlock()
		l.Close()
		<-done
	}
}

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

type listener struct {
	address string
	calls   chan net.Conn
	closed  chan struct{}

	mu    sync.Mutex
	conns []net.Conn
}

func (l *listener) keep(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, c)
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.calls:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	close(l.closed)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
	return nil
}

func (l *listener) Addr() net.Addr { return addr(l.address) }
