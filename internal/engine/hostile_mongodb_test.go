package engine_test

import (
	"bytes"
	"compress/zlib"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func le32(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

// wire is a message of MongoDB's protocol.
func wire(to uint32, code uint32, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return bytes.Join([][]byte{le32(uint32(16 + len(body))), le32(1), le32(to), le32(code), body}, nil)
}

// reply answers a request with a document, in the form of the request.
func reply(r *request, doc []byte) []byte {
	if r.code == 2004 { // OP_QUERY
		return wire(r.id, 1, le32(8), make([]byte, 8), le32(0), le32(1), doc)
	}
	return wire(r.id, 2013, le32(0), []byte{0}, doc)
}

func doc(of any) []byte {
	b, err := bson.Marshal(of)
	if err != nil {
		panic(err)
	}
	return b
}

// A request is what a client sends.
type request struct {
	id, code uint32
	body     []byte
}

// is reports whether the request runs the given command.
func (r *request) is(names ...string) bool {
	for _, n := range names {
		if bytes.Contains(r.body[:min(len(r.body), 80)], append([]byte(n), 0)) {
			return true
		}
	}
	return false
}

func nextRequest(c *conn) *request {
	var head [16]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil
	}
	r := &request{id: binary.LittleEndian.Uint32(head[4:]), code: binary.LittleEndian.Uint32(head[12:])}
	r.body = make([]byte, binary.LittleEndian.Uint32(head[:])-16)
	if _, err := io.ReadFull(c, r.body); err != nil {
		return nil
	}
	return r
}

// hello is a mongod's description of itself.
func hello(more ...bson.E) bson.D {
	return append(bson.D{{Key: "ismaster", Value: true}, {Key: "isWritablePrimary", Value: true}, {Key: "maxBsonObjectSize", Value: 16 << 20},
		{Key: "maxMessageSizeBytes", Value: 48_000_000}, {Key: "maxWriteBatchSize", Value: 1000}, {Key: "minWireVersion", Value: 0},
		{Key: "maxWireVersion", Value: 25}, {Key: "readOnly", Value: false}, {Key: "ok", Value: 1.0}}, more...)
}

// mongod describes itself, and answers everything else with next.
func mongod(who bson.D, next func(c *conn, r *request) bool) func(c *conn) {
	return func(c *conn) {
		for r := nextRequest(c); r != nil; r = nextRequest(c) {
			if r.is("hello", "isMaster", "ismaster") {
				if !c.say(reply(r, doc(who))) {
					return
				}
			} else if !next(c, r) {
				return
			}
		}
	}
}

// always gives the same document as every answer.
func always(d bson.D) func(c *conn) {
	return mongod(hello(), func(c *conn, r *request) bool { return c.say(reply(r, doc(append(d, bson.E{Key: "ok", Value: 1.0})))) })
}

// raw answers with these bytes instead of a document.
func raw(b []byte) func(c *conn) {
	return mongod(hello(), func(c *conn, r *request) bool { return c.say(reply(r, b)) })
}

func hangs(c *conn, _ *request) bool { c.hang(); return false }

// bomb is a compressed message that claims to have, and has, n bytes.
func bomb(r *request, n int) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for i := 0; i < n; i += len(zeros) {
		_, _ = z.Write(zeros[:min(len(zeros), n-i)])
	}
	_ = z.Close()
	return wire(r.id, 2012, le32(2013), le32(uint32(n)), []byte{2}, b.Bytes())
}

// many is a document with very many fields.
func many(n int, value any) bson.D {
	var d bson.D
	for i := range n {
		d = append(d, bson.E{Key: "f" + strconv.Itoa(i), Value: value})
	}
	return d
}

func nested(n int) bson.D {
	d := bson.D{}
	for range n {
		d = bson.D{{Key: "d", Value: d}}
	}
	return d
}

