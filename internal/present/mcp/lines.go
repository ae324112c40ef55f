package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lines is a transport with one JSON-RPC message per line. The SDK's own transport ends the session
// at an invalid line, and drops requests in flight when its input ends. This one answers an invalid
// line with an error, and finishes requests in flight.
type lines struct {
	in  io.Reader
	out io.Writer

	read   chan line     // from the reading goroutine
	closed chan struct{} // by the SDK
	once   sync.Once

	mu      sync.Mutex
	failed  error               // of writing
	broken  chan struct{}       // closed by the first such error
	pending map[jsonrpc.ID]bool // requests without an answer
	changed chan struct{}       // closed and replaced when pending shrinks
}

// A line is one line of input, without its line break, or the error that ended the input.
type line struct {
	text []byte
	long bool // the line was too long and was cut
	err  error
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{in: in, out: out, read: make(chan line), closed: make(chan struct{}),
		broken:  make(chan struct{}),
		pending: map[jsonrpc.ID]bool{}, changed: make(chan struct{})}
}

// Connect implements [sdk.Transport].
func (l *lines) Connect(context.Context) (sdk.Connection, error) {
	// The goroutine ends with the input, or with the process, because a read of stdin cannot be
	// interrupted.
	go l.scan()
	return l, nil
}

// SessionID implements [sdk.Connection].
func (l *lines) SessionID() string { return "" }

// Close implements [sdk.Connection]. The streams outlive the session.
func (l *lines) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// scan reads lines of at most requestMax bytes.
func (l *lines) scan() {
	r := bufio.NewReaderSize(l.in, 64<<10)
	for {
		text, long, err := oneLine(r)
		// Empty lines are allowed between messages.
		if len(text) > 0 || long {
			if !l.hand(line{text: text, long: long}) {
				return
			}
		}
		if err != nil {
			l.hand(line{err: err})
			return
		}
	}
}

// oneLine reads up to the end of a line, and skips everything beyond requestMax.
func oneLine(r *bufio.Reader) (text []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		// The rest of a long line is read and dropped, so that the next line starts where it
		// should.
		if len(text)+len(part) > requestMax+1 {
			long = true
		} else {
			text = append(text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(text), long, err
		}
	}
}

func (l *lines) hand(next line) bool {
	select {
	case l.read <- next:
		return true
	case <-l.closed:
		return false
	}
}

// Read implements [sdk.Connection]. It returns the next valid message, and answers invalid lines
// before it with an error.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.closed:
			return nil, io.EOF
		case <-l.broken:
			return nil, io.EOF
		case next := <-l.read:
			if next.err != nil {
				l.waitForAnswers(ctx)
				return nil, io.EOF
			}

			message, refused := decode(next)
			if refused == nil {
				l.begin(message)
				return message, nil
			}

			if err := l.send(refused); err != nil {
				return nil, err
			}
		}
	}
}

// decode returns a line's message, or the error response to an invalid line.
func decode(next line) (jsonrpc.Message, []byte) {
	var any json.RawMessage
	switch err := json.Unmarshal(next.text, &any); {
	case next.long:
		return nil, refusal(nil, jsonrpc.CodeInvalidRequest,
			fmt.Sprintf("the request is longer than %d bytes", requestMax))
	case err != nil:
		return nil, refusal(nil, jsonrpc.CodeParseError, "not JSON: "+err.Error())
	case any[0] != '{':
		return nil, refusal(nil, jsonrpc.CodeInvalidRequest, "not a request: want one JSON object per line")
	}

	message, err := jsonrpc.DecodeMessage(next.text)
	// The decoder takes an object with an ID and without a method for a response.
	if r, ok := message.(*jsonrpc.Response); ok && r.Result == nil && r.Error == nil {
		err = errors.New("missing method")
	}

	if err != nil {
		return nil, refusal(idOf(next.text), jsonrpc.CodeInvalidRequest, "not a request: "+malformed(next.text))
	}

	request, ok := message.(*jsonrpc.Request)
	if !ok || !request.IsCall() {
		return message, nil
	}
	if !exactID(next.text) {
		return nil, refusal(nil, jsonrpc.CodeInvalidRequest, "not a request: id: want a whole number below 2^53 or a string")
	}
	if why := badParams(request); why != "" {
		return nil, refusal(request.ID.Raw(), jsonrpc.CodeInvalidParams, why)
	}

	return message, nil
}

