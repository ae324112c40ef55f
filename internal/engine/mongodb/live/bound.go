package live

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
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
	greeting bool   // the next message answers a greeting
	ready    []byte // unread part of what was read of the current message to check it
	left     int64  // bytes of the current message that were not read yet
}

// Read implements net.Conn.
func (c *framed) Read(p []byte) (int, error) {
	if len(c.ready) == 0 && c.left == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}

	if len(c.ready) > 0 {
		n := copy(p, c.ready)
		c.ready = c.ready[n:]
		return n, nil
	}

	n, err := c.Conn.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// next reads as much of the next message as shows whether it is acceptable: its header or, if it answers a
// greeting, all of it.
func (c *framed) next() error {
	head := make([]byte, headerBytes)
	if _, err := io.ReadFull(c.Conn, head[:4]); err != nil {
		return err
	}

	length := int64(int32(binary.LittleEndian.Uint32(head))) //nolint:gosec // signed in the protocol
	greeting := c.greeting
	c.greeting = false

	switch {
	case length > messageBytesMax:
		return &source.TooMuchError{Max: messageBytesMax, Unit: messageTooLarge}
	case greeting && length > greetingBytesMax:
		return greetingError(fmt.Sprintf("its description of itself has %d bytes; at most %d are read", length,
			greetingBytesMax))
	}

	// The driver rejects a message that is shorter than its header.
	if _, err := io.ReadFull(c.Conn, head[4:]); err != nil {
		return err
	}

	length = max(length, headerBytes)
	compressed := binary.LittleEndian.Uint32(head[12:]) == opCompressed
	until := int64(headerBytes)

	switch {
	case greeting:
		until = length
	case compressed:
		until = min(length, headerBytes+compressedBytes)
	}

	message := append(make([]byte, 0, until), head...)[:until]
	if _, err := io.ReadFull(c.Conn, message[headerBytes:]); err != nil {
		return err
	}

	if compressed && until >= headerBytes+compressedBytes &&
		binary.LittleEndian.Uint32(message[headerBytes+4:]) > messageBytesMax {
		return &source.TooMuchError{Max: messageBytesMax, Unit: inflatedTooLarge}
	}

	c.ready, c.left = message, length-until
	if greeting {
		return plausible(message)
	}
	return nil
}
