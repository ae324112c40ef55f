package ftdc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
)

// MaxInflated limits a chunk's inflated bytes, as the server's own reader does
// (src/mongo/db/ftdc/decompressor.cpp). The stated length is checked against it before anything
// is inflated, and a stream that exceeds its stated length is an error. So a chunk's memory is
// known from its header.
const MaxInflated = 10_000_000

// inflateKeep is the most memory kept for the next chunk; an unusually large buffer is dropped. A typical
// chunk inflates to 150 to 250 KB.
const inflateKeep = 8 << 20

// An inflater inflates chunks one after the other, reusing its memory, which grows with the bytes that
// arrive, not with the stated length.
type inflater struct {
	src  bytes.Reader
	zlib io.ReadCloser
	buf  bytes.Buffer
}

// inflatedLen returns the inflated length that a chunk states.
func inflatedLen(data []byte) (int, error) {
	if len(data) < 4 {
		return 0, errors.New("chunk of less than 4 bytes has no length")
	}
	n := binary.LittleEndian.Uint32(data)
	if n > MaxInflated {
		return 0, fmt.Errorf("chunk states an inflated length of %d bytes; at most %d are read", n, MaxInflated)
	}
	return int(n), nil
}

// inflate returns the chunk's bytes followed by deltaPad zero bytes, valid until the next call.
func (f *inflater) inflate(data []byte) ([]byte, error) {
	want, err := inflatedLen(data)
	if err != nil {
		return nil, err
	}

	if f.buf.Cap() > inflateKeep {
		f.buf = bytes.Buffer{}
	}

	f.src.Reset(data[4:])
	if f.zlib == nil {
		f.zlib, err = zlib.NewReader(&f.src)
	} else {
		err = f.zlib.(zlib.Resetter).Reset(&f.src, nil)
	}

	if err != nil {
		f.zlib = nil
		return nil, errors.New("cannot be decompressed: it does not begin like zlib data")
	}

	// Reading one extra byte detects a longer stream and makes the reader verify the checksum.
	f.buf.Reset()
	got, err := f.buf.ReadFrom(io.LimitReader(f.zlib, int64(want)+1))
	switch {
	case got > int64(want):
		return nil, fmt.Errorf("inflates to more than the %d bytes it states", want)
	case errors.Is(err, zlib.ErrChecksum):
		return nil, errors.New("cannot be decompressed: its checksum is wrong")
	case err != nil:
		return nil, fmt.Errorf("cannot be decompressed: damaged or torn after %d of %d bytes", got, want)
	case got < int64(want):
		return nil, fmt.Errorf("inflates to %d bytes, but states %d", got, want)
	}

	f.buf.Write(make([]byte, deltaPad))
	return f.buf.Bytes(), nil
}
