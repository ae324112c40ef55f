package live

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"net"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"plimsoll/internal/record/source"
)

// messageBytesMax bounds a server's message: the largest document there is, and 4 KiB to stand before
// it. The driver believes the server about what it may be, up to 2 GiB.
const messageBytesMax = 16_797_696

// Of a message: MongoDB's documentation, wire protocol.
const (
	headerBytes      = 16 // length, request, response, what follows
	compressedBytes  = 9  // what is compressed, its length, the way
	opCompressed     = 2012
	messageTooLarge  = "bytes of a message"
	inflatedTooLarge = "bytes of a message, decompressed"
)

// A boundedDialer makes connections on which no message is larger than it may be.
type boundedDialer struct {
	next options.ContextDialer
	// tls is for the connections, nil for none. The driver's own would be above the bounds, which see
	// nothing of what is encrypted.
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

// framed is a connection whose messages' lengths are looked at as they come.
type framed struct {
	net.Conn
	head   [headerBytes + compressedBytes]byte
	at     int64 // bytes of the current message that came
	length int64 // of the current message; 0: not known yet

	greeting bool   // the next answer is one to a greeting
	ready    []byte // of an answer that was read as a whole
}

// Read implements net.Conn. It stops where there is something to look at.
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
	if e := c.look(); e != nil {
		return 0, e
	}

	return n, err
}

// look looks at what is known of the message by now.
func (c *framed) look() error {
	if c.at == 4 {
		c.length = max(4, int64(int32(binary.LittleEndian.Uint32(c.head[:])))) // the driver refuses what is less
		if c.length > messageBytesMax {
			return &source.TooMuchError{Max: messageBytesMax, Unit: messageTooLarge}
		}
	}
	if c.at == int64(len(c.head)) && binary.LittleEndian.Uint32(c.head[12:]) == opCompressed &&
		binary.LittleEndian.Uint32(c.head[headerBytes+4:]) > messageBytesMax {
		return &source.TooMuchError{Max: messageBytesMax, Unit: inflatedTooLarge}
	}
	if c.length > 0 && c.at >= c.length {
		c.at, c.length = 0, 0
	}
	return nil
}
