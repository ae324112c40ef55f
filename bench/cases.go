package main

import (
	"bufio"
	"bytes"
	stdzlib "compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zlib"
	"golang.org/x/sync/errgroup"

	"plimsoll/internal/engine/mongodb/ftdc"
	"plimsoll/internal/engine/mongodb/ftdctest"
	"plimsoll/internal/engine/mongodb/names"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// measure runs a case in this process.
func measure(name, path string, cores int) (r result, err error) {
	from, cpu := time.Now(), cpuSeconds()
	switch name {
	case "inflate":
		err = inflate(path, func(src io.Reader) (io.ReadCloser, error) { return zlib.NewReader(src) })
	case "inflate-std":
		err = inflate(path, func(src io.Reader) (io.ReadCloser, error) { return stdzlib.NewReader(src) })
	case "ours":
		r, err = read(path, source.Options{Parallel: cores})
	case "ours-150":
		var want func(string) bool
		if want, err = want150(path); err == nil {
			r, err = read(path, source.Options{Parallel: cores, Want: want})
		}
	default:
		err = fmt.Errorf("unknown case %q", name)
	}

	r.Seconds, r.CPU = time.Since(from).Seconds(), cpuSeconds()-cpu
	r.PeakKB = peakKB()
	return r, err
}

// A counter is a writer that counts the samples written to it.
type counter struct{ values atomic.Int64 }

func (c *counter) Append(_ context.Context, b *recording.Batch) error {
	c.values.Add(int64(len(b.Columns)) * int64(len(b.TimesMs)))
	return nil
}
func (c *counter) Note(recording.Note)     {}
func (c *counter) Source(recording.Source) {}

func read(path string, opt source.Options) (result, error) {
	src, err := ftdc.Open(path)
	if err != nil {
		return result{}, err
	}
	var c counter
	if err := src.Read(context.Background(), &c, opt); err != nil {
		return result{}, err
	}
	return result{Samples: src.Describe().Samples, Values: c.values.Load()}, nil
}

// want150 selects 150 metrics of the capture's first chunk, spread evenly: about as many as a rule pack
// reads.
func want150(path string) (func(string) bool, error) {
	files, err := ftdc.Files(path)
	if err != nil {
		return nil, err
	}

	f, err := os.Open(files[0])
	if err != nil {
		return nil, err
	}

	defer f.Close()
	c, err := ftdc.NewScanner(files[0], f).Next()
	if err != nil {
		return nil, err
	}

	wanted := map[string]bool{}
	for i := 0; i < c.Schema.Len(); i += max(1, c.Schema.Len()/150) {
		if l, ok := names.Metric(c.Schema.Path(i)); ok {
			wanted[l.Get("__name__")] = true
		}
	}

	return func(name string) bool { return wanted[name] }, nil
}

// inflate reads the files and inflates each chunk into the same memory: the least that any reader
// must do. It parses only the chunks' positions, and expects undamaged files.
func inflate(path string, open func(io.Reader) (io.ReadCloser, error)) error {
	files, err := filesOf(path)
	if err != nil {
		return err
	}

	var z io.ReadCloser
	var src bytes.Reader

	var doc, out []byte
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}

		defer f.Close()
		in := bufio.NewReaderSize(f, 128<<10)
		for {
			var size [4]byte
			if _, err := io.ReadFull(in, size[:]); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}

			n := int(binary.LittleEndian.Uint32(size[:])) - 4
			if n < 37 || n > 16<<20 {
				return fmt.Errorf("%s: not whole", name)
			}

			doc = append(doc[:0], make([]byte, n)...)
			if _, err := io.ReadFull(in, doc); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}

			// _id and type take 23 bytes, the header of the field data 11 more.
			if doc[19] != 1 {
				continue
			}

			data := doc[23+11:]
			length := int(binary.LittleEndian.Uint32(data))
			if cap(out) < length {
				out = make([]byte, length)
			}

			src.Reset(data[4:])
			if z == nil {
				z, err = open(&src)
			} else {
				err = z.(stdzlib.Resetter).Reset(&src, nil)
			}

			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}

			if _, err := io.ReadFull(z, out[:length]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}

			// The end of the stream, where the checksum is.
			if n, err := z.Read(size[:1]); n != 0 || !errors.Is(err, io.EOF) {
				return fmt.Errorf("%s: %d bytes more than stated, %w", name, n, err)
			}
		}
	}

	return nil
}

// generate makes a folder of at least size bytes, in 10 MB files like a server's, with consecutive times. The
// files differ only in their times; reading them costs as much as reading any other content.
func generate(dir string, size int64) error {
	const fileBytes = 10 << 20
	const fileMs = 24 * 3600 * 1000 // more than a file's samples
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())

	// Rounded up, so that a size below that of one file still makes a file.
	for i := range (size + fileBytes - 1) / fileBytes {
		group.Go(func() error {
			server := ftdctest.NewServer(1)
			server.StartMs += i * fileMs
			var b bytes.Buffer

			if err := server.Metadata(&b); err != nil {
				return err
			}

			// Chunks are written whole: the last one may exceed the size a little.
			for int64(b.Len()) < min(fileBytes, size-i*fileBytes) {
				if err := server.Chunk(&b); err != nil {
					return err
				}
			}

			return os.WriteFile(filepath.Join(dir, fmt.Sprintf("metrics.%05d", i)), b.Bytes(), 0o644)
		})
	}

	return group.Wait()
}