// scram requires the password to be hashed that many times.
func scram(iterations int) func(c *conn) {
	return func(c *conn) {
		for r := nextRequest(c); r != nil; r = nextRequest(c) {
			answer := hello(bson.E{Key: "saslSupportedMechs", Value: bson.A{"SCRAM-SHA-256"}})
			if r.is("saslStart") || bytes.Contains(r.body, []byte("speculativeAuthenticate")) {
				_, nonce, _ := bytes.Cut(r.body, []byte(",r="))
				nonce, _, _ = bytes.Cut(nonce, []byte{0})
				said := bson.D{{Key: "conversationId", Value: 1}, {Key: "done", Value: false},
					{Key: "payload", Value: fmt.Appendf(nil, "r=%sx,s=c2FsdHNhbHRzYWx0,i=%d", nonce[:min(len(nonce), 24)], iterations)}, {Key: "ok", Value: 1.0}}
				if answer = append(answer, bson.E{Key: "speculativeAuthenticate", Value: said}); r.is("saslStart") {
					answer = said
				}
			}

			if !c.say(reply(r, doc(answer))) {
				return
			}
		}
	}
}

// logins are hostilities towards a client with a password.
var logins = []hostility{
	{name: "requests two billion hashes of the password", want: "requests 2000000000 iterations", serve: scram(2_000_000_000)},
}

// secured are the same hostilities over TLS, where the same limits hold.
var secured = []hostility{
	{name: "has 2,000 members", want: "its set has 2000 members", serve: overTLS(crowd(2_000))},
	{name: "requests two billion hashes of the password", want: "requests 2000000000 iterations", serve: overTLS(scram(2_000_000_000))},
	{name: "a message of 2 GiB", serve: overTLS(mongod(hello(), func(c *conn, _ *request) bool {
		c.say(le32(1<<31 - 1))
		c.flood([]byte("x"))
		return false
	}))},
}

// certified is a certificate of a test.
var certified = sync.OnceValue(func() *tls.Config {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return &tls.Config{Certificates: s.TLS.Certificates}
})

// overTLS serves the plaintext inside a TLS connection.
func overTLS(serve func(c *conn)) func(c *conn) {
	return func(c *conn) { serve(&conn{tls.Server(c.Conn, certified()), c.sent}) }
}

// crowd is a member of a set with the given number of members.
func crowd(members int) func(c *conn) {
	var hosts bson.A
	for i := range members {
		hosts = append(hosts, "127.0.0.1:"+strconv.Itoa(1+i))
	}
	who := hello(bson.E{Key: "setName", Value: "rs"}, bson.E{Key: "setVersion", Value: 1}, bson.E{Key: "hosts", Value: hosts})
	return mongod(who, func(c *conn, r *request) bool { return c.say(reply(r, doc(who))) })
}

// sets are hostilities of a replica set's members.
var sets = []hostility{
	{name: "has 20,000 members", want: "its description of itself has", serve: crowd(20_000)},
	{name: "has 2,000 members", want: "its set has 2000 members", serve: crowd(2_000)},
}

