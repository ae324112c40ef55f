package emit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/base/safefile"
)

// manifestName is the file that lists the emitted files of a folder, with checksums.
const manifestName = ".plimsoll-emit.json"

// Bounds for reading a folder.
const (
	manifestBytesMax = 1 << 20
	// fileBytesMax is the maximum size of a file that is compared; emit writes no larger one.
	fileBytesMax = 4 << 20
	// entriesMax bounds the number of files in a folder.
	entriesMax = 1000
)

// checksums is the content of the manifest.
type checksums struct {
	Version int               `json:"version"`
	Files   map[string]string `json:"files"` // path below the folder to SHA-256
	// Before has the checksums from before a write that has not ended. Until it ends, each file may be in
	// either version.
	Before map[string]string `json:"before,omitempty"`
}

// A Folder is a target folder in its current state.
type Folder struct {
	path     string // without symbolic links
	ours     checksums
	manifest []byte            // its text; nil: there is none
	is       map[string][]byte // existing files; nil for a large one that emit did not write
}

// OpenFolder reads a folder that is new, empty, or was written by emit before. It refuses any other with
// an *[InputError], so that emit never overwrites foreign files.
func OpenFolder(dir string) (*Folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}

	f := &Folder{path: abs, is: map[string][]byte{}}
	real, err := filepath.EvalSymlinks(abs)

	// A new folder is created by Write, not here: a dry run must leave no trace.
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Lstat(abs); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, Inputf("use a new folder", "--out %s is a dangling symbolic link", dir)
		}
		return f, nil
	}

	// EvalSymlinks names no path if a parent is a file.
	if err != nil {
		return nil, Inputf("use a new folder", "--out %s: %v", dir, cmp.Or(errors.Unwrap(err), err))
	}

	f.path = real
	info, err := os.Stat(real)
	if err != nil {
		return nil, err
	}

	if !info.IsDir() {
		return nil, Inputf("use a new folder", "--out %s is not a folder", dir)
	}

	return f, f.read(dir)
}

// read reads the existing files.
func (f *Folder) read(dir string) error {
	text, err := readMost(filepath.Join(f.path, manifestName), manifestBytesMax)
	mine := err == nil
	if mine {
		// Without checksums, every file might have been edited, so do not guess.
		if err := json.Unmarshal(text, &f.ours); err != nil || f.ours.Version != 1 {
			return Inputf("delete the folder, or use another one",
				"%s: %s is damaged, so emit cannot recognise edited files", dir, manifestName)
		}
		f.manifest = text
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	return filepath.WalkDir(f.path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		name, err := filepath.Rel(f.path, path)
		if err != nil || entry.IsDir() || name == manifestName || safefile.IsLeftover(entry.Name()) {
			return err
		}

		name = filepath.ToSlash(name)
		switch {
		// Without a manifest, only an empty folder is safe to write to.
		case !mine:
			return Inputf(
				"use a new folder", "--out %s has files that emit did not write (%s), so emit does not use it",
				dir, oneLine(name))
		case !entry.Type().IsRegular():
			return Inputf("move it elsewhere, or use another folder",
				"%s is not a regular file: emit only writes to folders of regular files", path)
		case len(f.is) >= entriesMax:
			return Inputf("use another folder", "--out %s has more than %d files", dir, entriesMax)
		}

		if info, err := entry.Info(); err == nil && info.Size() > fileBytesMax && !f.wrote(name) {
			f.is[name] = nil
			return nil
		}

		f.is[name], err = readMost(path, fileBytesMax)
		return err
	})
}

// wrote reports whether emit wrote a file.
func (f *Folder) wrote(name string) bool {
	return f.ours.Files[name] != "" || f.ours.Before[name] != ""
}

// edited reports whether a file has changed since emit wrote it.
func (f *Folder) edited(name string) bool {
	sum := checksum(f.is[name])
	return f.wrote(name) && sum != f.ours.Files[name] && sum != f.ours.Before[name]
}

func readMost(path string, most int64) ([]byte, error) {
	file, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = Inputf("move it elsewhere, or use another folder", "%s has more than %d MiB: emit did not write it",
			path, most>>20)
	}
	return text, err
}

// Edited returns the edited files that a write would overwrite or remove.
func (f *Folder) Edited(files []File) []string {
	var out []string
	for name, text := range f.is {
		i := slices.IndexFunc(files, func(n File) bool { return n.Path == name })
		same := i >= 0 && string(files[i].Text) == string(text)
		switch {
		case same:
		// A file that emit did not write counts as edited if emit would overwrite it.
		case f.edited(name), !f.wrote(name) && i >= 0:
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Diff returns the changes that writing would make, as a unified diff; "" if there are none.
func (f *Folder) Diff(files []File) string {
	var b strings.Builder
	all := make([]string, 0, len(files))
	for _, n := range files {
		all = append(all, n.Path)
	}

	for name := range f.is {
		if f.wrote(name) {
			all = union(all, []string{name})
		}
	}

	slices.Sort(all)
	for _, name := range all {
		var new []byte
		i := slices.IndexFunc(files, func(n File) bool { return n.Path == name })
		if i >= 0 {
			new = files[i].Text
		}
		old, there := f.is[name]
		b.WriteString(unified(name, old, new, there, i >= 0))
	}

	return b.String()
}

// checksum returns the SHA-256 of a text in hexadecimal.
func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Checksum returns the file's SHA-256 in hexadecimal.
func (f File) Checksum() string { return checksum(f.Text) }

// Print writes files one after another, each under a line with its name.
func Print(w io.Writer, files []File) error {
	for i, f := range files {
		gap := "\n"
		if i == 0 {
			gap = ""
		}
		if _, err := fmt.Fprintf(w, "%s==> %s <==\n%s", gap, f.Path, f.Text); err != nil {
			return err
		}
	}
	return nil
}
