//go:build linux

package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/ioloop"
)

// A folder holds the probe's files. They have no names, so nothing is left of them however the
// process ends.
type folder struct {
	path  string
	files map[string]*os.File
}

// A Place is where a probe runs.
type Place struct {
	Parent string     // folder for the probe's files
	Free   units.Size // space available to this user
}

// inputError is an error in the user's input.
type inputError struct{ error }

// BadInput marks the error as the user's.
func (inputError) BadInput() {}

func inputf(format string, args ...any) error { return inputError{fmt.Errorf(format, args...)} }

// Look resolves a path, which must be a folder. One that does not exist is refused, because its
// parent may be on another device, for example if a volume is not mounted.
func Look(path string) (Place, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return Place{}, inputf("probe: %s does not exist: specify a folder on the device", path)
	}

	if err != nil {
		return Place{}, fmt.Errorf("probe: %w", err)
	}
	if !info.IsDir() {
		return Place{},
			inputf("probe: %s is not a folder, and existing files are never overwritten: specify a folder on the device",
				path)
	}

	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return Place{}, fmt.Errorf("probe: cannot determine the free space of %s: %w", path, err)
	}

	return Place{Parent: path, Free: units.Size(s.Bavail) * units.Size(s.Bsize)}, nil
}

// namePrefix begins the names that files briefly have on file systems that do not support nameless
// ones.
const namePrefix = ".plimsoll-probe-"

func newFolder(parent string) *folder {
	removeLeft(parent)
	return &folder{path: parent, files: map[string]*os.File{}}
}

// removeLeft removes files that a killed probe had no time to unlink. It does not affect a running
// probe.
func removeLeft(parent string) {
	left, _ := filepath.Glob(filepath.Join(escaped(parent), namePrefix+"*")) // only fails for a bad pattern
	for _, path := range left {
		if strings.Trim(strings.TrimPrefix(filepath.Base(path), namePrefix), "0123456789") != "" {
			continue // not one of our names
		}
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			_ = os.Remove(path) // best effort; a file with content is not ours
		}
	}
}

// escaped turns a path into a pattern that only matches this path.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// open creates a stream's file, which is invisible to other processes.
func (f *folder) open(s *Stream) (*os.File, error) {
	flags := os.O_RDWR
	if s.Direct {
		flags |= unix.O_DIRECT
	}

	file, err := os.OpenFile(f.path, flags|unix.O_TMPFILE, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.ENOENT) {
		file, err = openUnlinked(f.path, flags) // for example on NFS
	}

	if errors.Is(err, unix.EINVAL) && s.Direct {
		return nil,
			fmt.Errorf("probe: the file system at %s does not support direct I/O: specify a folder on the disk itself",
				f.path)
	}
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}

	f.files[s.Name] = file
	return file, nil
}

// openUnlinked creates a file and unlinks it.
func openUnlinked(dir string, flags int) (*os.File, error) {
	for {
		path := filepath.Join(dir, namePrefix+strconv.FormatUint(rand.Uint64(), 10)) //nolint:forbidigo // an unguessable name
		file, err := os.OpenFile(path, flags|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}

		rm := os.Remove(path) // also after an error: if O_DIRECT is rejected, the file exists
		if errors.Is(rm, os.ErrNotExist) {
			rm = nil
		}

		if err == nil && rm != nil {
			err = errors.Join(rm, file.Close())
		}

		return file, err
	}
}

// lay creates a file of the stream's size. Its blocks are written, or only allocated if Prewritten
// is false.
func lay(ctx context.Context, file *os.File, s *Stream, chance *random.Stream, done func(units.Size)) error {
	length := units.Size(ioloop.Aligned(int64(s.File)))
	if err := unix.Fallocate(int(file.Fd()), 0, 0, int64(length)); err != nil &&
		!errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("probe: cannot allocate %s: %w", length.String(), err)
	}

	// Allocated blocks that were never written cost a metadata update at their first write, which
	// is what such a stream measures.
	if s.Writes() && !s.Prewritten {
		done(length)
		return syncFile(file)
	}

	content := func(b []byte) { fill(b, chance) }
	err := ioloop.Lay(ctx, file, int64(length), content, func(n int64) { done(units.Size(n)) })
	if err != nil {
		return fmt.Errorf("probe: cannot write a file of %s: %w", length.String(), err)
	}

	return nil
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

// close frees the files.
func (f *folder) close() error {
	var all []error
	for _, file := range f.files {
		all = append(all, file.Close())
	}
	return errors.Join(all...)
}
