package hostile

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// A Behaviour is what a man in the middle does to a server's output.
type Behaviour int

// The behaviours. Each begins after a number of bytes, so that every step of a conversation has its
// turn.
const (
	Mutates Behaviour = iota // changes bytes
	Resets                   // closes with a reset
	Closes                   // closes as if all had been sent
	Hangs                    // sends nothing more
	Drips                    // sends a byte every second
	Repeats                  // repeats its last bytes endlessly
	Floods                   // sends random bytes endlessly
	Skips                    // leaves bytes out
	Behaviours
)

var names = [...]string{"mutates", "resets", "closes", "hangs", "drips", "repeats", "floods", "skips"}

func (b Behaviour) String() string { return names[b] }

const (
	// dripEvery and floodBytesMax limit the cost of one connection for the machine that runs the test.
	dripEvery     = time.Second
	floodBytesMax = 2 << 30
)

// A Plan is what a man in the middle does.
type Plan struct {
	Behaviour Behaviour
	After     int64 // bytes that each connection passes on unchanged
	Seed      uint64
}

// Middle listens on a local port and passes connections on to the server at an address, as the plan
// specifies. It returns its own address. It ends with the test.
func Middle(t testing.TB, server string, p Plan) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	m := &middle{server: server, plan: p, closed: make(chan struct{})}
	m.wait.Go(func() { m.accept(l) })
	t.Cleanup(func() {
		close(m.closed)
		_ = l.Close()
		m.end()
		m.wait.Wait()
	})

	return l.Addr().String()
}

type middle struct {
	server string
	plan   Plan
	closed chan struct{}
	wait   sync.WaitGroup

	mu   sync.Mutex
	open []net.Conn
}

// keep arranges for a connection to be closed at the end of the test; it returns false after that.
func (m *middle) keep(c net.Conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.closed:
		_ = c.Close()
		return false
	default:
		m.open = append(m.open, c)
		return true
	}
}

func (m *middle) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.open {
		_ = c.Close()
	}
}

func (m *middle) accept(l net.Listener) {
	for n := uint64(0); ; n++ {
		client, err := l.Accept()
		if err != nil {
			return
		}

		if !m.keep(client) {
			return
		}

		server, err := net.Dial("tcp", m.server) //nolint:noctx // closed by end
		if err != nil {
			_ = client.Close()
			continue
		}
		if !m.keep(server) {
			return
		}

		// The client's half is passed on unchanged, so the server answers as usual.
		m.wait.Go(func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		})
		m.wait.Go(func() {
			m.answer(client, server, rand.New(rand.NewPCG(m.plan.Seed, n))) //nolint:gosec // a test
			_ = client.Close()
			_ = server.Close()
		})
	}
}

// answer passes the server's half on, until it is time to misbehave.
func (m *middle) answer(client, server net.Conn, r *rand.Rand) {
	var last []byte
	buf := make([]byte, 32<<10)
	for passed := int64(0); ; {
		n, err := server.Read(buf)
		chunk := buf[:n]

		// The chunk in which the plan's number of bytes is reached is split there.
		if good := m.plan.After - passed; good < int64(n) {
			if good > 0 {
				if _, e := client.Write(chunk[:good]); e != nil {
					return
				}
				last, chunk = append(last, chunk[:good]...), chunk[good:]
			}
			if !m.misbehave(client, chunk, last, r) {
				return
			}
		} else if _, e := client.Write(chunk); e != nil {
			return
		}

		passed += int64(n)
		// A window of the last bytes is kept, to repeat them.
		if last = append(last, chunk...); len(last) > len(buf) {
			last = last[len(last)-len(buf):]
		}
		// The data read before the error has been passed on.
		if err != nil {
			return
		}
	}
}

// misbehave sends a chunk as the plan specifies, and reports whether there may be more.
func (m *middle) misbehave(client net.Conn, chunk, last []byte, random *rand.Rand) bool {
	switch m.plan.Behaviour {
	case Mutates:
		// About one byte in 200: enough to hit each message, and not so many that none is parsed.
		for range 1 + len(chunk)/200 {
			if len(chunk) > 0 {
				chunk[random.IntN(len(chunk))] ^= byte(1 + random.IntN(255))
			}
		}
		_, err := client.Write(chunk)
		return err == nil

	case Skips:
		if len(chunk) > 1 {
			// The three-index slice forces a copy: the caller still needs the whole chunk.
			at := random.IntN(len(chunk) - 1)
			chunk = append(chunk[:at:at], chunk[min(len(chunk), at+1+random.IntN(64)):]...)
		}
		_, err := client.Write(chunk)
		return err == nil

	case Resets:
		if tcp, ok := client.(*net.TCPConn); ok {
			// Without lingering, close sends RST instead of FIN.
			_ = tcp.SetLinger(0)
		}

	case Hangs:
		<-m.closed

	case Drips:
		for _, b := range chunk {
			select {
			case <-m.closed:
				return false
			case <-time.After(dripEvery):
			}
			if _, err := client.Write([]byte{b}); err != nil {
				return false
			}
		}
		return true

	case Repeats, Floods:
		m.flood(client, append(last, chunk...), random)
	}

	return false
}

// flood sends endlessly: the last bytes, or random ones.
func (m *middle) flood(client net.Conn, last []byte, r *rand.Rand) {
	if m.plan.Behaviour == Floods || len(last) == 0 {
		last = make([]byte, 64<<10)
		for i := range last {
			last[i] = byte(r.IntN(256))
		}
	}

	for sent := 0; sent < floodBytesMax; {
		n, err := client.Write(last)
		sent += n
		if err != nil && !errors.Is(err, io.ErrShortWrite) {
			return
		}
	}

	<-m.closed
}
