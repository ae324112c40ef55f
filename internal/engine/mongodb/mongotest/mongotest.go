// Package mongotest is a server for tests that speaks MongoDB's wire protocol: enough of it for
// MongoDB's own driver to insert, update, push, find and drop documents that are really stored.
//
// It is not a database. It keeps documents with integer _id in memory, supports $set, $push, $gte,
// sort by _id and limit, and rejects everything else with mongod's own error, so that no test
// passes because of something missing. serverStatus is answered with documents from a real mongod,
// taken from diagnostic.data ([Answers]); without any it is refused, as for a user without
// clusterMonitor.
package mongotest

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/wiremessage"

	"plimsoll/internal/engine/mongodb/ftdc"
)

// Messages of the protocol (MongoDB manual, wire protocol) begin with a header of four integers:
// length, ID, the ID it answers, and opcode.
const (
	headerBytes = 16
	opQuery     = wiremessage.OpCode(2004) // only for the first hello
	messageMax  = 48_000_000
)

// A Server is the test server. Its fields are set before Serve.
type Server struct {
	// Version is the version in buildInfo.
	Version string
	// Answers are returned for serverStatus, one after the other; the last one is repeated.
	Answers []bson.Raw
	// Set is its replica set; "": standalone. Fresh means that replSetInitiate is required first.
	Set   string
	Fresh bool
	// Privileges are the user's, for connectionStatus; nil: no authentication, and everything is
	// allowed.
	Privileges bson.A
	// Refuse are commands that are refused for lack of privileges.
	Refuse map[string]bool
	// Reply, if not nil, answers commands first; a nil answer leaves the command to the server.
	// Answers are marshalled.
	Reply func(name string, command bson.Raw) any
	// Hello replaces and adds fields in the answer to hello, such as wire versions, arbiterOnly or
	// msg.
	Hello bson.D
	// User and Password are required (SCRAM-SHA-256) before anything but hello is answered; "": no
	// login.
	User, Password string
	// Clock is the server's clock; nil: this machine's.
	Clock func() time.Time
	// TLS, if not nil, is used with each client.
	TLS *tls.Config
	// Saw, if not nil, receives each command.
	Saw func(name string, command bson.Raw)

	mu      sync.Mutex
	at      string // its address
	served  int    // answers to serverStatus
	data    map[string]map[int64]bson.D
	cursors map[int64][]bson.D
	next    int64
}

// Answers reads a mongod's answers: the first sample of each chunk of a file of diagnostic.data.
func Answers(file string) ([]bson.Raw, error) {
	var out []bson.Raw
	err := chunks(file, func(c *ftdc.Chunk) (bool, error) {
		status, ok := bson.Raw(c.Reference).Lookup("serverStatus").DocumentOK()
		if !ok {
			return false, errors.New("a sample without serverStatus")
		}
		out = append(out, bytes.Clone(status))
		return true, nil
	})
	return out, err
}

// chunks calls each for the chunks of a file of diagnostic.data until it wants no more.
func chunks(file string, each func(*ftdc.Chunk) (more bool, err error)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}

	defer f.Close()
	for s, more := ftdc.NewScanner(file, f), true; more; {
		c, err := s.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			more, err = each(c)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}

	return nil
}

// reset empties the server, which is at an address.
func (s *Server) reset(at string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.data, s.cursors = at, map[string]map[int64]bson.D{}, map[int64][]bson.D{}
}

// Serve answers on a listener until that is closed.
func (s *Server) Serve(l net.Listener) {
	s.reset(l.Addr().String())
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go s.converse(c)
	}
}

func (s *Server) converse(c net.Conn) {
	defer c.Close()
	_ = s.answer(c) // the client is gone
}