// exactID reports whether the SDK, which reads numbers as float64 and rounds them, returns a request's
// ID unchanged.
func exactID(text []byte) bool {
	var m struct{ ID json.RawMessage }
	if json.Unmarshal(text, &m) != nil || len(m.ID) > 0 && m.ID[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(m.ID), 10, 64)
	return err == nil && n == int64(float64(n)) && n < 1<<53 && n > -1<<53
}

// badParams describes the error in a request's parameters, for which the SDK has only Go's types; "" if
// there is none.
func badParams(r *jsonrpc.Request) string {
	is := func(value json.RawMessage, first byte) bool {
		value = bytes.TrimSpace(value)
		return len(value) == 0 || string(value) == "null" || value[0] == first
	}
	if !is(r.Params, '{') {
		return "params: want an object"
	}

	var call struct{ Name, Arguments json.RawMessage }
	if r.Method != "tools/call" || len(r.Params) == 0 || json.Unmarshal(r.Params, &call) != nil {
		return ""
	}

	switch {
	case !is(call.Name, '"'):
		return "params.name: want a string"
	case !is(call.Arguments, '{'):
		return "params.arguments: want an object"
	}
	return ""
}

// readable replaces SDK messages that contain a Go decoder's text, and the code 0, which JSON-RPC does
// not have.
func readable(m jsonrpc.Message) jsonrpc.Message {
	answer, ok := m.(*jsonrpc.Response)
	if !ok || answer.Error == nil {
		return m
	}

	said := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: answer.Error.Error()}
	if wire := (*jsonrpc.Error)(nil); errors.As(answer.Error, &wire) && wire.Code != 0 {
		said.Code = wire.Code
	}
	if strings.Contains(said.Message, "unmarshal") {
		said.Code, said.Message = jsonrpc.CodeInvalidParams, "params: a value has a type that this method does not accept"
	}

	return &jsonrpc.Response{ID: answer.ID, Error: said}
}

// malformed describes the error in an object that is not a request.
func malformed(text []byte) string {
	var m struct{ JSONRPC, ID, Method json.RawMessage }
	err := json.Unmarshal(text, &m)

	switch {
	case err == nil && (len(m.Method) == 0 || m.Method[0] != '"'):
		return "method: want a string"
	case err == nil && len(m.ID) > 0 && strings.IndexByte("[{tf", m.ID[0]) >= 0:
		return "id: want a number or a string"
	case err == nil && string(m.JSONRPC) != `"2.0"`:
		return `jsonrpc: want "2.0"`
	}
	return "want an object of JSON-RPC 2.0: jsonrpc, id, method, params"
}

// idOf returns the ID of an object that is not a valid request, if a response can use it.
func idOf(text []byte) any {
	var object struct {
		ID any `json:"id"`
	}
	if json.Unmarshal(text, &object) != nil {
		return nil
	}
	switch object.ID.(type) {
	case string, float64:
		return object.ID
	}
	return nil
}

// refusal is the error response to an invalid request.
func refusal(id any, code int64, text string) []byte {
	type body struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	}
	answer, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Error   body   `json:"error"`
	}{"2.0", id, body{code, text}})
	if err != nil {
		panic(err) // cannot fail: only strings and numbers
	}
	return answer
}

// begin records a request until it is answered.
func (l *lines) begin(m jsonrpc.Message) {
	if request, ok := m.(*jsonrpc.Request); ok && request.IsCall() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pending[request.ID] = true
	}
}

// Write implements [sdk.Connection].
func (l *lines) Write(_ context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(readable(m))
	if err != nil {
		return fmt.Errorf("MCP answer: %w", err)
	}
	// An answer that could not be written counts as given too: nothing waits for it.
	err = l.send(text)
	if answer, ok := m.(*jsonrpc.Response); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.pending, answer.ID)
		close(l.changed)
		l.changed = make(chan struct{})
	}
	return err
}

// send writes a line. The first error ends the session.
func (l *lines) send(text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	_, err := l.out.Write(append(text, '\n'))
	if err != nil {
		l.failed = fmt.Errorf("MCP answer: %w", err)
		close(l.broken)
	}
	return l.failed
}

// waitForAnswers waits until all requests are answered.
func (l *lines) waitForAnswers(ctx context.Context) {
	for {
		l.mu.Lock()
		// Both are read under one lock, so that an answer in between closes this very channel.
		n, changed := len(l.pending), l.changed
		l.mu.Unlock()

		if n == 0 {
			return
		}

		select {
		case <-changed:
		case <-ctx.Done():
			return
		case <-l.closed:
			return
		case <-l.broken:
			return
		}
	}
}

// err returns the error from writing, if any.
func (l *lines) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}
