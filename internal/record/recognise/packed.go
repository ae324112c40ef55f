package recognise

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
	opened := &packed{path: path, bytes: info.Size(), modified: info.ModTime()}

	// Only regular files, because opening a pipe would wait for its writer.
	f, err := safefile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open source: %w", err)
	}

	defer f.Close()
	magic := make([]byte, 4)
	length, err := io.ReadFull(f, magic)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("open source %s: %w", path, err)
	}

	for _, m := range magics {
		if bytes.HasPrefix(magic[:length], []byte(m.bytes)) {
			opened.kind, opened.bytes = m.kind, 0
		}
	}

	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("open source %s: %w", path, err)
	}

	r, err := opened.unpack(f)
	if err != nil {
		return nil, err
	}

	defer r.Close()
	opened.head = make([]byte, headBytes)
	length, err = io.ReadFull(r, opened.head)
	opened.head = opened.head[:length]

	// A truncated file is still recognised by its beginning.
	if length == 0 && err != nil && !errors.Is(err, io.EOF) {
		return nil, opened.damaged(err)
	}

	// The beginning decides for the whole file, because it must be read the same way each time.
	if opened.stripped = decorated(opened.head); opened.stripped {
		opened.head, _ = io.ReadAll(newUndecorated(bytes.NewReader(opened.head)))
	}

	return opened, nil
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
	return &unpacked{Reader: newUndecorated(r), of: p, close: func() { r.Close() }}, nil
}

// unpack returns a reader of f, decompressed. Closing it also closes f.
func (p *packed) unpack(f *os.File) (io.ReadCloser, error) {
	fail := func(err error) (io.ReadCloser, error) {
		f.Close()
		return nil, p.damaged(err)
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
		return &unpacked{Reader: z, of: p, close: func() { z.Close(); f.Close() }}, nil
	case zst:
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindowMax))
		if err != nil {
			return fail(err)
		}
		return &unpacked{Reader: z, of: p, close: func() { z.Close(); f.Close() }}, nil
	case bz2:
		return &unpacked{Reader: bzip2.NewReader(f), of: p, close: func() { f.Close() }}, nil
	}

	return f, nil
}

// An unpacked reads a file decompressed.
type unpacked struct {
	io.Reader
	of    *packed
	close func()
}

// Read implements [io.Reader]. Its errors describe the file, not the decoder.
func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = u.of.damaged(err)
	}
	return n, err
}

// A damage is the error of a compressed file that cannot be decompressed. Decoders describe their own state
// ("match offset bigger than current history"), which does not help the author of the file.
type damage struct {
	text string
	err  error
}

func (d *damage) Error() string { return d.text }
func (d *damage) Unwrap() error { return d.err }

// damaged explains a decoder's error. Errors of the file system keep their own text.
func (p *packed) damaged(err error) error {
	var known *damage
	var system *fs.PathError
	if errors.As(err, &known) || errors.As(err, &system) {
		return err
	}

	why := fmt.Sprintf("its content is damaged (%s -t tests it): copy it again", p.kind)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		why = "it ends in the middle: copy it again, or wait until it is written"
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		why = fmt.Sprintf("it needs more than %d MiB of memory: compress it without --long", zstdWindowMax>>20)
	case errors.Is(err, zstd.ErrUnknownDictionary):
		why = "it needs a dictionary: compress it without -D"
	}

	return &damage{fmt.Sprintf("cannot decompress %s, which starts like a file compressed with %s: %s", p.path,
		p.kind, why), err}
}

func (u *unpacked) Close() error {
	u.close()
	return nil
}