func (s *Server) answer(conn net.Conn) error {
	if s.TLS != nil {
		conn = tls.Server(conn, s.TLS)
	}

	in := bufio.NewReader(conn)
	who := &login{open: s.User == ""}
	head := make([]byte, headerBytes)

	for {
		if _, err := io.ReadFull(in, head); err != nil {
			return err
		}

		n, id, _, kind, _, _ := wiremessage.ReadHeader(head)
		if n < headerBytes || n > messageMax {
			return fmt.Errorf("a message of %d bytes", n)
		}

		body := make([]byte, n-headerBytes)
		if _, err := io.ReadFull(in, body); err != nil {
			return err
		}

		command, err := parse(kind, body)
		if err != nil {
			return err
		}

		reply, err := bson.Marshal(s.do(command, who))
		if err != nil {
			return err
		}

		var out []byte
		// The driver's handshake is OP_QUERY; the server answers in kind, with OP_REPLY.
		if kind == opQuery {
			_, out = wiremessage.AppendHeaderStart(out, 0, id, wiremessage.OpReply)
			out = wiremessage.AppendReplyFlags(out, wiremessage.AwaitCapable)
			out = wiremessage.AppendReplyCursorID(out, 0)
			out = wiremessage.AppendReplyStartingFrom(out, 0)
			out = wiremessage.AppendReplyNumberReturned(out, 1)
		} else {
			_, out = wiremessage.AppendHeaderStart(out, 0, id, wiremessage.OpMsg)
			out = wiremessage.AppendMsgFlags(out, 0)
			out = wiremessage.AppendMsgSectionType(out, wiremessage.SingleDocument)
		}

		out = append(out, reply...)
		binary.LittleEndian.PutUint32(out, uint32(len(out)))
		if _, err := conn.Write(out); err != nil {
			return err
		}
	}
}

// A command is a document with its document sequences.
type command struct {
	bson.Raw
	sequences map[string][]bson.Raw
}

// list returns an array of the command, whichever way it was sent.
func (c *command) list(name string) []bson.Raw {
	if l, ok := c.sequences[name]; ok {
		return l
	}

	array, _ := c.Lookup(name).ArrayOK()
	values, err := array.Values()
	if err != nil {
		return nil
	}

	var out []bson.Raw
	for _, v := range values {
		if d, ok := v.DocumentOK(); ok {
			out = append(out, d)
		}
	}

	return out
}

var errShort = errors.New("message ends early")

func parse(kind wiremessage.OpCode, body []byte) (*command, error) {
	parsed := &command{sequences: map[string][]bson.Raw{}}
	var d bsoncore.Document
	var ok bool
	switch kind {
	case opQuery:
		// Flags and the collection's name, then two numbers: how many documents to skip and to return.
		_, rest, _ := bytes.Cut(body[min(4, len(body)):], []byte{0})
		d, _, ok = bsoncore.ReadDocument(rest[min(8, len(rest)):])
	case wiremessage.OpMsg:
		_, body, ok = wiremessage.ReadMsgFlags(body)
		for ok && len(body) > 0 {
			var section wiremessage.SectionType
			section, body, _ = wiremessage.ReadMsgSectionType(body)
			// Section 0 is the command, section 1 a sequence of documents that belongs to it.
			if section == wiremessage.SingleDocument {
				d, body, ok = wiremessage.ReadMsgSectionSingleDocument(body)
				continue
			}

			var name string
			var docs []bsoncore.Document
			name, docs, body, ok = wiremessage.ReadMsgSectionDocumentSequence(body)
			for _, d := range docs {
				parsed.sequences[name] = append(parsed.sequences[name], bson.Raw(d))
			}
		}
	default:
		return nil, fmt.Errorf("a message of kind %d", kind)
	}

	if parsed.Raw = bson.Raw(d); !ok || parsed.Validate() != nil {
		return nil, errShort
	}
	return parsed, nil
}

func refused(code int32, format string, args ...any) bson.D {
	return bson.D{{Key: "ok", Value: 0.0}, {Key: "code", Value: code},
		{Key: "errmsg", Value: fmt.Sprintf(format, args...)}}
}

