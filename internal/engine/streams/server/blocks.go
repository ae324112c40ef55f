//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/random"
	"plimsoll/internal/lab/ioloop"
)

// dataMax limits the extent of random blocks, because data must be written before it is read.
const dataMax = 512 << 20

// A blockFile is read and written in random blocks, bypassing the page cache.
type blockFile struct {
	path   string
	block  int64
	blocks uint64

	mu    sync.Mutex
	file  *os.File
	gone  map[uint64]uint64 // maps a key to the seq that another key's block overwrote
	owner map[uint64]record // maps a block to its content
	locks [64]sync.Mutex    // serializes the writes of a block
}

func createBlocks(ctx context.Context, path string, block, extent int64,
	progress func(done, total int64)) (*blockFile, error) {
	f := &blockFile{path: path, block: block, blocks: uint64(extent / block), gone: map[uint64]uint64{},
		owner: map[uint64]record{}}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_DIRECT, 0o600)
	if err != nil {
		return nil, err
	}

	total, written := ioloop.Aligned(extent), int64(0)
	err = ioloop.Lay(ctx, file, total, nil, func(n int64) {
		written += n
		progress(written, total)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("laying out the data: %w", err), file.Close())
	}

	f.file = file
	return f, nil
}

func (f *blockFile) handle() (*os.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil, errDown
	}
	return f.file, nil
}

// read reads a random block into b.
func (f *blockFile) read(b []byte, chance *random.Stream) error {
	file, err := f.handle()
	if err == nil {
		_, err = file.ReadAt(b, int64(chance.Below(f.blocks))*f.block)
	}
	return err
}

// blockOf is the position of a key's block: pseudo-random but constant.
func (f *blockFile) blockOf(key uint64) uint64 { return random.Mix64(key) % f.blocks }

// write writes a key's block.
func (f *blockFile) write(b []byte, r record) error {
	file, err := f.handle()
	if err != nil {
		return err
	}

	at := f.blockOf(r.key)
	lock := &f.locks[at%uint64(len(f.locks))]
	lock.Lock()
	defer lock.Unlock()
	r.put(b)
	f.mu.Lock()

	// Keys share blocks; remember the overwritten one, which was durable while it existed.
	if was, ok := f.owner[at]; ok && was.key != r.key {
		f.gone[was.key] = max(f.gone[was.key], was.seq)
	}

	f.owner[at] = r
	f.mu.Unlock()
	_, err = file.WriteAt(b, int64(at)*f.block)

	return err
}

func (f *blockFile) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	file := f.file
	f.file = nil
	if file == nil {
		return nil
	}
	return file.Close()
}

// open reopens the file and, if find is set, reads the records in it.
func (f *blockFile) open(find bool) error {
	// Direct, because reads through the page cache would measure memory.
	file, err := os.OpenFile(f.path, os.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		return err
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	f.file = file

	if !find {
		return nil
	}

	// A plain file needs no aligned buffer, and the kernel reads ahead.
	plain, err := os.Open(f.path)
	if err != nil {
		return err
	}

	defer plain.Close()
	clear(f.owner)

	b := make([]byte, f.block)
	for at := range f.blocks {
		if _, err := io.ReadFull(plain, b); err != nil {
			return fmt.Errorf("scanning the data: %w", err)
		}
		if r, _, ok := take(b); ok {
			f.owner[at] = r
		}
	}

	return nil
}

// find returns the content of a key's block, or its content before another key overwrote it.
func (f *blockFile) find(key uint64) (seq uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seq, ok = f.gone[key]
	if r, there := f.owner[f.blockOf(key)]; there && r.key == key {
		seq, ok = max(seq, r.seq), true
	}
	return seq, ok
}
