package live

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"net"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"plimsoll/internal/record/source"
)

// messageBytesMax bounds a server's message: the largest BSON document plus 4 KiB of headers. The
// driver itself accepts any length that the server announces, up to 2 GiB.
const messageBytesMax = 16_797_696

// Message format: MongoDB's documentation of the wire protocol.
const (
	headerBytes      = 16 // length, request ID, response ID, opcode
	compressedBytes  = 9  // original opcode, uncompressed length, compressor
	opCompressed     = 2012
	messageTooLarge  = "bytes of a message"
	inflatedTooLarge = "bytes of a message, decompressed"
)

// A boundedDialer makes connections that reject messages above the limits.
type boundedDialer struct {
	next options.ContextDialer
	// tls is the TLS configuration, nil for plain connections. TLS has to be below the limits,
	// which cannot check encrypted data; the driver's own would be above them.
	tls *tls.Config
}

// DialContext implements options.ContextDialer.
func (d *boundedDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.next.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}

	if d.tls == nil {
		return &framed{Conn: c}, nil
	}

	config := d.tls.Clone()
	if host, _, err := net.SplitHostPort(address); err == nil && config.ServerName == "" {
		config.ServerName = host
	}

	secure := tls.Client(c, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = c.Close() // it was never used
		return nil, err
	}

	return &framed{Conn: secure}, nil
}

// framed is a connection that checks the length of each message as it arrives.
type framed struct {
	net.Conn
	head   [headerBytes + compressedBytes]byte
	at     int64 // bytes of the current message received so far
	length int64 // of the current message; 0: not known yet

	greeting bool   // the next message answers a greeting
	ready    []byte // unread rest of an answer that was read as a whole
}

// Read implements net.Conn. It returns early at each point where the header can be checked.
func (c *framed) Read(p []byte) (int, error) {
	if c.greeting && c.at == 0 {
		c.greeting = false
		if err := c.greet(); err != nil {
			return 0, err
		}
	}

	if len(c.ready) > 0 {
		n := copy(p, c.ready)
		c.ready = c.ready[n:]
		return n, nil
	}

	// Read no further than the next field to check, so that nothing beyond it reaches the driver.
	until := int64(4)
	switch {
	case c.at >= int64(len(c.head)):
		until = c.length
	case c.at >= 4:
		until = min(c.length, int64(len(c.head)))
	}

	n, err := c.Conn.Read(p[:min(int64(len(p)), until-c.at)])
	if c.at < int64(len(c.head)) {
		copy(c.head[c.at:], p[:n])
	}

	c.at += int64(n)
	if e := c.check(); e != nil {
		return 0, e
	}

	return n, err
}

// check checks the message's lengths once they are known.
func (c *framed) check() error {
	if c.at == 4 {
		c.length = max(4, int64(int32(binary.LittleEndian.Uint32(c.head[:])))) // the driver rejects smaller values
		if c.length > messageBytesMax {
			return &source.TooMuchError{Max: messageBytesMax, Unit: messageTooLarge}
		}
	}

	if c.at == int64(len(c.head)) && binary.LittleEndian.Uint32(c.head[12:]) == opCompressed &&
		binary.LittleEndian.Uint32(c.head[headerBytes+4:]) > messageBytesMax {
		return &source.TooMuchError{Max: messageBytesMax, Unit: inflatedTooLarge}
	}

	// The message is complete; the next byte starts a new header.
	if c.length > 0 && c.at >= c.length {
		c.at, c.length = 0, 0
	}

	return nil
}
