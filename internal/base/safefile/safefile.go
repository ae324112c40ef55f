// Package safefile writes a file into its place completely or not at all, follows no symbolic link
// planted there, and opens only regular files for reading.
package safefile

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Options control how a file is written. The zero value replaces an existing file.
type Options struct {
	// Mode is the mode of a new file. The process's umask may remove bits, but not the owner's. A
	// replaced file keeps its own mode, and its owner if the process may set it. 0 means 0o644.
	Mode fs.FileMode
	// New refuses a file that exists already, with an error that wraps [fs.ErrExist].
	New bool
}

const (
	defaultMode   = 0o644
	ownerMode     = 0o600
	tempSuffix    = ".plimsoll-tmp"
	tempNameTries = 10
)

// A File is being written. It appears under its name at Commit; until then its bytes are in a
// temporary file in the same folder.
type File struct {
	file   *os.File
	folder *os.Root
	name   string // in folder
	temp   string // in folder; "": committed or discarded
	path   string
	opt    Options
}

// Create starts to write the file at path, whose folder must exist. It refuses a symbolic link, a
// folder or a special file at path with a *[NotFileError]. The caller must call Commit or Discard.
func Create(path string, opt Options) (*File, error) {
	if opt.Mode == 0 {
		opt.Mode = defaultMode
	}

	switch filepath.Base(path) {
	case ".", "..", string(filepath.Separator):
		return nil, &NotFileError{Path: path, Mode: fs.ModeDir}
	}

	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, about(path, err)
	}

	f := &File{folder: folder, name: filepath.Base(path), path: path, opt: opt}
	if err := f.begin(); err != nil {
		return nil, errors.Join(about(path, err), folder.Close())
	}

	unfinished.add(f)
	return f, nil
}

// about makes an error name the file to be written instead of the temporary file.
func about(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return &fs.PathError{Op: p.Op, Path: path, Err: p.Err}
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		return &fs.PathError{Op: l.Op, Path: path, Err: l.Err}
	}
	return err
}

// cause returns the system's error without file names, which may be temporary ones.
func cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p) && !errors.Is(err, fs.ErrExist):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

