//go:build linux

package rollout

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	copyBytes  = 1 << 20
	entriesMax = 1_000_000 // in a log's folder
)

// An entry is the identity of a file or folder of a tree: what a copy must reproduce.
type entry struct {
	mode     fs.FileMode
	uid, gid uint32
	size     int64
	sum      [sha256.Size]byte
}

// A tree maps the paths below a folder, "." for the folder itself, to their entries.
type tree map[string]entry

// readTree reads a folder with the contents of all files. It must contain only files and folders.
func readTree(dir string, at func(string)) (tree, error) {
	out := tree{}
	err := walk(dir, func(path string, info fs.FileInfo) error {
		e, err := entryOf(path, info)
		if err != nil {
			return err
		}

		if info.Mode().IsRegular() {
			if e.sum, err = checksum(path, at); err != nil {
				return err
			}
		}

		rel, err := filepath.Rel(dir, path)
		if out[rel] = e; len(out) > entriesMax {
			return fmt.Errorf("%s has more than %d files", dir, entriesMax)
		}

		return err
	})

	return out, err
}

// walk visits a folder and everything below it.
func walk(dir string, visit func(path string, info fs.FileInfo) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := d.Info()
		if err != nil {
			return err
		}

		return visit(path, info)
	})
}

func entryOf(path string, info fs.FileInfo) (entry, error) {
	if !info.Mode().IsRegular() && !info.IsDir() {
		return entry{}, fmt.Errorf("%s is neither a file nor a folder", path)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return entry{}, fmt.Errorf("%s: unknown owner", path)
	}
	e := entry{mode: info.Mode(), uid: st.Uid, gid: st.Gid}
	if info.Mode().IsRegular() {
		e.size = info.Size()
	}
	return e, nil
}

// checksum hashes a file as it is on its device: it drops the file's pages from the page cache first.
func checksum(path string, at func(string)) (sum [sha256.Size]byte, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) // fails only on file systems without a page cache
	h := sha256.New()
	if _, err := io.CopyBuffer(h, noted{f, at, "read"}, make([]byte, copyBytes)); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// noted is a reader that reports each read, so that tests can kill the rollout there.
type noted struct {
	io.Reader

	at   func(string)
	what string
}

func (n noted) Read(p []byte) (int, error) {
	n.at(n.what)
	return n.Reader.Read(p)
}

// same returns an error for the first difference between two trees; nil if they are identical.
func same(a, b tree, nameA, nameB string) error {
	for path, x := range a {
		y, ok := b[path]
		switch {
		case !ok:
			return fmt.Errorf("%s is in %s but not in %s", path, nameA, nameB)
		case x.sum != y.sum || x.size != y.size:
			return fmt.Errorf("%s has different contents in %s and in %s", path, nameA, nameB)
		case x != y:
			return fmt.Errorf("%s has a different owner or mode in %s and in %s", path, nameA, nameB)
		}
	}

	for path := range b {
		if _, ok := a[path]; !ok {
			return fmt.Errorf("%s is in %s but not in %s", path, nameB, nameA)
		}
	}

	return nil
}

// compareFolders reads two folders and returns an error if they differ.
func compareFolders(a, b string, at func(string)) error {
	x, err := readTree(a, at)
	if err != nil {
		return err
	}
	y, err := readTree(b, at)
	if err != nil {
		return err
	}
	return same(x, y, a, b)
}

// errDiffer means that two folders were readable but are not identical.
var errDiffer = errors.New("not the same")

// moveCopy copies a folder. The copy gets its final name only after it is on stable storage and was read
// back. moveCopy removes what an interrupted copy left under the temporary name.
func moveCopy(from, to string, at func(string)) error {
	part := to + partSuffix
	if err := os.RemoveAll(part); err != nil {
		return err
	}

	if err := copyTree(from, part, at); err != nil {
		return err
	}

	at("copied")
	if err := compareFolders(from, part, at); err != nil {
		return fmt.Errorf("the copy differs from the original: %w", err)
	}

	at("compared")

	// NOREPLACE: a plain rename would replace an empty folder that something else created.
	if err := unix.Renameat2(unix.AT_FDCWD, part, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE); err != nil {
		return &os.LinkError{Op: "rename", Old: part, New: to, Err: err}
	}

	at("named")
	return syncFolder(filepath.Dir(to))
}

// copyTree copies a folder, and returns once all of it is on stable storage.
func copyTree(from, to string, at func(string)) error {
	var folders []string
	err := walk(from, func(path string, info fs.FileInfo) error {
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}

		e, err := entryOf(path, info)
		if err != nil {
			return err
		}

		at("copy")
		dest := filepath.Join(to, rel)
		if info.IsDir() {
			folders = append(folders, rel)
			// Private and writable until its files are there: settleFolder sets owner and mode.
			return os.Mkdir(dest, 0o700)
		}

		return copyFile(path, dest, e, info.ModTime(), at)
	})
	if err != nil {
		return err
	}

	for i := len(folders) - 1; i >= 0; i-- { // children before their parents
		if err := settleFolder(filepath.Join(from, folders[i]), filepath.Join(to, folders[i])); err != nil {
			return err
		}
	}

	return syncFolder(filepath.Dir(to))
}

func copyFile(from, to string, e entry, modified time.Time, at func(string)) error {
	in, err := os.OpenFile(from, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}

	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}

	_, err = io.CopyBuffer(onlyWriter{out}, noted{in, at, "copy"}, make([]byte, copyBytes))
	if err == nil {
		// Chown before Chmod: changing the owner clears mode bits. The attributes come after both,
		// because they hold ACLs. The sync is last, so that it covers everything.
		err = errors.Join(out.Chown(int(e.uid), int(e.gid)), out.Chmod(e.mode.Perm()), copyAttributes(from, to),
			os.Chtimes(to, modified, modified), out.Sync())
	}

	return errors.Join(err, out.Close())
}

// onlyWriter hides the file's ReadFrom method, so that io.CopyBuffer passes each piece through the
// noted reader instead of copying inside the kernel.
type onlyWriter struct{ io.Writer }

func settleFolder(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}

	e, err := entryOf(from, info)
	if err != nil {
		return err
	}

	if err := errors.Join(os.Chown(to, int(e.uid), int(e.gid)),
		os.Chmod(to, e.mode.Perm()|e.mode&(fs.ModeSetgid|fs.ModeSticky))); err != nil {
		return err
	}

	if err := copyAttributes(from, to); err != nil {
		return err
	}

	return syncFolder(to)
}

// syncFolder makes the directory entries of a folder durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// hasLog reports whether a folder has at least one file that the engine treats as part of its log, and
// that does not start with zeros only: engines preallocate log files.
func hasLog(dir string, isLog func(string) bool) (bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}

	for _, e := range entries {
		if !e.Type().IsRegular() || !isLog(e.Name()) {
			continue
		}

		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return false, err
		}

		head := make([]byte, 4096)
		n, err := io.ReadFull(f, head)
		_ = f.Close() // read-only

		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return false, err
		}
		if len(bytes.Trim(head[:n], "\x00")) > 0 {
			return true, nil
		}
	}

	return false, nil
}
