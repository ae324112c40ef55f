package safefile

import (
	"fmt"
	"io/fs"
	"os"
)

// NotFileError says that a path where a file was expected is something else.
type NotFileError struct {
	Path string
	Mode fs.FileMode
}

// What names what stands at the path: "a named pipe".
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

// Open opens the file at path for reading, through symbolic links. What is not a file is refused
// with a *[NotFileError] and is not opened: opening a named pipe waits for its writer, and opening
// a device may do anything.
func Open(path string) (*os.File, error) {
	if err := IsFile(path); err != nil {
		return nil, err
	}

	// Whoever puts a pipe there just now does not make us wait either.
	f, err := os.OpenFile(path, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}

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

// IsFile returns a *[NotFileError] if there is something else than a file at path, through symbolic
// links: for what a library opens by its path.
func IsFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return &NotFileError{Path: path, Mode: info.Mode()}
	}
	return err
}

// NoLink returns a *[NotFileError] if there is a symbolic link at path. A path with nothing there
// is fine.
func NoLink(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		return &NotFileError{Path: path, Mode: info.Mode()}
	}
	return nil
}
