//go:build linux

package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/base/units"
)

// An image holds a disk's bytes. A range that was never written reads as zeros.
type image interface {
	read(p []byte, off int64) error
	write(p []byte, off int64) error
	// discard drops a range, which then reads as zeros.
	discard(off, n int64) error
	// resident returns roughly how many bytes the image occupies.
	resident() int64
	close() error
}

// errNoRoom is returned by a write if the backing store is full.
var errNoRoom = errors.New("no space is left for the image")

// A memory image is anonymous memory. Its size is only an address range: it occupies only the
// chunks that were written. A disk of 500 GiB can therefore be emulated as long as little of it is
// used.
type memory struct {
	bytes  []byte
	chunks []bool // whether each chunk was written
	used   int64  // number of chunks in use
	most   int64  // maximum number of chunks
}

// chunkBytes is the granularity at which a memory image accounts for its memory.
const chunkBytes = 64 << 10

// keepBytes is the memory left for the rest of the machine: the database that uses the image needs some.
const keepBytes = 1 << 30

func newMemory(size units.Size, most units.Size) (*memory, error) {
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil,
			fmt.Errorf("cannot allocate memory for an image of %s: %w: keep it in a file, or make the volume smaller",
				size.Exact(), err)
	}
	// With huge pages, the first write of 4 KiB would have to zero 2 MiB, which takes noticeable
	// time.
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	return &memory{bytes: b, chunks: make([]bool, (int64(size)+chunkBytes-1)/chunkBytes),
		most: int64(most) / chunkBytes}, nil
}

func (m *memory) read(p []byte, off int64) error {
	copy(p, m.bytes[off:])
	return nil
}

func (m *memory) write(p []byte, off int64) error {
	for c := off / chunkBytes; c <= (off+int64(len(p))-1)/chunkBytes; c++ {
		if !m.chunks[c] {
			if m.used >= m.most {
				return errNoRoom
			}
			m.chunks[c] = true
			m.used++
		}
	}
	copy(m.bytes[off:], p)
	return nil
}

func (m *memory) discard(off, n int64) error {
	// Only whole chunks can be given back; their edges are zeroed.
	first, end := (off+chunkBytes-1)/chunkBytes, (off+n)/chunkBytes
	if first >= end {
		clear(m.bytes[off : off+n])
		return nil
	}

	clear(m.bytes[off : first*chunkBytes])
	clear(m.bytes[end*chunkBytes : off+n])

	for c := first; c < end; c++ {
		if m.chunks[c] {
			m.chunks[c] = false
			m.used--
		}
	}

	return unix.Madvise(m.bytes[first*chunkBytes:end*chunkBytes], unix.MADV_DONTNEED)
}

func (m *memory) resident() int64 { return m.used * chunkBytes }
func (m *memory) close() error    { return unix.Munmap(m.bytes) }

// A file image is a new file that is removed when it is closed.
type file struct {
	*os.File
	size int64
}

// newFile creates the file at path, which must not exist. All its blocks are allocated, so that
// writes do not change the host file system's metadata.
func newFile(path string, size units.Size) (*file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot create the image file: %w", err)
	}

	if err := unix.Fallocate(int(f.Fd()), 0, 0, int64(size)); err != nil {
		_ = f.Close()
		_ = os.Remove(path)
		if errors.Is(err, syscall.ENOSPC) {
			return nil,
				fmt.Errorf("%s has no space for an image of %s: use another folder, or make the volume smaller",
					filepath.Dir(path), size.Exact())
		}
		return nil, fmt.Errorf("cannot allocate the image file: %w", err)
	}

	return &file{f, int64(size)}, nil
}

func (f *file) read(p []byte, off int64) error {
	_, err := f.ReadAt(p, off)
	return err
}

func (f *file) write(p []byte, off int64) error {
	_, err := f.WriteAt(p, off)
	return err
}

func (f *file) discard(off, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_ZERO_RANGE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}

func (f *file) resident() int64 { return f.size }

func (f *file) close() error {
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// memoryAvailable returns how much memory the machine can provide without swapping (MemAvailable in
// /proc/meminfo).
func memoryAvailable() (units.Size, error) {
	n, err := procfs.Memory("MemAvailable")
	if err != nil {
		return 0, fmt.Errorf("cannot read the available memory: %w", err)
	}
	return units.Size(n), nil
}