func fine(more ...bson.E) bson.D { return append(bson.D(more), bson.E{Key: "ok", Value: 1.0}) }

func (s *Server) do(request *command, who *login) any {
	elements, err := request.Elements()
	if err != nil || len(elements) == 0 {
		return refused(9, "no command")
	}

	name := elements[0].Key()
	if s.Saw != nil {
		s.Saw(name, request.Raw)
	}

	if answer := s.authenticate(name, request, who); answer != nil {
		return answer
	}

	if s.Reply != nil && !s.Refuse[name] {
		if answer := s.Reply(name, request.Raw); answer != nil {
			return answer
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Refuse[name] {
		return refused(13, "not authorized to execute command %s", name)
	}

	db, _ := request.Lookup("$db").StringValueOK()
	of, _ := elements[0].Value().StringValueOK()

	space := db + "." + of
	switch name {
	case "hello", "isMaster", "ismaster":
		return s.hello(request, who)
	case "ping", "endSessions", "fsync", "killCursors":
		return fine()
	case "replSetInitiate":
		s.Fresh = false
		return fine()
	case "buildInfo":
		return fine(bson.E{Key: "version", Value: s.Version})
	case "connectionStatus":
		users := bson.A{}
		if s.Privileges != nil {
			users = bson.A{bson.D{{Key: "user", Value: "me"}, {Key: "db", Value: "admin"}}}
		}
		return fine(bson.E{Key: "authInfo",
			Value: bson.D{{Key: "authenticatedUsers", Value: users},
				{Key: "authenticatedUserPrivileges", Value: s.Privileges}}})
	case "serverStatus":
		return s.status()
	case "listDatabases", "listCollections":
		return s.list(name, db, request)
	case "insert":
		return s.insert(space, request)
	case "update":
		return s.update(space, request)
	case "find":
		return s.find(space, request)
	case "getMore":
		id := elements[0].Value().AsInt64()
		rest := s.cursors[id]
		delete(s.cursors, id)
		return fine(bson.E{Key: "cursor",
			Value: bson.D{{Key: "nextBatch", Value: rest}, {Key: "id", Value: int64(0)}, {Key: "ns", Value: space}}})
	case "dropDatabase":
		for k := range s.data {
			if len(k) > len(db) && k[:len(db)+1] == db+"." {
				delete(s.data, k)
			}
		}
		return fine()
	}

	return refused(59, "no such command: '%s'", name)
}

func (s *Server) hello(c *command, who *login) bson.D {
	clock := s.Clock
	if clock == nil {
		clock = time.Now
	}

	d := bson.D{
		{Key: "isWritablePrimary", Value: !s.Fresh}, {Key: "ismaster", Value: !s.Fresh},
		{Key: "helloOk", Value: true}, {Key: "maxBsonObjectSize", Value: int32(16 << 20)},
		{Key: "maxMessageSizeBytes", Value: int32(messageMax)}, {Key: "maxWriteBatchSize", Value: int32(100_000)},
		{Key: "localTime", Value: bson.NewDateTimeFromTime(clock())}, {Key: "minWireVersion", Value: int32(0)},
		{Key: "maxWireVersion", Value: int32(25)},
		{Key: "logicalSessionTimeoutMinutes", Value: int32(30)}, {Key: "readOnly", Value: false},
	}

	if s.Set != "" && !s.Fresh {
		d = append(d, bson.E{Key: "setName", Value: s.Set}, bson.E{Key: "hosts", Value: bson.A{s.at}},
			bson.E{Key: "primary", Value: s.at}, bson.E{Key: "me", Value: s.at})
	}

	for _, e := range s.Hello {
		d = set(d, e.Key, e.Value)
	}

	return fine(s.offer(d, c, who)...)
}

func (s *Server) status() any {
	if len(s.Answers) == 0 {
		return refused(13, "not authorized on admin to execute command { serverStatus: 1 }")
	}
	answer := s.Answers[min(s.served, len(s.Answers)-1)]
	s.served++
	return answer
}
