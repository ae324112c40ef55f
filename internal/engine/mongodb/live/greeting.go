package live

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"

	"plimsoll/internal/record/source"
)

// Limits for a server's first answers: its description and the login parameters. The driver accepts
// both unchecked. It connects to every host that a set names, and hashes a password as often as the
// server requests, which may take years.
const (
	// greetingBytesMax bounds each of these answers: a set of 50 members with long names needs 15
	// KB.
	greetingBytesMax = 64 << 10
	// setHostsMax bounds the hosts of a set; MongoDB's own limit is 50 members.
	setHostsMax = 100
	// iterationsMax bounds the iterations of SCRAM; MongoDB's defaults are 10,000 and 15,000.
	iterationsMax = 1_000_000
)

// A greetingError reports that a server's description of itself is impossible.
type greetingError string

func (e greetingError) Error() string { return string(e) }

// greetingErrorOf finds a greetingError in the driver's errors.
func greetingErrorOf(errs ...error) (greetingError, bool) {
	for _, err := range errs {
		var own greetingError
		if errors.As(err, &own) {
			return own, true
		}
	}
	return "", false
}

// greetings are the commands whose answers are checked as a whole: hello, under both of its names,
// and the login commands.
var greetings = [][]byte{[]byte("hello\x00"), []byte("isMaster\x00"), []byte("ismaster\x00"),
	[]byte("saslStart\x00"), []byte("saslContinue\x00")}

// commandWithin is how far into a request its command name may be: after the headers of the message
// and the document.
const commandWithin = 64

// Write implements [net.Conn]. The driver writes one request per call.
func (c *framed) Write(p []byte) (int, error) {
	c.greeting = false
	for _, g := range greetings {
		c.greeting = c.greeting || bytes.Contains(p[:min(len(p), commandWithin)], g)
	}
	return c.Conn.Write(p)
}

// greet reads the answer to a greeting as a whole and rejects an impossible one.
func (c *framed) greet() error {
	head := make([]byte, headerBytes)
	if _, err := io.ReadFull(c.Conn, head); err != nil {
		return err
	}

	length := int64(int32(binary.LittleEndian.Uint32(head))) //nolint:gosec // signed in the protocol
	if length > messageBytesMax {
		return &source.TooMuchError{Max: messageBytesMax, Unit: messageTooLarge}
	}

	if length > greetingBytesMax {
		return greetingError(fmt.Sprintf("its description of itself has %d bytes; at most %d are read", length,
			greetingBytesMax))
	}

	c.ready = head
	if length > headerBytes {
		c.ready = make([]byte, length)
		copy(c.ready, head)
		if _, err := io.ReadFull(c.Conn, c.ready[headerBytes:]); err != nil {
			c.ready = nil
			return err
		}
	}

	return plausible(c.ready)
}

// documentAt is the position of a message's document, by opcode (1: OP_REPLY, 2013: OP_MSG).
var documentAt = map[uint32]int{1: headerBytes + 20, 2013: headerBytes + 5}

// plausible returns an error if a server's answer to a greeting is impossible. Unreadable answers
// are left to the driver.
func plausible(message []byte) error {
	at := documentAt[binary.LittleEndian.Uint32(message[12:])]
	if at == 0 || len(message) <= at {
		return nil
	}

	doc := bson.Raw(message[at:])
	hosts := 0
	for _, of := range []string{"hosts", "passives", "arbiters"} {
		list, _ := doc.Lookup(of).ArrayOK()
		values, _ := list.Values() // empty if it is not a list
		hosts += len(values)
	}

	if hosts > setHostsMax {
		return greetingError(fmt.Sprintf("it claims that its set has %d members; MongoDB allows 50", hosts))
	}

	// One key at a time: with several, the driver's lookup panics if an inner length is wrong.
	inner, _ := doc.Lookup("speculativeAuthenticate").DocumentOK()
	for _, of := range []bson.Raw{doc, inner} {
		if _, payload, ok := of.Lookup("payload").BinaryOK(); ok && iterations(payload) > iterationsMax {
			return greetingError(fmt.Sprintf("it requests %d iterations of the password hash; the limit is %d",
				iterations(payload), iterationsMax))
		}
	}

	return nil
}

// iterations is the iteration count in a server's first SCRAM message (RFC 5802:
// r=...,s=...,i=4096); 0 for other messages.
func iterations(payload []byte) int64 {
	for part := range bytes.SplitSeq(payload, []byte(",")) {
		if text, ok := bytes.CutPrefix(part, []byte("i=")); ok {
			n, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil {
				return 0 // the driver cannot read it either
			}
			return n
		}
	}
	return 0
}
