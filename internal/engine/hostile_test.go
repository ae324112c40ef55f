package engine_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// This is the suite of hostile servers: every live source against every hostility, over real
// connections on loopback. A source must end with one clear error that names the server, must limit
// its memory, must hang up on endless answers, and must show no secret.

// password is in every address. No part of it may appear in any text.
const password = "qZx7#w9Kv"

// A kind is a live source.
type kind struct {
	name    string
	address string // %s is host:port
}

var kinds = []kind{
	{"mongodb", "mongodb://me:" + password + "@%s/"},
	{"mongodb open", "mongodb://%s/"},
	{"mongodb set", "mongodb://me:" + password + "@%s/?replicaSet=rs"},
	{"mongodb TLS", "mongodb://me:" + password + "@%s/?tls=true&tlsInsecure=true"},
	{"postgres", "postgres://me:" + password + "@%s/shop"},
	{"postgres TLS", "postgres://me:" + password + "@%s/shop?sslmode=require"},
	{"etcd", "etcd://me:" + password + "@%s"},
	{"etcd TLS", "etcds://me:" + password + "@%s"},
	{"exporter", "http://me:qZx7%%23w9Kv@%s/metrics"},
	{"exporter TLS", "https://me:qZx7%%23w9Kv@%s/metrics"},
	{"iris", "http://me:qZx7%%23w9Kv@%s/api/monitor/metrics"},
	{"prometheus", "http://me:qZx7%%23w9Kv@%s"},
}

// A hostility is how a server treats a connection.
type hostility struct {
	name  string
	serve func(c *conn)
	// want must be in the error, or "" for any error. For an endless answer it shows that a limit ended
	// it.
	want string
	// works means that there may be no error: the faulty part is skipped or noted.
	works bool
	// slow means that only a deadline ends it; the deadline is then kept short.
	slow bool
}

// A conn is a connection as seen by a hostile server.
type conn struct {
	net.Conn
	sent *atomic.Int64
}

// say writes; it returns false if the other side has hung up.
func (c *conn) say(b []byte) bool {
	n, err := c.Write(b)
	c.sent.Add(int64(n))
	return err == nil
}

// flood repeats b until the other side hangs up.
func (c *conn) flood(b []byte) {
	for len(b) < 64<<10 {
		b = append(b, b...)
	}
	for c.say(b) {
	}
}

// hang reads without answering, until the other side hangs up.
func (c *conn) hang() {
	b := make([]byte, 4096)
	for {
		if _, err := c.Read(b); err != nil {
			return
		}
	}
}

// sentMax is how much a server can send before the source hangs up: the largest limit of a source,
// a page of 64 MiB, plus the kernel's buffers of several connections, plus headroom.
const sentMax = 160 << 20

// heapMax is how much live memory a source may use with any answer. A page of 64 MiB may exist
// twice while its buffer grows, and the smaller buffer is not collected immediately.
const heapMax = 400 << 20

// An outcome is the result of a visit.
type outcome struct {
	err   error
	notes string
	heap  uint64 // highest
	sent  int64
}

// visit reads a source once, from a server that treats every connection the same way.
func visit(t *testing.T, k kind, within time.Duration, serve func(c *conn)) (address string, o outcome) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	var sent atomic.Int64
	var serving sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // catches a source without a deadline
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { _ = c.Close() })
			serving.Go(func() {
				defer c.Close()
				serve(&conn{c, &sent})
			})
		}
	})

	defer serving.Wait()
	defer cancel()
	defer l.Close()
	heap := watchHeap(ctx)
	memory := recording.NewMemory(recording.MemoryOptions{})
	o.err = read(ctx, fmt.Sprintf(k.address, l.Addr()), within, memory)

	if ctx.Err() != nil {
		t.Error("it had to be cancelled")
	}

	var notes []string
	for _, n := range memory.Notes() {
		notes = append(notes, n.Text)
	}

	o.notes, o.heap, o.sent = strings.Join(notes, "\n"), heap(), sent.Load()
	return l.Addr().String(), o
}

func read(ctx context.Context, address string, within time.Duration, w recording.Writer) error {
	none := func(string) string { return "" }
	in, err := recognise.For(engine.All().Sources()).Open(ctx, address, recognise.OpenOptions{Getenv: none, Within: within, Insecure: true})
	if err != nil {
		return err
	}
	if in.Reader != nil {
		_, err := in.Reader.Metrics(ctx)
		return err
	}
	return in.Source.Read(ctx, w, source.Options{Period: 20 * time.Millisecond, For: 60 * time.Millisecond})
}

// watchHeap watches the memory in use. The function it returns stops that and returns the maximum.
// The collector runs often, so that little of it is garbage.
func watchHeap(ctx context.Context) func() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	now := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}

	base, most := now(), uint64(0)
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			most = max(most, now())
			<-tick.C
		}
	})

	return func() uint64 {
		cancel()
		looking.Wait()
		return most - min(base, most)
	}
}