var mongodbServers = []hostility{
	{name: "says hello and hangs", slow: true, want: "does not answer within", serve: mongod(hello(), hangs)},
	{name: "answers serverStatus and hangs", slow: true, serve: mongod(hello(), func(c *conn, r *request) bool {
		if r.is("serverStatus") {
			return c.say(reply(r, doc(bson.D{{Key: "uptimeMillis", Value: int64(5)}, {Key: "ok", Value: 1.0}})))
		}
		c.hang()
		return false
	})},
	{name: "half an answer", slow: true, serve: mongod(hello(), func(c *conn, r *request) bool {
		b := reply(r, doc(hello()))
		return c.say(b[:len(b)/2]) && hangs(c, r)
	})},
	{name: "a message of 2 GiB", serve: mongod(hello(bson.E{Key: "maxMessageSizeBytes", Value: int32(1<<31 - 1)}), func(c *conn, _ *request) bool {
		c.say(le32(1<<31 - 1))
		c.flood([]byte("x"))
		return false
	})},
	{name: "a hello of 2 GiB", serve: func(c *conn) {
		c.say(le32(1<<31 - 1))
		c.flood([]byte("x"))
	}},
	{name: "a hello with an inner document of no length", want: "it is not a MongoDB server", serve: func(c *conn) {
		const key = "speculativeAuthenticate\x00"
		broken := bytes.Replace(doc(hello(bson.E{Key: key[:len(key)-1], Value: bson.D{}})),
			append([]byte(key), le32(5)...), append([]byte(key), le32(0)...), 1)
		for r := nextRequest(c); r != nil && c.say(reply(r, broken)); r = nextRequest(c) {
		}
	}},
	{name: "a message of a negative length", serve: mongod(hello(), func(c *conn, _ *request) bool { return c.say(le32(1<<32-5)) && hangs(c, nil) })},
	{name: "a compressed bomb", serve: mongod(hello(), func(c *conn, r *request) bool { return c.say(bomb(r, 512<<20)) })},
	{name: "a compressed lie", serve: mongod(hello(), func(c *conn, r *request) bool {
		return c.say(wire(r.id, 2012, le32(2013), le32(1<<31-1), []byte{2}, []byte("x")))
	})},
	{name: "an empty document", works: true, serve: always(bson.D{})},
	{name: "wrong types", works: true, serve: always(bson.D{{Key: "host", Value: 1}, {Key: "uptimeMillis", Value: "x"}, {Key: "opLatencies", Value: bson.A{1, "x"}},
		{Key: "data", Value: bson.D{{Key: "start", Value: "x"}, {Key: "serverStatus", Value: 3}}}, {Key: "databases", Value: "x"}, {Key: "shards", Value: 1}})},
	{name: "a hundred thousand fields", works: true, serve: always(many(100_000, 1))},
	{name: "long texts", works: true, serve: always(many(10, strings.Repeat("x", 1<<20)))},
	{name: "deep documents", works: true, serve: always(nested(5000))},
	{name: "a document that is none", serve: raw([]byte{5, 0, 0, 0, 1})},
	{name: "a document with a length that is not true", serve: raw(bytes.Replace(doc(bson.D{{Key: "data", Value: bson.D{{Key: "start", Value: 1}}}, {Key: "ok", Value: 1.0}}),
		append([]byte("data\x00"), le32(16)...), append([]byte("data\x00"), le32(1<<30)...), 1))},
	{name: "an error of a megabyte", serve: mongod(hello(), func(c *conn, r *request) bool {
		return c.say(reply(r, doc(bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: 9}, {Key: "errmsg", Value: strings.Repeat("x\n", 1<<19)}})))
	})},
	{name: "answers somebody else", works: true, serve: mongod(hello(), func(c *conn, r *request) bool { r.id++; return c.say(reply(r, doc(hello()))) })},
	{name: "is a mongos of very many shards", works: true, serve: mongod(hello(bson.E{Key: "msg", Value: "isdbgrid"}), func(c *conn, r *request) bool {
		var shards bson.A
		for range 1000 {
			shards = append(shards, bson.D{{Key: "host", Value: strings.Repeat("h", 10_000)}})
		}
		return c.say(reply(r, doc(bson.D{{Key: "shards", Value: shards}, {Key: "ok", Value: 1.0}})))
	})},
	{name: "is an arbiter of very many hosts", serve: mongod(hello(bson.E{Key: "arbiterOnly", Value: true}, bson.E{Key: "hosts", Value: strings.Split(strings.Repeat("h:1,", 10_000), ",")}),
		func(c *conn, r *request) bool {
			return c.say(reply(r, doc(hello(bson.E{Key: "arbiterOnly", Value: true}, bson.E{Key: "hosts", Value: strings.Split(strings.Repeat("h:1,", 10_000), ",")}))))
		})},
	{name: "older than the driver", serve: mongod(hello(bson.E{Key: "maxWireVersion", Value: 2}), hangs)},
}
