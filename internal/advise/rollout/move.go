//go:build linux

package rollout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"plimsoll/internal/advise/rollout/steps"
)

// Suffixes for the names that a rollout creates next to a log's folder. Engines ignore these names.
const (
	partSuffix = ".plimsoll-part" // an incomplete copy
	linkSuffix = ".plimsoll-link" // before the exchange the new link, right after it the old folder
	keptSuffix = ".plimsoll-old"  // the old folder, kept
	backSuffix = ".plimsoll-back" // the log while it moves back
)

// A move moves a log from the data folder to a separate volume, and back.
type move struct {
	log   string // the engine's path of the log: a folder at first, then a link
	to    string // the folder on the new volume
	isLog func(name string) bool
	at    func(point string)
	// free fails if any process uses the engine's files; held fails if any process has files in the given
	// folders open.
	free func() error
	held func(dirs ...string) error
}

func (v *move) link() string { return v.log + linkSuffix }
func (v *move) kept() string { return v.log + keptSuffix }
func (v *move) back() string { return v.log + backSuffix }

// moved reports whether the engine's path leads to the new volume.
func (v *move) moved() (bool, error) {
	info, err := os.Lstat(v.log)
	if err != nil {
		return false, err
	}
	if info.IsDir() {
		return false, nil
	}
	return leadsTo(v.log, v.to)
}

// leadsTo returns true if a path is a link to a folder, and an error otherwise.
func leadsTo(path, dir string) (bool, error) {
	to, err := os.Readlink(path)
	if err != nil {
		return false, err
	}
	if to != dir {
		return false, fmt.Errorf("%s is a link to %s, not to %s: it was changed outside this rollout",
			path, to, dir)
	}
	return true, nil
}

// copyThere makes a verified copy of the log on the new volume. It can be repeated: it keeps an
// identical copy and replaces any other.
func (v *move) copyThere() error {
	if moved, err := v.moved(); err != nil || moved {
		return err
	}

	switch err := compare(v.log, v.to, v.at); {
	case err == nil:
		return nil // an interrupted run has made the copy
	case errors.Is(err, errDiffer):
		// The copy is stale: an interrupted run made it, and the engine ran again since.
		if err := os.RemoveAll(v.to); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}

	return moveCopy(v.log, v.to, v.at)
}

// compare returns nil if two folders are identical, fs.ErrNotExist if there is no such folder, and errDiffer
// if both are readable but differ.
func compare(a, b string, at func(string)) error {
	for _, dir := range []string{a, b} {
		if _, err := os.Lstat(dir); err != nil {
			return err
		}
	}

	x, err := readTree(a, at)
	if err != nil {
		return err
	}

	y, err := readTree(b, at)
	if err != nil {
		return err
	}

	if err := same(x, y, a, b); err != nil {
		return fmt.Errorf("%w: %w", errDiffer, err)
	}

	return nil
}

// swap atomically replaces the log's folder by a link to the copy, and keeps the old folder next to it.
func (v *move) swap() error {
	moved, err := v.moved()
	if err != nil {
		return err
	}

	if !moved {
		// Take the stamp before comparing: exchange fails if the engine has written to the log
		// since.
		was, err := stampOf(v.log)
		if err != nil {
			return err
		}

		if err := compare(v.log, v.to, v.at); err != nil {
			return fmt.Errorf("the copy on the new volume is not identical to the log: %w", err)
		}

		// Identical folders may both be empty.
		if found, err := hasLog(v.to, v.isLog); err != nil || !found {
			return errors.Join(err,
				fmt.Errorf("%s contains no file of the log: the engine would start on an empty log",
					v.to))
		}

		// An interrupted run may have left the link.
		if err := removeLink(v.link()); err != nil {
			return err
		}

		if err := os.Symlink(v.to, v.link()); err != nil {
			return err
		}

		// Make the link durable before the exchange, so that no crash can leave the exchanged name
		// without it.
		if err := syncFolder(filepath.Dir(v.log)); err != nil {
			return err
		}

		v.at("linked")
		if err := v.exchange(v.link(), v.log, v.link(), was); err != nil {
			return err
		}

		v.at("exchanged")
	}

	// The exchange left the old folder under the link's name. A run killed before the rename gets
	// here too.
	if info, err := os.Lstat(v.link()); err == nil && info.IsDir() {
		if err := os.Rename(v.link(), v.kept()); err != nil {
			return err
		}
		v.at("kept")
	}

	return syncFolder(filepath.Dir(v.log))
}

