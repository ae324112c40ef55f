//go:build linux

package worker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// The protocol of the worker: c/PROTOCOL.md.
const (
	protocol = 1
	magic    = 0x54574c50

	headBytes        = 9       // id, and kind or status
	requestBytesMax  = 1 << 16 // of a frame
	answerBytesMax   = 1 << 20
	stringBytesMax   = 1<<16 - 1
	loadMax          = 10_000 // documents that a frame may load
	documentBytesMax = 64 << 20
	versionBytesMax  = 64
)

// keyEnd is the end of the range of keys.
const keyEnd = 1 << 62

type kind byte

const (
	kindOpen kind = iota + 1
	kindLoad
	kindLoaded
	kindServe
	kindCheckpoint
	kindStatistics
	kindInsert
	kindUpdate
	kindPush
	kindRead
	kindScan
	kindQuit
)

type status byte

const (
	statusDone status = iota
	statusFailed
	statusHello
	statusBegan
	statusEnded
)

// A frame is a message from the worker.
type frame struct {
	id     uint64 // 0: not an answer
	status status
	body   []byte
}

// readFrame reads a frame. io.EOF is the end between two frames.
func readFrame(r *bufio.Reader) (frame, error) {
	var head [4 + headBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}

	length := binary.LittleEndian.Uint32(head[:])
	if length < headBytes || length > answerBytesMax {
		return frame{}, fmt.Errorf("frame of %d bytes: want %d to %d", length, headBytes, answerBytesMax)
	}

	f := frame{id: binary.LittleEndian.Uint64(head[4:]), status: status(head[12])}
	if f.status > statusEnded {
		return frame{}, fmt.Errorf("frame with unknown status %d", f.status)
	}

	if length > headBytes {
		f.body = make([]byte, length-headBytes)
		if _, err := io.ReadFull(r, f.body); err != nil {
			return frame{}, io.ErrUnexpectedEOF
		}
	}

	return f, nil
}

// request begins a frame; sealed finishes it.
func request(id uint64, k kind) []byte {
	b := make([]byte, 4, 64)
	b = binary.LittleEndian.AppendUint64(b, id)
	return append(b, byte(k))
}

// sealed fills in a frame's length.
func sealed(b []byte) []byte {
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// texts appends length-prefixed strings.
func texts(b []byte, all ...string) ([]byte, error) {
	for _, s := range all {
		if len(s) > stringBytesMax || strings.IndexByte(s, 0) >= 0 {
			return nil, fmt.Errorf("%.80q is too long for the worker or contains a zero byte", s)
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(len(s)))
		b = append(b, s...)
	}
	if len(b)-4 > requestBytesMax {
		return nil, fmt.Errorf("paths and settings of %d bytes are too long for the worker", len(b))
	}
	return b, nil
}

var errShort = errors.New("answer of the wrong length")

// parseHello returns the version of WiredTiger.
func parseHello(f frame) (string, error) {
	if f.id != 0 || f.status != statusHello || len(f.body) < 8 || binary.LittleEndian.Uint32(f.body) != magic {
		return "", errors.New("not plimsoll-wiredtiger: it sent no hello message")
	}
	if v := binary.LittleEndian.Uint16(f.body[4:]); v != protocol {
		return "", fmt.Errorf("it speaks protocol version %d, but this program needs version %d: run make worker",
			v, protocol)
	}
	version := f.body[8:]
	if int(binary.LittleEndian.Uint16(f.body[6:])) != len(version) || len(version) > versionBytesMax {
		return "", errShort
	}
	return string(version), nil
}

// parseTime returns the time at the beginning of a body, and the rest.
func parseTime(body []byte) (time.Time, []byte, error) {
	if len(body) < 8 {
		return time.Time{}, nil, errShort
	}
	return time.Unix(0, int64(binary.LittleEndian.Uint64(body))), body[8:], nil
}

// parseRead parses the answer about a document.
func parseRead(body []byte) (seq uint64, size uint32, found bool, err error) {
	if len(body) != 13 || body[0] > 1 {
		return 0, 0, false, errShort
	}
	return binary.LittleEndian.Uint64(body[1:]), binary.LittleEndian.Uint32(body[9:]), body[0] == 1, nil
}

// A statistic is one of the engine's, such as "cache: bytes currently in the cache".
type statistic struct {
	section, name string
	value         int64
}

// parseStatistics reads lines "section: name\tvalue\n" and calls each for every line.
func parseStatistics(body []byte, each func(statistic)) error {
	for line := range strings.Lines(string(body)) {
		line, ended := strings.CutSuffix(line, "\n")
		if !ended {
			return fmt.Errorf("incomplete statistic: %.60q", line)
		}
		described, text, ok1 := strings.Cut(line, "\t")
		section, name, ok2 := strings.Cut(described, ": ")
		value, err := strconv.ParseInt(text, 10, 64)
		if !ok1 || !ok2 || err != nil {
			return fmt.Errorf("%.60q is not a statistic", line)
		}
		each(statistic{section, name, value})
	}
	return nil
}
