package safefile

import (
	"fmt"
	"io/fs"
	"os"
)

// NotFileError reports that the path of an expected file is something else.
type NotFileError struct {
	Path string
	Mode fs.FileMode
}

// What describes the object at the path: "a named pipe".
func (e *NotFileError) What() string {
	switch e.Mode.Type() {
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeDir:
		return "a folder"
	case fs.ModeNamedPipe:
		return "a named pipe"
	case fs.ModeSocket:
		return "a socket"
	case fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice:
		return "a device"
	}
	return "a special file"
}

func (e *NotFileError) Error() string {
	hint := "give the path of a file"
	if e.Mode.Type() == fs.ModeSymlink {
		hint = "give the path of the file itself, or remove the link"
	}
	return fmt.Sprintf("%s is %s, not a file: %s", e.Path, e.What(), hint)
}

// Open opens the file at path for reading and follows symbolic links. It refuses anything but a
// regular file with a *[NotFileError], without opening it: opening a named pipe waits for its
// writer, and opening a device may have any effect.
func Open(path string) (*os.File, error) {
	if err := IsFile(path); err != nil {
		return nil, err
	}

	// Nonblocking, in case a pipe was put there after the check.
	f, err := os.OpenFile(path, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}

	// Checked again on the open file, because the path may have changed since the first check.
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &NotFileError{Path: path, Mode: info.Mode()}
	}

	if err != nil {
		f.Close()
		return nil, err
	}

	return f, nil
}

// IsFile returns a *[NotFileError] if path, after following symbolic links, is not a regular file.
// It is for paths that a library opens.
func IsFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return &NotFileError{Path: path, Mode: info.Mode()}
	}
	return err
}

// NoLink returns a *[NotFileError] if path is a symbolic link. It accepts a path that does not
// exist.
func NoLink(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		return &NotFileError{Path: path, Mode: info.Mode()}
	}
	return nil
}
