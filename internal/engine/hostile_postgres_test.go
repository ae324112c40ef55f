package engine_test

import (
	"encoding/binary"
	"io"
	"strings"
)

// message is a message of PostgreSQL's protocol: its type, length and body.
func message(kind byte, parts ...[]byte) []byte {
	var body []byte
	for _, p := range parts {
		body = append(body, p...)
	}
	out := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))
	return append(out, body...)
}

func be32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
func be16(n uint16) []byte { return binary.BigEndian.AppendUint16(nil, n) }
func cstring(s string) []byte {
	return append([]byte(s), 0)
}

// greet refuses TLS and reads the startup message.
func greet(c *conn) bool {
	for {
		var head [8]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return false
		}

		length, code := binary.BigEndian.Uint32(head[:]), binary.BigEndian.Uint32(head[4:])
		if code == 80877103 { // SSLRequest
			if !c.say([]byte("N")) {
				return false
			}
			continue
		}

		_, err := io.CopyN(io.Discard, c, int64(length)-8)
		return err == nil && code>>16 == 3
	}
}

var (
	welcome = message('R', be32(0))
	ready   = message('Z', []byte("I"))
)

// login accepts everyone.
func login(c *conn) bool {
	return greet(c) && c.say(welcome) && c.say(message('S', cstring("server_version"), cstring("16.4"))) && c.say(ready)
}

// asked reads the client's messages up to a query.
func asked(c *conn) bool {
	for {
		var head [5]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return false
		}
		if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head[1:]))-4); err != nil {
			return false
		}
		if head[0] == 'Q' || head[0] == 'S' {
			return true
		}
	}
}

func columns(n int) []byte {
	parts := [][]byte{be16(uint16(n))}
	for range n {
		parts = append(parts, cstring("x"), be32(0), be16(0), be32(25), be16(0xffff), be32(0xffffffff), be16(0))
	}
	return message('T', parts...)
}

func row(values ...string) []byte {
	parts := [][]byte{be16(uint16(len(values)))}
	for _, v := range values {
		parts = append(parts, be32(uint32(len(v))), []byte(v))
	}
	return message('D', parts...)
}

func done() []byte { return message('C', cstring("SELECT 1")) }

// identified answers the first query as PostgreSQL does, and every other one with next.
func identified(next func(c *conn) bool) func(c *conn) {
	return func(c *conn) {
		if !login(c) || !asked(c) {
			return
		}
		seen := row("160004", "16.4", "PostgreSQL 16.4", "f", "t", "3", "on")
		if !c.say(message('1')) || !c.say(message('2')) || !c.say(columns(7)) || !c.say(seen) || !c.say(done()) || !c.say(ready) {
			return
		}
		for asked(c) && next(c) {
		}
	}
}

// logged floods after the login.
func logged(b []byte) func(c *conn) {
	return func(c *conn) {
		if login(c) && asked(c) {
			c.flood(b)
		}
	}
}

