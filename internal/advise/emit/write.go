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

// Write writes the files one by one, and removes files of an earlier write that are no longer part of
// the layout. It keeps all other files, and the modes of existing ones. On an error it restores the
// folder. If the process is killed, the next write recognises what this one did. If files were edited,
// it fails with an *[InputError] unless force is set.
func (f *Folder) Write(files []File, force bool) error {
	if edited := f.Edited(files); len(edited) > 0 && !force {
		return Inputf("--diff shows what would change; --force overwrites them; or use another folder",
			"%s: edited since emit wrote it, and not overwritten: %s", f.path, oneLine(strings.Join(edited, ", ")))
	}
	w := &writing{folder: f, was: map[string]former{}, unlock: func() {}}
	defer func() { w.unlock() }()
	err := w.all(files)
	if err == nil || w.refused {
		return err // nothing was written, and a folder that this call created belongs to the other emit now
	}
	return errors.Join(err, w.undo())
}

// lock excludes other writers. It fails if another one has written since the folder was read: a mixture
// of two layouts would be useless.
func (f *Folder) lock() (unlock func(), err error) {
	unlock, busy, err := safefile.LockFolder(f.path)
	if err != nil {
		return nil, err
	}
	if busy {
		return nil, Inputf("wait for it, or use another folder", "%s: another emit is writing to it", f.path)
	}
	now, err := readMost(filepath.Join(f.path, manifestName), manifestBytesMax)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(now, f.manifest) {
		unlock()
		return nil, Inputf("check what it wrote, then run this again, or use another folder",
			"%s: another emit has written to it in the meantime", f.path)
	}
	return unlock, nil
}

// writing is a write in progress, with what is needed to undo it.
type writing struct {
	folder *Folder
	was    map[string]former // original state of the changed files, by name
	made   []string          // folders that it created
	// unlock releases the folder's lock. refused: another emit holds the lock or has written.
	unlock  func()
	refused bool
}

// former is the original state of a file; a folder has no text.
type former struct {
	there bool
	text  []byte
	mode  fs.FileMode
}

func (w *writing) all(files []File) error {
	folder := w.folder
	if err := w.makeFolder(folder.path); err != nil {
		return err
	}

	// Lock only once the folder exists; lock then verifies that it has not changed since it was
	// read.
	unlock, err := folder.lock()
	if err != nil {
		w.refused = true
		return err
	}

	w.unlock = unlock
	if err := w.removeLeftovers(files); err != nil {
		return err
	}

	// Save the new checksums together with those before the write: if the process is killed, the
	// next run accepts a file in either version.
	sums := checksums{Version: 1, Files: map[string]string{}, Before: map[string]string{}}
	for _, n := range files {
		sums.Files[n.Path] = n.Checksum()
	}

	for name, text := range folder.is {
		if folder.wrote(name) {
			sums.Before[name] = checksum(text)
		}
	}

	if err := w.writeManifest(sums); err != nil {
		return err
	}

	for _, n := range files {
		was, there := folder.is[n.Path]
		switch {
		// Leave identical files alone, so that their modification times show what changed.
		case there && bytes.Equal(was, n.Text):
			continue
		case there && was == nil:
			return Inputf("move it elsewhere, or use another folder",
				"%s has more than %d MiB: emit did not write it", w.place(n.Path), fileBytesMax>>20)
		}

		if err := w.write(n); err != nil {
			return err
		}
	}

	for _, name := range slices.Sorted(maps.Keys(folder.is)) {
		if _, stays := sums.Files[name]; !stays && folder.wrote(name) {
			if err := w.remove(name); err != nil {
				return err
			}
		}
	}

	// The write is complete: only the new checksums count from here on.
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

// place returns a file's path in the file system.
func (w *writing) place(name string) string {
	return filepath.Join(w.folder.path, filepath.FromSlash(name))
}

// remember saves the original state of a file before its first change.
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

// remove removes a file of an earlier write, and the folders that become empty.
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

// makeFolder creates a folder and its parents. Below the target folder, none may be a symbolic link:
// files would be written outside of it.
func (w *writing) makeFolder(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err == nil && (info.IsDir() || dir != w.folder.path &&
		!strings.HasPrefix(dir, w.folder.path+string(filepath.Separator))):
		return nil // links above the target folder are the user's choice
	case err == nil:
		return fmt.Errorf("%s is not a folder: move it elsewhere, or use another folder", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}

	if err := w.makeFolder(filepath.Dir(dir)); err != nil {
		return err
	}

	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return w.makeFolder(dir) // created concurrently by another emit
	} else if err != nil {
		return err
	}

	w.made = append(w.made, dir)
	return nil
}

// removeLeftovers removes the temporary files of a killed write.
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

// undo restores the original state.
func (w *writing) undo() error {
	var errs []error
	for name, was := range w.was {
		switch {
		// Folders have no text: makeFolder recreates them and w.made removes new ones.
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
		_ = os.Remove(dir) // fails if the folder has other files by now, which is fine
	}

	return errors.Join(errs...)
}
