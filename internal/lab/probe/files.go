//go:build linux

package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
)

// A folder holds the probe's files, which are unlinked as soon as they are open.
type folder struct {
	path  string
	files map[string]*os.File
}

// A Place is where a probe works.
type Place struct {
	Parent string     // where the probe makes its own folder
	Free   units.Size // the space available to this user
}

// Look resolves a path: a folder, or a name in one that does not exist yet.
func Look(path string) (Place, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		path = filepath.Dir(path)
		info, err = os.Stat(path)
	}
	if err != nil {
		return Place{}, fmt.Errorf("probe: %w", err)
	}
	if !info.IsDir() {
		return Place{}, fmt.Errorf("probe: %s exists and is not a folder: existing files are never overwritten; give a folder on the device", path)
	}
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return Place{}, fmt.Errorf("probe: free space of %s: %w", path, err)
	}
	return Place{Parent: path, Free: units.Size(s.Bavail) * units.Size(s.Bsize)}, nil
}

func newFolder(parent string) (*folder, error) {
	path, err := os.MkdirTemp(parent, ".plimsoll-probe-")
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	return &folder{path: path, files: map[string]*os.File{}}, nil
}

// open makes a stream's file. Afterwards no other process can see it.
func (f *folder) open(s *Stream) (*os.File, error) {
	path := filepath.Join(f.path, s.Name)
	flags := os.O_RDWR | os.O_CREATE | os.O_EXCL
	if s.Direct {
		flags |= unix.O_DIRECT
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err == nil {
		f.files[s.Name] = file
	}
	rm := os.Remove(path)
	if errors.Is(err, unix.EINVAL) && s.Direct {
		return nil, fmt.Errorf("probe: the file system at %s does not support direct I/O: give a folder on the disk itself", f.path)
	}
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	if rm != nil {
		return nil, fmt.Errorf("probe: %w", rm)
	}
	return file, nil
}

// layBytes is written at a time when a file is laid out.
const layBytes = 1 << 20

// lay makes a file of the stream's size. Its blocks are written or, if not Prewritten, only
// allocated.
func lay(ctx context.Context, file *os.File, s *Stream, chance *random.Stream, done func(units.Size)) error {
	length := (s.File + alignment - 1) / alignment * alignment
	if err := unix.Fallocate(int(file.Fd()), 0, 0, int64(length)); err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("probe: allocating %s: %w", length.String(), err)
	}
	if s.Writes() && !s.Prewritten {
		done(length)
		return syncFile(file)
	}
	b, err := buffer(layBytes)
	if err != nil {
		return err
	}
	fill(b, chance)
	for at := units.Size(0); at < length && err == nil; at += layBytes {
		if err = ctx.Err(); err != nil {
			break
		}
		n := min(layBytes, length-at)
		_, err = file.WriteAt(b[:n], int64(at))
		done(n)
	}
	if err == nil {
		err = syncFile(file)
	}
	if err != nil {
		err = fmt.Errorf("probe: laying out a file of %s: %w", length.String(), err)
	}
	return errors.Join(err, unix.Munmap(b))
}

func syncFile(file *os.File) error {
	if err := file.Sync(); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	return nil
}

// fill fills b with data that neither compresses nor repeats.
func fill(b []byte, chance *random.Stream) {
	for i := 0; i+8 <= len(b); i += 8 {
		x := chance.Uint64()
		for j := range 8 {
			b[i+j] = byte(x >> (8 * j))
		}
	}
}

// close frees the files and removes the folder.
func (f *folder) close() error {
	var all []error
	for _, file := range f.files {
		all = append(all, file.Close())
	}
	return errors.Join(append(all, os.Remove(f.path))...)
}