var postgresServers = []hostility{
	{name: "refuses TLS and hangs", slow: true, want: "does not finish the login within", serve: func(c *conn) {
		if greet(c) {
			c.hang()
		}
	}},
	{name: "hangs in authentication", slow: true, want: "does not finish the login within", serve: func(c *conn) {
		if greet(c) && c.say(message('R', be32(5), []byte("salt"))) {
			c.hang()
		}
	}},
	{name: "lets in and hangs", slow: true, want: "does not answer within", serve: func(c *conn) {
		if login(c) {
			c.hang()
		}
	}},
	{name: "identifies itself and hangs", slow: true, want: "does not answer within", serve: identified(func(c *conn) bool { c.hang(); return false })},
	{name: "endless notices before the login", want: "exceeds", serve: func(c *conn) {
		if greet(c) {
			c.flood(message('N', []byte("S"), cstring("NOTICE"), []byte{0}))
		}
	}},
	{name: "endless settings", want: "exceeds", serve: func(c *conn) {
		if greet(c) && c.say(welcome) {
			for i := uint32(0); c.say(message('S', cstring(strings.Repeat(string(rune('a'+i%26)), 1000)+string(be32(i|0x01010101))), cstring("v"))); i++ {
			}
		}
	}},
	{name: "endless rows", want: "exceeds", serve: identified(func(c *conn) bool {
		c.say(columns(4))
		c.flood(row("a", "1", "2", "3"))
		return false
	})},
	{name: "endless empty rows", want: "exceeds", serve: identified(func(c *conn) bool {
		c.say(columns(0))
		c.flood(row())
		return false
	})},
	{name: "endless rows at first", want: "exceeds", serve: func(c *conn) {
		if login(c) && asked(c) {
			c.say(append(append(message('1'), message('2')...), columns(1)...))
			c.flood(row(strings.Repeat("x", 1000)))
		}
	}},
	{name: "endless results", want: "exceeds", serve: identified(func(c *conn) bool { c.flood(append(columns(1), done()...)); return false })},
	{name: "endless notices", want: "exceeds", serve: logged(message('N', []byte("M"), cstring("x"), []byte{0}))},
	{name: "endless notifications", want: "exceeds", serve: logged(message('A', be32(1), cstring("c"), cstring("p")))},
	{name: "a message of 2 GiB", serve: func(c *conn) {
		if login(c) && asked(c) {
			c.say([]byte{'D', 0x7f, 0xff, 0xff, 0xff})
			c.flood([]byte("x"))
		}
	}},
	{name: "a message of a negative length", serve: func(c *conn) {
		if login(c) && asked(c) {
			c.say([]byte{'D', 0x80, 0, 0, 0})
			c.flood([]byte("x"))
		}
	}},
	{name: "more columns than announced", serve: identified(func(c *conn) bool {
		return c.say(columns(1)) && c.say(message('D', be16(0xffff))) && c.say(done()) && c.say(ready)
	})},
	{name: "too few columns", want: "columns", serve: identified(func(c *conn) bool {
		return c.say(columns(1)) && c.say(row("x")) && c.say(done()) && c.say(ready)
	})},
	{name: "no columns", want: "columns", serve: identified(func(c *conn) bool {
		return c.say(columns(0)) && c.say(row()) && c.say(done()) && c.say(ready)
	})},
	{name: "no rows", works: true, serve: identified(func(c *conn) bool { return c.say(columns(0)) && c.say(done()) && c.say(ready) })},
	{name: "an error of a megabyte", serve: func(c *conn) {
		if greet(c) {
			c.say(message('E', []byte("S"), cstring("FATAL"), []byte("C"), cstring("28000"), []byte("M"), cstring(strings.Repeat("x\n\x1b[31m", 1<<12)), []byte{0}))
		}
	}},
	{name: "an error with the password", serve: func(c *conn) {
		if greet(c) {
			c.say(message('E', []byte("S"), cstring("FATAL"), []byte("C"), cstring("28000"), []byte("M"), cstring("the password is "+password), []byte{0}))
		}
	}},
	{name: "no such role", want: "sudo -u postgres", serve: func(c *conn) {
		if greet(c) {
			c.say(message('E', []byte("S"), cstring("FATAL"), []byte("C"), cstring("28000"), []byte("M"), cstring(`role "root" does not exist`), []byte{0}))
		}
	}},
	{name: "an invalid answer", serve: logged([]byte{'!', 0, 0, 0, 4})},
	{name: "is ready without an answer", slow: true, serve: func(c *conn) {
		if login(c) {
			for asked(c) && c.say(ready) {
			}
		}
	}},
	{name: "starts a copy", serve: func(c *conn) {
		if login(c) && asked(c) {
			c.say(message('G', []byte{0}, be16(0)))
			c.flood(message('d', []byte("x")))
		}
	}},
}
