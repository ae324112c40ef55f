package emit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/base/safefile"
)

// Write writes the files into their places, one by one, and removes those that were written here
// before and are not any more. On an error the folder is as it was. Whatever else is in it stays,
// as do the modes of what is there. If the process is killed, the next write finds what this one
// had done. Edited files are refused with an *[InputError] unless force is given.
func (f *Folder) Write(files []File, force bool) error {
	if edited := f.Edited(files); len(edited) > 0 && !force {
		return Inputf("--diff shows what would change; --force overwrites them; or name another folder",
			"%s: edited since emit wrote it, and not overwritten: %s", f.path, oneLine(strings.Join(edited, ", ")))
	}
	w := &writing{folder: f, was: map[string]former{}, unlock: func() {}}
	defer func() { w.unlock() }()
	err := w.all(files)
	if err == nil || w.refused {
		return err // refused, nothing was written, and a folder that was made is the other emit's now
	}
	return errors.Join(err, w.undo())
}

// lock keeps other writers out, and refuses if one was quicker: two layouts in one folder would be none.
func (f *Folder) lock() (unlock func(), err error) {
	unlock, busy, err := safefile.LockFolder(f.path)
	if err != nil {
		return nil, err
	}
	if busy {
		return nil, Inputf("wait for it, or name another folder", "%s: another emit is writing into it", f.path)
	}
	now, err := readMost(filepath.Join(f.path, manifestName), manifestBytesMax)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(now, f.manifest) {
		unlock()
		return nil, Inputf("look at what it wrote, then run this again, or name another folder",
			"%s: another emit has written into it meanwhile", f.path)
	}
	return unlock, nil
}

// writing is a write under way, with what undoes it.
type writing struct {
	folder *Folder
	was    map[string]former // what was changed, by name
	made   []string          // folders
	// unlock gives the folder's lock back; refused: another emit has it, or had it.
	unlock  func()
	refused bool
}

// former is what was at a place; a folder has no text.
type former struct {
	there bool
	text  []byte
	mode  fs.FileMode
}

func (w *writing) all(files []File) error {
	f := w.folder
	if err := w.makeFolder(f.path); err != nil {
		return err
	}

	unlock, err := f.lock()
	if err != nil {
		w.refused = true
		return err
	}

	w.unlock = unlock
	if err := w.removeLeftovers(files); err != nil {
		return err
	}

	sums := checksums{Version: 1, Files: map[string]string{}, Before: map[string]string{}}
	for _, n := range files {
		sums.Files[n.Path] = n.Checksum()
	}

	for name, text := range f.is {
		if f.wrote(name) {
			sums.Before[name] = checksum(text)
		}
	}

	if err := w.writeManifest(sums); err != nil {
		return err
	}

	for _, n := range files {
		was, there := f.is[n.Path]
		switch {
		case there && bytes.Equal(was, n.Text):
			continue
		case there && was == nil:
			return Inputf("move it elsewhere, or name another folder",
				"%s has more than %d MiB: emit did not write it", w.place(n.Path), fileBytesMax>>20)
		}
		if err := w.write(n); err != nil {
			return err
		}
	}

	for _, name := range slices.Sorted(maps.Keys(f.is)) {
		if _, stays := sums.Files[name]; !stays && f.wrote(name) {
			if err := w.remove(name); err != nil {
				return err
			}
		}
	}

	sums.Before = nil
	return w.writeManifest(sums)
}

func (w *writing) writeManifest(sums checksums) error {
	text, err := json.MarshalIndent(sums, "", "  ")
	if err != nil {
		return err
	}
	return w.write(File{Path: manifestName, Text: append(text, '\n'), Mode: plain})
}

// place is where a file is in the file system.
func (w *writing) place(name string) string {
	return filepath.Join(w.folder.path, filepath.FromSlash(name))
}

// remember keeps what is at a place, before it is changed for the first time.
func (w *writing) remember(name string) {
	if _, again := w.was[name]; again {
		return
	}
	var was former
	if info, err := os.Lstat(w.place(name)); err == nil {
		was = former{true, w.folder.is[name], info.Mode().Perm()}
		if name == manifestName {
			was.text = w.folder.manifest
		}
	}
	w.was[name] = was
}

func (w *writing) write(n File) error {
	if err := w.makeFolder(filepath.Dir(w.place(n.Path))); err != nil {
		return err
	}
	w.remember(n.Path)
	return safefile.Write(w.place(n.Path), n.Text, safefile.Options{Mode: n.Mode})
}

// remove removes a file that was written here, and the folders that are empty without it.
func (w *writing) remove(name string) error {
	w.remember(name)
	if err := os.Remove(w.place(name)); err != nil {
		return err
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if os.Remove(w.place(dir)) != nil { // it has other files
			break
		}
	}
	return nil //nolint:nilerr // a folder with other files stays
}

// makeFolder makes a folder and those above it. Below the one that is written into, none may be a
// symbolic link: what is written would be elsewhere.
func (w *writing) makeFolder(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err == nil && (info.IsDir() || dir != w.folder.path &&
		!strings.HasPrefix(dir, w.folder.path+string(filepath.Separator))):
		return nil // above it, links are the user's
	case err == nil:
		return fmt.Errorf("%s is not a folder: move it elsewhere, or name another folder", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}

	if err := w.makeFolder(filepath.Dir(dir)); err != nil {
		return err
	}

	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return w.makeFolder(dir) // another emit was quicker
	} else if err != nil {
		return err
	}

	w.made = append(w.made, dir)
	return nil
}

// removeLeftovers removes what a write that was killed has left of single files.
func (w *writing) removeLeftovers(files []File) error {
	names := []string{manifestName}
	for _, n := range files {
		names = append(names, n.Path)
	}

	for _, sums := range []map[string]string{w.folder.ours.Files, w.folder.ours.Before} {
		names = slices.AppendSeq(names, maps.Keys(sums))
	}

	for _, name := range names {
		if info, err := os.Lstat(filepath.Dir(w.place(name))); err != nil || !info.IsDir() {
			continue
		}
		if err := safefile.RemoveLeftovers(w.place(name)); err != nil {
			return err
		}
	}

	return nil
}

// undo puts back what was there.
func (w *writing) undo() error {
	var errs []error
	for name, was := range w.was {
		switch {
		case was.text != nil:
			errs = append(errs, w.makeFolder(filepath.Dir(w.place(name))),
				safefile.Write(w.place(name), was.text, safefile.Options{Mode: was.mode}))
		case !was.there:
			if err := os.Remove(w.place(name)); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}

	for _, dir := range slices.Backward(w.made) {
		_ = os.Remove(dir) // unless somebody has put something in it meanwhile
	}

	return errors.Join(errs...)
}
