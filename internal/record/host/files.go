package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// files reads the same few files repeatedly. It keeps them open: reading a file in /proc from the
// start returns new content, and opening takes longer than reading.
type files struct {
	root   string
	open   map[string]*os.File
	buffer []byte
}

// filesMax bounds the number of open files.
const filesMax = 128

// fileBytesFirst is large enough for nearly all files.
const fileBytesFirst = 16 << 10

func newFiles(root string) *files { return &files{root: root, open: map[string]*os.File{}} }

// read returns the content of a file, which is valid until the next call.
func (f *files) read(name string) ([]byte, error) {
	if file := f.open[name]; file != nil {
		b, err := f.from(file)
		if err == nil {
			return b, nil
		}
		// For example, a cgroup was removed; there may be a new one with the same name.
		_ = file.Close()
		delete(f.open, name)
	}

	file, err := os.Open(filepath.Join(f.root, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}

	b, err := f.from(file)
	if err != nil || len(f.open) >= filesMax {
		_ = file.Close() // it was only read
		return b, err
	}

	f.open[name] = file
	return b, nil
}

func (f *files) from(file *os.File) ([]byte, error) {
	if f.buffer == nil {
		f.buffer = make([]byte, fileBytesFirst)
	}
	for n := 0; ; {
		got, err := file.ReadAt(f.buffer[n:], int64(n))
		n += got
		if errors.Is(err, io.EOF) {
			return f.buffer[:n], nil
		}
		if err != nil {
			return nil, err
		}
		if n > fileBytesMax {
			return nil, fmt.Errorf("%s: more than %d bytes", file.Name(), fileBytesMax)
		}

		// Doubling keeps the buffer for later reads.
		f.buffer = append(f.buffer, make([]byte, len(f.buffer))...)
	}
}

// close closes the open files.
func (f *files) close() {
	for name, file := range f.open {
		_ = file.Close() // it was only read
		delete(f.open, name)
	}
}