// swapBack moves the log back to its folder. If the engine has written to the new volume since, the kept
// folder is stale and swapBack copies the newer log back.
func (v *move) swapBack() error {
	moved, err := v.moved()
	if err != nil {
		return err
	}

	if !moved {
		return errors.Join(removeLink(v.link()), removeLink(v.back()), removeLink(v.kept()),
			syncFolder(filepath.Dir(v.log)))
	}

	old := v.kept()
	if info, err := os.Lstat(v.link()); err == nil && info.IsDir() {
		old = v.link() // swap was interrupted before it renamed the folder
	}

	// If the new log is unreadable, its volume may just not be mounted. The old log may also be the only
	// one left. Neither is a reason to remove or restore anything.
	if found, err := hasLog(v.to, v.isLog); err != nil || !found {
		return errors.Join(err,
			steps.Inputf("mount the new volume there again; only if it is lost and the engine never ran on it, use "+
				old+" as the log",
				"%s contains no file of the log: the log was not moved back, and nothing was removed", v.to))
	}

	was, err := stampOf(v.to)
	if err != nil {
		return err
	}

	switch err := compare(old, v.to, v.at); {
	case err == nil: // the engine never wrote to the new volume
	// An interrupted swapBack may already have removed the old folder.
	case errors.Is(err, errDiffer), errors.Is(err, fs.ErrNotExist):
		// The engine ran on the new log, so the old one is useless, and the new one may need its
		// space. The new log stays until its copy is verified.
		if err := v.roomBack(); err != nil {
			return err
		}

		if err := errors.Join(os.RemoveAll(old), os.RemoveAll(v.back())); err != nil {
			return err
		}

		v.at("old removed")
		old = v.back()
		if err := moveCopy(v.to, old, v.at); err != nil {
			return err
		}
	default:
		return err
	}

	if found, err := hasLog(old, v.isLog); err != nil || !found {
		return errors.Join(err, fmt.Errorf("%s contains no file of the log: the log was not moved back", old))
	}

	v.at("before exchanging back")

	// The exchange puts the folder under the log's name and leaves the link under the folder's,
	// where it is harmless.
	if err := v.exchange(old, v.to, v.to, was); err != nil {
		return err
	}

	v.at("exchanged back")
	return errors.Join(removeLink(old), syncFolder(filepath.Dir(v.log)))
}

// clear removes everything that the move left behind, once the log is back and the engine runs on it.
func (v *move) clear() error {
	info, err := os.Lstat(v.log)
	if err != nil || !info.IsDir() {
		return errors.Join(err, fmt.Errorf("%s is not the log's folder: nothing was removed", v.log))
	}
	all := []string{v.to, v.to + partSuffix, v.kept(), v.link(), v.back() + partSuffix}
	if err := v.held(all...); err != nil {
		return fmt.Errorf("nothing was removed: %w", err)
	}
	var errs []error
	for _, path := range all {
		errs = append(errs, os.RemoveAll(path))
		v.at("removed")
	}
	return errors.Join(errs...)
}

// finish removes the old folder, after which an undo is no longer possible.
func (v *move) finish() error {
	moved, err := v.moved()
	if err != nil || !moved {
		return errors.Join(err, fmt.Errorf("%s is not on its new volume: nothing was removed", v.log))
	}
	if found, err := hasLog(v.to, v.isLog); err != nil || !found {
		return errors.Join(err, fmt.Errorf("%s contains no file of the log: nothing was removed", v.to))
	}
	if err := v.held(v.kept()); err != nil {
		return fmt.Errorf("nothing was removed: %w", err)
	}
	return os.RemoveAll(v.kept())
}

// remains returns the leftovers of an earlier move of a log that has not moved yet.
func (v *move) remains() []string {
	var out []string
	for _, path := range []string{v.to, v.to + partSuffix, v.kept(), v.link(), v.back(), v.back() + partSuffix} {
		if _, err := os.Lstat(path); err == nil {
			out = append(out, path)
		}
	}
	return out
}

// removeLink removes a symbolic link. It leaves a folder of that name alone.
func removeLink(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSymlink:
		return nil
	}
	return os.Remove(path)
}
