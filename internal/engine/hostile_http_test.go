package engine_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// web answers each request of a connection with next.
func web(next func(c *conn, r *http.Request) bool) func(c *conn) {
	return func(c *conn) {
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil || !next(c, r) {
				return
			}
		}
	}
}

// page answers everything with a page.
func page(status int, header, body string) func(c *conn) {
	return web(func(c *conn, _ *http.Request) bool {
		return c.say(fmt.Appendf(nil, "HTTP/1.1 %d x\r\n%sContent-Length: %d\r\n\r\n%s", status, header, len(body), body))
	})
}

// endless sends a header and then repeats the same text.
func endless(head, body string) func(c *conn) {
	return web(func(c *conn, _ *http.Request) bool {
		if c.say([]byte(head)) {
			c.flood([]byte(body))
		}
		return false
	})
}

// zeros is a gzip member of 16 MiB of lines, which may be repeated.
var zeros = sync.OnceValue(func() string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	line := []byte(strings.Repeat("x 0\n", 1<<18))
	for range 16 {
		_, _ = z.Write(line)
	}
	_ = z.Close()
	return b.String()
})

const (
	text      = "Content-Type: text/plain\r\n"
	jsonType  = "Content-Type: application/json\r\n"
	endlessly = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
)

var httpServers = []hostility{
	{name: "HTML", serve: page(200, "Content-Type: text/html\r\n", "<html><body>Sign in</body></html>")},
	{name: "HTML called text", serve: page(200, text, "<html><body>Sign in</body></html>")},
	{name: "an empty page", serve: page(200, text, "")},
	{name: "an error of a megabyte", serve: page(500, text, strings.Repeat("x", 1<<20))},
	{name: "denied", serve: page(401, text, "no")},
	{name: "a redirect to itself", serve: web(func(c *conn, r *http.Request) bool {
		return c.say(fmt.Appendf(nil, "HTTP/1.1 302 x\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", r.URL))
	})},
	{name: "a redirect to nowhere", serve: page(302, "", "")},
	{name: "a redirect to a file", serve: page(302, "Location: file:///etc/passwd\r\n", "")},
	{name: "a redirect with a password", serve: page(307, "Location: http://me:qZx7%23w9Kv@127.0.0.1:1/\r\n", "")},
	{name: "an endless head", serve: endless("HTTP/1.1 200 OK\r\n", "X: y\r\n")},
	{name: "an endless page", serve: endless(endlessly+text+"\r\n", "x 0\n")},
	{name: "an endless line", serve: endless(endlessly+text+"\r\n", "x")},
	{name: "endless series", serve: web(func(c *conn, _ *http.Request) bool {
		c.say([]byte(endlessly + text + "\r\n"))
		var b []byte
		for i := 0; ; i++ {
			if b = fmt.Appendf(b, "series_%d 1\n", i); i%4096 == 4095 {
				if !c.say(b) {
					return false
				}
				b = b[:0]
			}
		}
	})},
	{name: "an endless body in chunks", serve: endless(endlessly+text+"Transfer-Encoding: chunked\r\n\r\n", "8\r\nx 0\nx 0\n\r\n")},
	{name: "a chunk of a lying length", slow: true, serve: web(func(c *conn, _ *http.Request) bool {
		return c.say([]byte(endlessly+text+"Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nx 0\n")) && hangs(c, nil)
	})},
	{name: "a lying length", slow: true, serve: web(func(c *conn, _ *http.Request) bool {
		return c.say([]byte("HTTP/1.1 200 OK\r\n"+text+"Content-Length: 9000000000000000000\r\n\r\nx 0\n")) && hangs(c, nil)
	})},
	{name: "a length that is not kept", serve: web(func(c *conn, _ *http.Request) bool {
		c.say([]byte("HTTP/1.1 200 OK\r\n" + text + "Content-Length: 1000\r\n\r\nx 0\n"))
		return false
	})},
	{name: "a gzip bomb", serve: web(func(c *conn, _ *http.Request) bool {
		c.say([]byte(endlessly + text + "Content-Encoding: gzip\r\n\r\n"))
		c.flood([]byte(zeros()))
		return false
	})},
	{name: "invalid gzip", serve: page(200, text+"Content-Encoding: gzip\r\n", "x 0\n")},
	{name: "JSON of another kind", serve: page(200, jsonType, `{"a": [1, 2]}`)},
	{name: "an API of wrong types", serve: page(200, jsonType, `{"status": "success", "data": {"resultType": "matrix", "result": {"x": "y"}}}`)},
	{name: "an API that fails with a megabyte", serve: page(422, jsonType, `{"status": "error", "errorType": "bad_data", "error": "`+strings.Repeat(`x\n`, 1<<18)+`"}`)},
	{name: "JSON of great depth", serve: page(200, jsonType, `{"status": "success", "data": `+strings.Repeat("[", 1<<19))},
	{name: "repeats 100 Continue", serve: endless("", "HTTP/1.1 100 Continue\r\n\r\n")},
	{name: "answers and hangs", slow: true, serve: web(func(c *conn, _ *http.Request) bool {
		return c.say([]byte("HTTP/1.1 200 OK\r\n"+text+"\r\nx 0\n")) && hangs(c, nil)
	})},
}
