// Package safefile writes a file whole into its place or not at all, follows no symbolic link that
// somebody put there, and opens for reading only what is a file.
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

// Options say how a file is written. The zero value replaces what is there.
type Options struct {
	// Mode is the mode of a new file; the process' umask may take bits away, but not the owner's. A
	// file that is replaced keeps its own mode, and its owner where the process may set it.
	// 0 means 0o644.
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

// A File is being written. It appears under its name at Commit; until then its bytes are in a file
// of another name in the same folder.
type File struct {
	file   *os.File
	folder *os.Root
	name   string // in folder
	temp   string // in folder; "": committed or discarded
	path   string
	opt    Options
}

// Create begins to write the file at path. Its folder must exist. A symbolic link, a folder or a
// special file at path is refused with a *[NotFileError]. The caller ends with Commit or Discard.
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

// about names the file that was to be written instead of one beside it.
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

// cause is the system's error without the names of files, which are not the user's.
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
		// The name cannot be guessed, and O_EXCL refuses whatever stands there, links included.
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

// sweep removes the temporary files of killed writers of the same file. A writer that lives has its
// own locked.
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
		if ours, _ := tryLock(left); ours {
			_ = f.folder.Remove(e.Name()) // the next writer tries again
		}
		_ = left.Close()
	}
}

// swept locks the new temporary file. It reports whether another writer took it for a killed one's
// before it was locked.
func (f *File) swept() bool {
	_, held := tryLock(f.file)
	is, err := f.file.Stat()
	if err != nil {
		return false
	}
	there, err := f.folder.Lstat(f.temp)
	return held || err != nil || !os.SameFile(is, there)
}

// replaced is the file that is to be replaced, nil if there is none.
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
		// A umask such as 0777 would leave a file that its own writer cannot read.
		is, err := f.file.Stat()
		if err != nil || is.Mode().Perm()&ownerMode == f.opt.Mode&ownerMode {
			return err
		}
		return f.file.Chmod(is.Mode().Perm() | f.opt.Mode&ownerMode)
	}
	keepOwner(f.file, old)
	return f.file.Chmod(old.Mode().Perm())
}

// tempPrefix begins the names of all temporary files for one name.
func tempPrefix(name string) string { return "." + name + "." }

// Write implements io.Writer.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	return n, about(f.path, err)
}

// Commit waits until the bytes are on stable storage and puts the file into its place in one step.
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
		_, err = f.replaced() // what stood there when it began may be something else now
	}

	if err == nil {
		err = f.place()
	}

	if renamesOpen {
		err = errors.Join(err, f.file.Close()) // and gives up the lock
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

// place gives the file its name. A rename replaces a link that was put there meanwhile; it does not
// follow it.
func (f *File) place() error {
	if f.opt.New {
		err := f.folder.Link(f.temp, f.name)
		if err == nil {
			return f.folder.Remove(f.temp)
		}
		if errors.Is(err, fs.ErrExist) {
			return &fs.PathError{Op: "create", Path: f.path, Err: fs.ErrExist}
		}
		// A file system without hard links.
	}
	return f.folder.Rename(f.temp, f.name)
}

// syncFolder makes the name durable.
func (f *File) syncFolder() error {
	dir, err := f.folder.Open(".")
	if err != nil {
		return nil //nolint:nilerr // a folder that may be written but not read
	}
	// A file system that cannot sync a folder says so; the file is in its place all the same.
	_ = dir.Sync()
	return dir.Close()
}

// Discard gives the file up: what stood in its place stays. After Commit it does nothing.
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

// RemoveLeftovers removes the temporary files that writers of path left when they were killed. The
// caller knows that nobody is writing path now.
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

// IsLeftover reports whether a file's name is that of a temporary file.
func IsLeftover(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, tempSuffix)
}
