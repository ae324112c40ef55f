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
	entriesMax = 1_000_000 // of a log's folder
)

// An entry is a file or folder of a tree, as it must be found again.
type entry struct {
	mode     fs.FileMode
	uid, gid uint32
	size     int64
	sum      [sha256.Size]byte
}

// A tree maps the paths below a folder, "." for itself, to what is there.
type tree map[string]entry

// readTree reads a folder with all of its bytes. Only files and folders may be in it.
func readTree(dir string, at func(string)) (tree, error) {
	out := tree{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := d.Info()
		if err != nil {
			return err
		}

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

func entryOf(path string, info fs.FileInfo) (entry, error) {
	if !info.Mode().IsRegular() && !info.IsDir() {
		return entry{}, fmt.Errorf("%s is neither a file nor a folder", path)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return entry{}, fmt.Errorf("%s: no owner is known", path)
	}
	e := entry{mode: info.Mode(), uid: st.Uid, gid: st.Gid}
	if info.Mode().IsRegular() {
		e.size = info.Size()
	}
	return e, nil
}

// checksum reads a file from its device: what the page cache holds of it is dropped first.
func checksum(path string, at func(string)) (sum [sha256.Size]byte, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) // a file system without a cache has nothing to drop
	h := sha256.New()
	if _, err := io.CopyBuffer(h, noted{f, at, "read"}, make([]byte, copyBytes)); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// noted is a reader that reports each read.
type noted struct {
	io.Reader

	at   func(string)
	what string
}

func (n noted) Read(p []byte) (int, error) {
	n.at(n.what)
	return n.Reader.Read(p)
}

// same says where two trees differ; nil if they do not.
func same(a, b tree, nameA, nameB string) error {
	for path, x := range a {
		y, ok := b[path]
		switch {
		case !ok:
			return fmt.Errorf("%s is in %s and not in %s", path, nameA, nameB)
		case x.sum != y.sum || x.size != y.size:
			return fmt.Errorf("%s has other bytes in %s than in %s", path, nameA, nameB)
		case x != y:
			return fmt.Errorf("%s has another owner or mode in %s than in %s", path, nameA, nameB)
		}
	}

	for path := range b {
		if _, ok := a[path]; !ok {
			return fmt.Errorf("%s is in %s and not in %s", path, nameB, nameA)
		}
	}

	return nil
}

// compareFolders reads two folders and says where they differ.
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

// errDiffer marks that two folders were read and are not the same.
var errDiffer = errors.New("not the same")

// moveCopy copies a folder so that it appears under its new name only when all of it is on stable
// storage and was read back. What an earlier copy left under the temporary name is removed.
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
		return fmt.Errorf("the copy is not what was copied: %w", err)
	}

	at("compared")
	if err := unix.Renameat2(unix.AT_FDCWD, part, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE); err != nil {
		return &os.LinkError{Op: "rename", Old: part, New: to, Err: err}
	}

	at("named")
	return syncFolder(filepath.Dir(to))
}

// copyTree copies a folder, and returns when all of it is on stable storage.
func copyTree(from, to string, at func(string)) error {
	var folders []string
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}

		info, err := d.Info()
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
			return os.Mkdir(dest, 0o700)
		}

		return copyFile(path, dest, e, info.ModTime(), at)
	})
	if err != nil {
		return err
	}

	for i := len(folders) - 1; i >= 0; i-- { // what is in a folder goes before it
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
		err = errors.Join(out.Chown(int(e.uid), int(e.gid)), out.Chmod(e.mode.Perm()), copyAttributes(from, to),
			os.Chtimes(to, modified, modified), out.Sync())
	}

	return errors.Join(err, out.Close())
}

// onlyWriter hides how a file copies by itself, so that each piece passes through here.
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

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// hasLog reports whether a folder has at least one file that the engine takes for its log, and that
// has bytes other than zero.
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
		_ = f.Close() // it was only read

		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return false, err
		}
		if len(bytes.Trim(head[:n], "\x00")) > 0 {
			return true, nil
		}
	}

	return false, nil
}
