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

// The names that a rollout gives beside a log's folder. An engine ignores them.
const (
	partSuffix = ".plimsoll-part" // a copy that is not complete
	linkSuffix = ".plimsoll-link" // the link before it takes the folder's place, then the old folder
	keptSuffix = ".plimsoll-old"  // the old folder, kept
	backSuffix = ".plimsoll-back" // the log on its way back
)

// A move is a log's way from its folder in the data folder to a volume of its own.
type move struct {
	log   string // the engine's path of it: a folder at first, then a link
	to    string // the folder on the new volume
	isLog func(name string) bool
	at    func(point string)
	// free fails if somebody uses the engine's files, and held if somebody has some folders' open.
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

// leadsTo reports whether a path is a link to a folder; anything else is an error.
func leadsTo(path, dir string) (bool, error) {
	to, err := os.Readlink(path)
	if err != nil {
		return false, err
	}
	if to != dir {
		return false, fmt.Errorf("%s is a link to %s, not to %s: somebody else changed it", path, to, dir)
	}
	return true, nil
}

// copyThere makes the verified copy on the new volume. Afterwards the copy is the same as the log.
func (v *move) copyThere() error {
	if moved, err := v.moved(); err != nil || moved {
		return err
	}

	switch err := v.compare(v.to); {
	case err == nil:
		return nil // by a run that was cut off
	case errors.Is(err, errDiffer):
		// A copy of a run that was cut off, after which the engine ran again.
		if err := os.RemoveAll(v.to); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}

	return moveCopy(v.log, v.to, v.at)
}

// compare says whether the log is the same as a folder. The error is fs.ErrNotExist if there is no
// such folder, and errDiffer if both were read and differ.
func (v *move) compare(dir string) error {
	if _, err := os.Lstat(dir); err != nil {
		return err
	}

	a, err := readTree(v.log, v.at)
	if err != nil {
		return err
	}

	b, err := readTree(dir, v.at)
	if err != nil {
		return err
	}

	if err := same(a, b, v.log, dir); err != nil {
		return fmt.Errorf("%w: %w", errDiffer, err)
	}

	return nil
}

// swap puts a link to the copy in the log's place, in one step, and keeps the old folder beside it.
func (v *move) swap() error {
	moved, err := v.moved()
	if err != nil {
		return err
	}

	if !moved {
		was, err := stampOf(v.log)
		if err != nil {
			return err
		}

		if err := v.compare(v.to); err != nil {
			return fmt.Errorf("the copy on the new volume is not the log: %w", err)
		}

		if found, err := hasLog(v.to, v.isLog); err != nil || !found {
			return errors.Join(err, fmt.Errorf("%s has no file of the log: the engine would start on an empty log",
				v.to))
		}

		if err := removeLink(v.link()); err != nil {
			return err
		}

		if err := os.Symlink(v.to, v.link()); err != nil {
			return err
		}

		if err := syncFolder(filepath.Dir(v.log)); err != nil {
			return err
		}

		v.at("linked")
		if err := v.exchange(v.link(), v.log, v.link(), was); err != nil {
			return err
		}

		v.at("exchanged")
	}

	if info, err := os.Lstat(v.link()); err == nil && info.IsDir() {
		if err := os.Rename(v.link(), v.kept()); err != nil {
			return err
		}
		v.at("kept")
	}

	return syncFolder(filepath.Dir(v.log))
}

// swapBack brings the log back into its folder. If the engine wrote to the new volume meanwhile, the
// log is copied back; the folder that was kept is out of date then.
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
		old = v.link() // it was cut off before the folder got its name
	}

	// While the new log cannot be read, the old one may be the only one that there is.
	if found, err := hasLog(v.to, v.isLog); err != nil || !found {
		return errors.Join(err,
			steps.Inputf("mount the new volume there again; only if it is lost and the engine never ran on it, "+
				old+" is the log",
				"%s has no file of the log: it does not go back, and nothing is removed", v.to))
	}

	was, err := stampOf(v.to)
	if err != nil {
		return err
	}

	switch err := compareWith(old, v.to, v.at); {
	case err == nil: // the engine never ran on it
	case errors.Is(err, errDiffer), errors.Is(err, fs.ErrNotExist):
		// The engine ran on the new log, so the old one is of no use any more, and the new one may
		// need its room.
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
		return errors.Join(err, fmt.Errorf("%s has no file of the log: it does not go back", old))
	}

	v.at("before exchanging back")
	if err := v.exchange(old, v.to, v.to, was); err != nil {
		return err
	}

	v.at("exchanged back")
	return errors.Join(removeLink(old), syncFolder(filepath.Dir(v.log)))
}

func compareWith(a, b string, at func(string)) error {
	v := move{log: a, at: at}
	if _, err := os.Lstat(a); err != nil {
		return err
	}
	return v.compare(b)
}

// clear removes everything that the move left, once the log is back and the engine runs on it.
func (v *move) clear() error {
	info, err := os.Lstat(v.log)
	if err != nil || !info.IsDir() {
		return errors.Join(err, fmt.Errorf("%s is not the log's folder: nothing is removed", v.log))
	}
	all := []string{v.to, v.to + partSuffix, v.kept(), v.link(), v.back() + partSuffix}
	if err := v.held(all...); err != nil {
		return fmt.Errorf("nothing is removed: %w", err)
	}
	var errs []error
	for _, path := range all {
		errs = append(errs, os.RemoveAll(path))
		v.at("removed")
	}
	return errors.Join(errs...)
}

// finish removes the old folder, once nobody wants to go back.
func (v *move) finish() error {
	moved, err := v.moved()
	if err != nil || !moved {
		return errors.Join(err, fmt.Errorf("%s is not on its new volume: nothing is removed", v.log))
	}
	if found, err := hasLog(v.to, v.isLog); err != nil || !found {
		return errors.Join(err, fmt.Errorf("%s has no file of the log: nothing is removed", v.to))
	}
	if err := v.held(v.kept()); err != nil {
		return fmt.Errorf("nothing is removed: %w", err)
	}
	return os.RemoveAll(v.kept())
}

// remains are the paths of an earlier move beside a log that has not moved yet.
func (v *move) remains() []string {
	var out []string
	for _, path := range []string{v.to, v.to + partSuffix, v.kept(), v.link(), v.back(), v.back() + partSuffix} {
		if _, err := os.Lstat(path); err == nil {
			out = append(out, path)
		}
	}
	return out
}

// removeLink removes a symbolic link; a folder of that name stays.
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