// check checks the outcome of a visit.
func check(t *testing.T, h hostility, address string, o outcome) {
	t.Helper()
	if o.err == nil && !h.works {
		t.Errorf("no error; notes: %s", o.notes)
	}

	text := ""
	if o.err != nil {
		text = o.err.Error()
		if !strings.Contains(text, address) {
			t.Errorf("the error does not name the server: %s", text)
		}
		if len(text) > 1200 || strings.ContainsAny(text, "\n\r") {
			t.Errorf("the error is not one sentence, but %d bytes: %.2000q", len(text), text)
		}
		if !strings.Contains(text, h.want) {
			t.Errorf("the error does not contain %q: %s", h.want, text)
		}
	}

	for _, part := range []string{"qZx7", "w9Kv"} {
		if strings.Contains(text+o.notes, part) {
			t.Errorf("the password is shown: %s\n%s", text, o.notes)
		}
	}

	if len(o.notes) > 1<<20 {
		t.Errorf("%d bytes of notes", len(o.notes))
	}

	if o.heap > heapMax {
		t.Errorf("%d MiB in use", o.heap>>20)
	}

	if o.sent > sentMax {
		t.Errorf("the server could send %d MiB", o.sent>>20)
	}

	t.Logf("%v; %d MiB in use, %d MiB sent; %s", o.err, o.heap>>20, o.sent>>20, o.notes)
}

const (
	// short is the deadline if only a deadline ends the visit.
	short = 300 * time.Millisecond
	// long is a deadline that is never reached, because a limit ends the visit first.
	long = 20 * time.Second
)

// run tries hostile servers on a source: those that only wait concurrently, the others one after
// another, so that the memory use is that of a single visit.
func run(t *testing.T, k kind, all []hostility) {
	t.Helper()
	for _, h := range all {
		t.Run(k.name+"/"+h.name, func(t *testing.T) {
			within := long
			if h.slow {
				within = short
				t.Parallel()
			} else if underRace {
				t.Skip("a flood takes ten times as long under the race detector, which does not help to bound it")
			}

			address, o := visit(t, k, within, h.serve)
			if h.slow {
				o.heap = 0 // includes that of others
			}

			check(t, h, address, o)
		})
	}
}

func TestHostileServers(t *testing.T) {
	log.SetOutput(io.Discard)                                  // net/http logs unsolicited data from servers
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(64 << 20)) // collects garbage soon

	for _, k := range kinds {
		run(t, k, anywhere)
		switch {
		case k.name == "mongodb set":
			run(t, k, sets)
		case k.name == "mongodb TLS":
			run(t, k, secured)
		case k.name == "mongodb", k.name == "mongodb open":
			run(t, k, mongodbServers)
			if strings.Contains(k.address, "@") {
				run(t, k, logins)
			}
		case k.name == "postgres":
			run(t, k, postgresServers)
		case k.name == "exporter", k.name == "prometheus":
			run(t, k, httpServers)
		}
	}
}

// anywhere are hostile servers that need no protocol.
var anywhere = []hostility{
	{name: "hangs up", serve: func(*conn) {}},
	{name: "reads and hangs up", serve: func(c *conn) { _, _ = c.Read(make([]byte, 1)) }},
	{name: "says nothing", serve: (*conn).hang, slow: true},
	{name: "drips zeros", serve: func(c *conn) { drip(c, 0) }, slow: true},
	{name: "drips letters", serve: func(c *conn) { drip(c, 'x') }, slow: true},
	{name: "endless zeros", serve: func(c *conn) { c.flood([]byte{0}) }},
	{name: "endless letters", serve: func(c *conn) { c.flood([]byte("x")) }},
	{name: "a web server of another kind", serve: func(c *conn) {
		if _, err := c.Read(make([]byte, 4096)); err == nil {
			c.say([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html><body>It works!</body></html>"))
		}
	}},
	{name: "an echo", slow: true, serve: func(c *conn) {
		b := make([]byte, 4096)
		for {
			n, err := c.Read(b)
			if err != nil || !c.say(b[:n]) {
				return
			}
		}
	}},
	{name: "ssh", slow: true, serve: func(c *conn) {
		if c.say([]byte("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")) {
			c.hang()
		}
	}},
	{name: "a TLS alert", slow: true, serve: func(c *conn) {
		if _, err := c.Read(make([]byte, 4096)); err == nil && c.say([]byte{0x15, 3, 1, 0, 2, 2, 40}) {
			c.hang()
		}
	}},
}

// drip sends a byte from time to time.
func drip(c *conn, b byte) {
	for c.say([]byte{b}) {
		time.Sleep(5 * time.Millisecond)
	}
}
