package sources

import (
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plimsoll/internal/base/safefile"
)

const (
	// headBytes is how much of a file is read to recognise it. fio prints warnings before its JSON,
	// and a log may start with lines of another program.
	headBytes = 64 << 10
	// zstdWindowMax bounds the memory that a compressed file may require: the limit of the zstd
	// command without --long.
	zstdWindowMax = 128 << 20
)

// packing is the compression of a file.
type packing string

const (
	plain packing = ""
	gz    packing = "gzip"
	zst   packing = "zstd"
	bz2   packing = "bzip2"
)

var magics = []struct {
	bytes string
	kind  packing
}{{"\x1f\x8b", gz}, {"\x28\xb5\x2f\xfd", zst}, {"BZh", bz2}}

// packed is a file, compressed or not.
type packed struct {
	path     string
	kind     packing
	head     []byte // the first bytes, decompressed, without decoration
	stripped bool   // it is read without terminal decoration; see [decorated]
	bytes    int64  // decompressed, 0 if unknown
	modified time.Time
}

// openPacked reads the beginning of a file.
func openPacked(path string, info fs.FileInfo) (*packed, error) {
	p := &packed{path: path, bytes: info.Size(), modified: info.ModTime()}

	// Only regular files, because opening a pipe would wait for its writer.
	f, err := safefile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open source: %w", err)
	}

	defer f.Close()
	magic := make([]byte, 4)
	n, err := io.ReadFull(f, magic)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("open source %s: %w", path, err)
	}

	for _, m := range magics {
		if bytes.HasPrefix(magic[:n], []byte(m.bytes)) {
			p.kind, p.bytes = m.kind, 0
		}
	}

	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("open source %s: %w", path, err)
	}

	r, err := p.unpack(f)
	if err != nil {
		return nil, err
	}

	defer r.Close()
	p.head = make([]byte, headBytes)
	n, err = io.ReadFull(r, p.head)
	p.head = p.head[:n]

	// A truncated file is still recognised by its beginning.
	if n == 0 && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot decompress %s, which starts like a file compressed with %s: %w", path,
			p.kind, err)
	}

	// The beginning decides for the whole file, because it must be read the same way each time.
	if p.stripped = decorated(p.head); p.stripped {
		p.head, _ = io.ReadAll(newUndecorated(bytes.NewReader(p.head)))
	}

	return p, nil
}

// open opens the file from its start, decompressed.
func (p *packed) open() (io.ReadCloser, error) {
	f, err := safefile.Open(p.path)
	if err != nil {
		return nil, err
	}
	r, err := p.unpack(f)
	if err != nil || !p.stripped {
		return r, err
	}
	return &unpacked{Reader: newUndecorated(r), close: func() { r.Close() }}, nil
}

// unpack returns a reader of f, decompressed. Closing it also closes f.
func (p *packed) unpack(f *os.File) (io.ReadCloser, error) {
	fail := func(err error) (io.ReadCloser, error) {
		f.Close()
		return nil, fmt.Errorf("cannot decompress %s, which starts like a file compressed with %s: %w", p.path,
			p.kind, err)
	}

	switch p.kind {
	case gz:
		z, err := gzip.NewReader(f)
		if err != nil {
			return fail(err)
		}
		if !z.ModTime.IsZero() {
			p.modified = z.ModTime // when the original file was last written
		}
		return &unpacked{Reader: z, close: func() { z.Close(); f.Close() }}, nil
	case zst:
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindowMax))
		if err != nil {
			return fail(err)
		}
		return &unpacked{Reader: z, close: func() { z.Close(); f.Close() }}, nil
	case bz2:
		return &unpacked{Reader: bzip2.NewReader(f), close: func() { f.Close() }}, nil
	}

	return f, nil
}

type unpacked struct {
	io.Reader
	close func()
}

func (u *unpacked) Close() error {
	u.close()
	return nil
}