func (f *File) begin() error {
	old, err := f.replaced()
	if err != nil {
		return err
	}

	f.sweep()
	mode := f.opt.Mode.Perm()
	if old != nil {
		mode = ownerMode // until it has the old file's owner
	}

	for range tempNameTries {
		// The name cannot be guessed, and O_EXCL refuses anything that exists, including links.
		f.temp = tempPrefix(f.name) + rand.Text() + tempSuffix
		f.file, err = f.folder.OpenFile(f.temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err == nil && f.swept() {
			err = errors.Join(fs.ErrExist, f.file.Close())
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}

	if err != nil {
		return err
	}

	if err := f.settleMode(old); err != nil {
		return errors.Join(err, f.file.Close(), f.folder.Remove(f.temp))
	}

	return nil
}

// sweep removes the temporary files that killed writers of the same file left. A live writer holds
// a lock on its own.
func (f *File) sweep() {
	entries, err := fs.ReadDir(f.folder.FS(), ".")
	if err != nil {
		return // a folder that may be written but not read
	}

	for _, e := range entries {
		if !e.Type().IsRegular() || !IsLeftover(e.Name()) || !strings.HasPrefix(e.Name(), tempPrefix(f.name)) {
			continue
		}
		left, err := f.folder.OpenFile(e.Name(), os.O_WRONLY|openNonblock, 0)
		if err != nil {
			continue // another user's
		}
		if ours, _, _ := flock(left, false, false); ours {
			_ = f.folder.Remove(e.Name()) // the next writer tries again
		}
		_ = left.Close()
	}
}

// swept locks the new temporary file. It reports whether another writer mistook it for a leftover and removed
// it before it was locked.
func (f *File) swept() bool {
	_, held, _ := flock(f.file, false, false)
	created, err := f.file.Stat()
	if err != nil {
		return false
	}
	there, err := f.folder.Lstat(f.temp)
	return held || err != nil || !os.SameFile(created, there)
}

// replaced returns the file to be replaced, or nil if there is none.
func (f *File) replaced() (fs.FileInfo, error) {
	old, err := f.folder.Lstat(f.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !old.Mode().IsRegular():
		return nil, &NotFileError{Path: f.path, Mode: old.Mode()}
	case f.opt.New:
		return nil, &fs.PathError{Op: "create", Path: f.path, Err: fs.ErrExist}
	}
	return old, nil
}

func (f *File) settleMode(old fs.FileInfo) error {
	if old == nil {
		// With a umask such as 0777, the writer could not read its own file.
		created, err := f.file.Stat()
		if err != nil || created.Mode().Perm()&ownerMode == f.opt.Mode&ownerMode {
			return err
		}
		return f.file.Chmod(created.Mode().Perm() | f.opt.Mode&ownerMode)
	}

	// The owner comes before the mode: changing the owner may clear bits of the mode.
	keepOwner(f.file, old)
	return f.file.Chmod(old.Mode().Perm())
}

// tempPrefix returns the prefix of the names of all temporary files for one file.
func tempPrefix(name string) string { return "." + name + "." }

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	return n, about(f.path, err)
}

// Commit waits until the bytes are on stable storage and moves the file into its place in one step.
// On an error nothing has changed, and the temporary file is gone.
func (f *File) Commit() (err error) {
	if f.temp == "" {
		return fs.ErrClosed
	}

	defer func() { err = errors.Join(err, f.folder.Close()) }()
	err = f.file.Sync()
	if !renamesOpen {
		err = errors.Join(err, f.file.Close())
	}

	if err == nil {
		_, err = f.replaced() // the path may have become something else since Create
	}

	if err == nil {
		err = f.place()
	}

	if renamesOpen {
		err = errors.Join(err, f.file.Close()) // and releases the lock
	}

	temp := f.temp
	f.temp = ""
	unfinished.remove(f)

	if err != nil {
		err = fmt.Errorf("write %s: %w", f.path, cause(err))
		if left := f.folder.Remove(temp); left != nil && !errors.Is(left, fs.ErrNotExist) {
			err = errors.Join(err, left)
		}
		return err
	}

	return f.syncFolder()
}

// place gives the file its name. A rename replaces a link that was planted meanwhile; it does not
// follow it.
func (f *File) place() error {
	// A link fails if the name exists; a rename would replace it.
	if f.opt.New {
		err := f.folder.Link(f.temp, f.name)
		if err == nil {
			return f.folder.Remove(f.temp)
		}
		if errors.Is(err, fs.ErrExist) {
			return &fs.PathError{Op: "create", Path: f.path, Err: fs.ErrExist}
		}
		// The file system has no hard links.
	}
	return f.folder.Rename(f.temp, f.name)
}

// syncFolder makes the name durable.
func (f *File) syncFolder() error {
	dir, err := f.folder.Open(".")
	if err != nil {
		return nil //nolint:nilerr // a folder that may be written but not read
	}
	// Some file systems cannot sync a folder. The file is in its place regardless.
	_ = dir.Sync()
	return dir.Close()
}

// Discard abandons the write: an existing file stays as it was. After Commit it does nothing.
func (f *File) Discard() error {
	if f.temp == "" {
		return nil
	}
	temp := f.temp
	f.temp = ""
	unfinished.remove(f)
	return errors.Join(f.file.Close(), f.folder.Remove(temp), f.folder.Close())
}

// Write writes the file at path as [Create] and Commit do.
func Write(path string, data []byte, opt Options) error {
	f, err := Create(path, opt)
	if err != nil {
		return err
	}
	if _, err := bytes.NewReader(data).WriteTo(f); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit()
}

// RemoveLeftovers removes the temporary files that killed writers of path left. The caller must
// ensure that no other writer of path is running.
func RemoveLeftovers(path string) error {
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}

	defer folder.Close()
	entries, err := fs.ReadDir(folder.FS(), ".")
	if err != nil {
		return err
	}

	for _, e := range entries {
		if e.Type().IsRegular() && IsLeftover(e.Name()) &&
			strings.HasPrefix(e.Name(), tempPrefix(filepath.Base(path))) {
			err = errors.Join(err, folder.Remove(e.Name()))
		}
	}

	return err
}

// IsLeftover reports whether a name is that of a temporary file.
func IsLeftover(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, tempSuffix)
}
