//go:build linux

// Package ioloop provides what loops of direct I/O need: memory suitable for O_DIRECT, and files
// whose blocks are written before the measurement.
package ioloop

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Alignment is the largest alignment that O_DIRECT requires of addresses, offsets and lengths, on
// file systems with blocks of 4 KiB.
const Alignment = 4096

// Aligned rounds a length up to Alignment.
func Aligned(bytes int64) int64 { return (bytes + Alignment - 1) / Alignment * Alignment }

// Buffer returns zeroed, page-aligned memory outside the Go heap. Free it with unix.Munmap.
func Buffer(bytes int64) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, int(max(bytes, 1)), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("cannot allocate %d bytes of memory: %w", bytes, err)
	}
	return b, nil
}

// layBytes is the size of each write.
const layBytes = 1 << 20

// Lay writes a file from its start up to a length, which must be aligned if the file is open for
// direct I/O, and syncs it. fill provides the content, which is repeated; nil means zeros. done is
// called with the bytes of each write.
func Lay(ctx context.Context, f *os.File, length int64, fill func([]byte), done func(bytes int64)) error {
	b, err := Buffer(layBytes)
	if err != nil {
		return err
	}

	if fill != nil {
		fill(b)
	}

	for at := int64(0); at < length && err == nil; {
		if err = ctx.Err(); err != nil {
			break
		}
		var n int
		n, err = f.WriteAt(b[:min(layBytes, length-at)], at)
		at += int64(n)
		done(int64(n))
	}

	if err == nil {
		err = f.Sync()
	}

	return errors.Join(err, unix.Munmap(b))
}
