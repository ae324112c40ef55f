package emit

import (
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
)

// manifestName is the file that lists what was written to a folder, with checksums.
const manifestName = ".plimsoll-emit.json"

// Bounds of a folder that is read.
const (
	manifestBytesMax = 1 << 20
	// fileBytesMax is the largest file that is compared; a larger one was not written here.
	fileBytesMax = 4 << 20
	// entriesMax is how many files a folder may have.
	entriesMax = 1000
)

// checksums is the content of that file.
type checksums struct {
	Version int               `json:"version"`
	Files   map[string]string `json:"files"` // path below the folder to SHA-256
}

// A Folder is one to write into, in its present state.
type Folder struct {
	path  string // without symbolic links
	there bool
	ours  map[string]string // what was written before, according to the manifest
	is    map[string][]byte // the present files
	modes map[string]fs.FileMode
}

// OpenFolder reads a folder: a new one, an empty one, or one that was written here before. It
// refuses any other with an *[InputError], so that it never overwrites files of others.
func OpenFolder(dir string) (*Folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{path: abs, is: map[string][]byte{}, modes: map[string]fs.FileMode{}}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Lstat(abs); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, Inputf("name a new folder", "--dir %s is a symbolic link to nothing", dir)
		}
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	f.path, f.there = real, true
	info, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, Inputf("name a new folder", "--dir %s is not a folder", dir)
	}
	if wd, err := os.Getwd(); err == nil && (wd == real || strings.HasPrefix(wd, real+string(filepath.Separator))) {
		return nil, Inputf("go elsewhere, or name a folder in it: --dir layout", "--dir %s is the current folder: it would be replaced as a whole", dir)
	}
	return f, f.read(dir)
}

// read reads the present files.
func (f *Folder) read(dir string) error {
	text, err := readMost(filepath.Join(f.path, manifestName), manifestBytesMax)
	mine := err == nil
	if mine {
		var m checksums
		if err := json.Unmarshal(text, &m); err != nil || m.Version != 1 {
			return Inputf("delete the folder, or name another one", "%s: %s is damaged, so edited files cannot be recognised", dir, manifestName)
		}
		f.ours = m.Files
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return filepath.WalkDir(f.path, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(f.path, p)
		if err != nil || e.IsDir() || name == manifestName {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case !mine:
			return Inputf("name a new folder", "--dir %s has files that were not written by emit (%s), and is left alone", dir, oneLine(name))
		case !e.Type().IsRegular():
			return Inputf("move it elsewhere, or name another folder", "%s is not a regular file: the folder cannot be replaced as a whole", p)
		case len(f.is) >= entriesMax:
			return Inputf("name another folder", "--dir %s has more than %d files", dir, entriesMax)
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if f.is[name], err = readMost(p, fileBytesMax); err != nil {
			return err
		}
		f.modes[name] = info.Mode().Perm()
		return nil
	})
}

func readMost(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = Inputf("move it elsewhere, or name another folder", "%s has more than %d MiB: it was not written here", path, most>>20)
	}
	return text, err
}

// Edited returns files that would be overwritten or removed although they were edited.
func (f *Folder) Edited(files []File) []string {
	var out []string
	for name, text := range f.is {
		sum, ours := f.ours[name]
		i := slices.IndexFunc(files, func(n File) bool { return n.Path == name })
		same := i >= 0 && string(files[i].Text) == string(text)
		switch {
		case same:
		case ours && sum != checksum(text), !ours && i >= 0:
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
	for name := range f.ours {
		if _, there := f.is[name]; there {
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

// Write replaces what was written here before: all of it or, on any error, nothing. Other files in
// the folder stay. Edited files are refused with an *[InputError] unless force is set.
func (f *Folder) Write(files []File, force bool) (err error) {
	if edited := f.Edited(files); len(edited) > 0 && !force {
		return Inputf("--diff shows what would change; --force writes over them; or name another folder", "%s: edited since emit wrote it, and left alone: %s", f.path, oneLine(strings.Join(edited, ", ")))
	}
	parent := filepath.Dir(f.path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(parent, "."+filepath.Base(f.path)+".new-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	sums := checksums{Version: 1, Files: map[string]string{}}
	all := slices.Clone(files)
	for _, n := range files {
		sums.Files[n.Path] = checksum(n.Text)
	}
	for name, text := range f.is {
		if _, ours := f.ours[name]; !ours && sums.Files[name] == "" {
			all = append(all, File{Path: name, Text: text, Mode: f.modes[name]})
		}
	}
	text, err := json.MarshalIndent(sums, "", "  ")
	if err != nil {
		return err
	}
	for _, n := range append(all, File{Path: manifestName, Text: append(text, '\n'), Mode: plain}) {
		if err := writeFile(filepath.Join(temp, filepath.FromSlash(n.Path)), n); err != nil {
			return err
		}
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	return f.replace(temp)
}

// replace moves the new folder into the place of the old one. It moves the old one away first, and
// back if that fails.
func (f *Folder) replace(temp string) error {
	if !f.there {
		return os.Rename(temp, f.path)
	}
	old, err := os.MkdirTemp(filepath.Dir(f.path), "."+filepath.Base(f.path)+".old-")
	if err != nil {
		return err
	}
	aside := filepath.Join(old, "was")
	if err := os.Rename(f.path, aside); err != nil {
		return errors.Join(err, os.Remove(old))
	}
	if err := os.Rename(temp, f.path); err != nil {
		return errors.Join(err, os.Rename(aside, f.path), os.Remove(old))
	}
	return os.RemoveAll(old)
}

// writeFile writes a file and syncs it to the disk.
func writeFile(path string, n File) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, n.Mode)
	if err != nil {
		return err
	}
	_, err = file.Write(n.Text)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// checksum is a file's SHA-256.
func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Checksum is the file's SHA-256, in hexadecimal.
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
