//go:build linux

package rollout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/base/units"
)

// roomBesides is the extra space that must be free on the new volume, as a share of the log.
const roomBesides = 0.1

// fits fails unless the log and the new volume allow the move.
func (m *member) fits() error {
	if err := m.allowed(); err != nil || m.r.moving(m) {
		return err // an interrupted run has begun the move; its steps check the current situation themselves
	}

	info, err := os.Lstat(m.move.log)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return steps.Inputf("data: must be the engine's data folder", "%s: no log at %s", m.Name, m.move.log)
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		to, _ := os.Readlink(m.move.log) // only for the message
		return steps.Inputf("the plan expects a log in the data folder", "%s: %s is already a link, to %s", m.Name,
			m.move.log, to)
	case !info.IsDir():
		return steps.Inputf("", "%s: %s is not a folder", m.Name, m.move.log)
	}

	if found, err := hasLog(m.move.log, m.r.proc.IsLog); err != nil || !found {
		return errors.Join(err,
			steps.Inputf("data: must be the engine's data folder", "%s: %s contains no file of the log",
				m.Name, m.move.log))
	}

	if err := m.mounted(info); err != nil {
		return err
	}

	// Leftovers may be the only copy of acknowledged writes, so the operator has to decide.
	if left := m.move.remains(); len(left) > 0 {
		return steps.Inputf("finish or undo that rollout first; if you are sure, remove them",
			"%s: an earlier rollout left these: %v", m.Name, left)
	}

	return errors.Join(m.room(), m.reachable(info))
}

// allowed fails if this user cannot see whether the engine uses its files. Only root and the files'
// owner can.
func (m *member) allowed() error { return m.allows(os.Geteuid()) }

func (m *member) allows(me int) error {
	info, err := os.Stat(m.Data)
	if err != nil {
		return nil //nolint:nilerr // reported elsewhere, with a hint
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && me != 0 && int(st.Uid) != me {
		return steps.Inputf("run it as root, or as the owner of the data folder",
			"%s: user %d cannot see which processes use %s, which belongs to user %d", m.Name, me, m.Data, st.Uid)
	}
	return nil
}

// mounted fails unless the new volume is a separate file system. It also fails if the log's folder is a
// mount point, because a mount point cannot be replaced by a link.
func (m *member) mounted(log fs.FileInfo) error {
	root, err := os.Stat(m.mount)
	if err != nil || !root.IsDir() {
		return errors.Join(
			steps.Inputf(
				"create its file system and mount it first (plimsoll emit --target lvm writes a script)", "%s: the new volume is not mounted at %s",
				m.Name, m.mount), err)
	}

	parent, err := os.Stat(filepath.Dir(m.mount))
	if err != nil {
		return err
	}

	data, err := os.Stat(filepath.Dir(m.move.log))
	if err != nil {
		return err
	}

	switch device := deviceOf(root); {
	// Trials use plain folders, for which the checks below would fail.
	case m.r.site.Trial:
		return nil
	case device == deviceOf(log):
		return steps.Inputf("mount the new volume there first", "%s: %s is on the same file system as the log",
			m.Name, m.mount)
	// The folder has the same device as its parent, so it is a plain folder and its volume is not
	// mounted.
	case device == deviceOf(parent):
		return steps.Inputf("mount the new volume there first", "%s: nothing is mounted at %s", m.Name, m.mount)
	case deviceOf(data) != deviceOf(log):
		return steps.Inputf("move it by unmounting", "%s: %s is already a separate mount point",
			m.Name, m.move.log)
	}

	return nil
}

func deviceOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Dev
	}
	return 0
}

// room fails if the log does not fit on the new volume.
func (m *member) room() error {
	bytes, err := bytesOf(m.move.log)
	if err != nil {
		return err
	}

	var st unix.Statfs_t
	if err := unix.Statfs(m.mount, &st); err != nil {
		return &fs.PathError{Op: "statfs", Path: m.mount, Err: err}
	}
	if st.Flags&unix.ST_RDONLY != 0 {
		return steps.Inputf("mount -o remount,rw "+m.mount, "%s: %s is mounted read-only", m.Name, m.mount)
	}

	// The rollout creates names in both folders.
	for _, dir := range []string{m.mount, filepath.Dir(m.move.log)} {
		if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
			return steps.Inputf("run it as root, or give that folder to the log's owner",
				"%s: this user may not write to %s: %v", m.Name, dir, err)
		}
	}

	free, need := int64(st.Bavail)*st.Bsize, bytes+int64(float64(bytes)*roomBesides)
	if free < need {
		return steps.Inputf("use a larger volume", "%s: the log has %s, but only %s are free on %s", m.Name,
			units.Bytes(float64(bytes)), units.Bytes(float64(free)), m.mount)
	}

	return nil
}

// reachable fails if the log's owner may not enter a folder on the path to the new volume.
func (m *member) reachable(log fs.FileInfo) error {
	owner, ok := log.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}

	for at := m.mount; ; at = filepath.Dir(at) {
		var st syscall.Stat_t
		if err := syscall.Stat(at, &st); err != nil {
			return &fs.PathError{Op: "stat", Path: at, Err: err}
		}

		// The kernel checks exactly one class of permission bits: the owner's, otherwise the
		// group's, otherwise the others'.
		enter := uint32(0o001)
		switch {
		case st.Uid == owner.Uid:
			enter = 0o100
		case st.Gid == owner.Gid:
			enter = 0o010
		}

		if st.Mode&enter == 0 {
			return steps.Inputf("chmod o+x "+at, "%s: the log's owner (user %d) may not enter %s", m.Name,
				owner.Uid, at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// moving reports whether a member's copy step has begun.
func (r *Rollout) moving(m *member) bool {
	for i := range r.state.Steps {
		if r.state.Steps[i].Name == m.name("copy") {
			return r.state.Steps[i].Phase != ""
		}
	}
	return false
}
