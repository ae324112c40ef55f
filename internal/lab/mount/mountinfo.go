//go:build linux

package mount

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/base/shellword"
)

// A mountPoint is a line of a mountinfo file (proc(5)).
type mountPoint struct {
	id, parent int
	device     string // major:minor, "7:3"
	dir        string
	fs         string // "xfs"
	source     string // "/dev/loop3"
}

// String describes the mounted file system: "/dev/loop3 (xfs)".
func (m *mountPoint) String() string { return fmt.Sprintf("%s (%s)", m.source, m.fs) }

// mounted returns all mounts of this process's namespace.
func mounted() ([]mountPoint, error) { return mountsOf("self") }

// mountsOf returns the mounts that a process sees.
func mountsOf(pid string) ([]mountPoint, error) {
	mounts, err := procfs.Mounts(pid)
	return mountPoints(mounts), err
}

func mountPoints(mounts []*procfs.Mount) []mountPoint {
	out := make([]mountPoint, 0, len(mounts))
	for _, m := range mounts {
		out = append(out, mountPoint{m.ID, m.Parent, fmt.Sprintf("%d:%d", m.Major, m.Minor), m.Mountpoint,
			m.FSType, m.Source})
	}
	return out
}

func mountsFrom(mounts []mountPoint, device string) []mountPoint {
	var out []mountPoint
	for _, m := range mounts {
		if m.device == device {
			out = append(out, m)
		}
	}
	return out
}

// deviceNumber returns a device's number in mountinfo's format: "7:3" for "loop3".
func deviceNumber(name string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat("/dev/"+name, &st); err != nil {
		return "", fmt.Errorf("/dev/%s: %w", name, err)
	}
	return fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev)), nil
}

// openMount opens a path without reading it, and returns the ID of the mount that it leads to.
func openMount(path string) (f *os.File, id int, err error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f = os.NewFile(uintptr(fd), path)
	text, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "mnt_id:"); found {
			id, err = strconv.Atoi(strings.TrimSpace(value))
			return f, id, err
		}
	}
	return nil, 0, errors.Join(fmt.Errorf("%s: the kernel does not report which mount it is on", path),
		err, f.Close())
}

// cover explains what hides a mount or is mounted inside it, and how to remove that; nil: nothing.
// A path only leads to the topmost mount, so what is below another program's mount cannot be
// unmounted until that is gone.
func (m *mountPoint) cover(mounts []mountPoint) error {
	if err := m.carries(mounts); err != nil {
		return err
	}

	f, id, err := openMount(m.dir)
	if err == nil {
		err = f.Close()
	}

	if err == nil && id == m.id {
		return nil
	}

	// Collect this mount and its ancestors. Anything else above the folder hides it.
	above := map[int]bool{m.id: true}
	for found := true; found; {
		found = false
		for _, n := range mounts {
			if above[n.id] && !above[n.parent] {
				above[n.parent], found = true, true
			}
		}
	}

	for _, n := range mounts {
		if !above[n.id] && below(m.dir, n.dir) {
			return &coverError{fmt.Sprintf("%s is mounted at %s, but %s at %s hides it", m, m.dir, &n, n.dir),
				"umount " + shellword.Quote(n.dir)}
		}
	}

	if err == nil {
		err = fmt.Errorf("%s is mounted at %s, but is not reachable by that path", m, m.dir)
	}

	return err
}

// carries explains what others have mounted on top of or inside it, the topmost first.
func (m *mountPoint) carries(mounts []mountPoint) error {
	for _, n := range mounts {
		// A second mount of the same device is ours and is unmounted along with this one.
		if n.parent != m.id || n.device == m.device {
			continue
		}

		if err := n.carries(mounts); err != nil {
			return err
		}

		where := "on top of it"
		if n.dir != m.dir {
			where = "inside it"
		}

		return &coverError{fmt.Sprintf("%s is mounted at %s, but %s is mounted %s", m, m.dir, &n, where),
			"umount " + shellword.Quote(n.dir)}
	}
	return nil
}

// A coverError says what is mounted over one of our mounts, and how to unmount that.
type coverError struct{ what, command string }

func (e *coverError) Error() string { return e.what + ": " + e.command + ", then try again" }

// below reports whether a path is inside a folder.
func below(path, dir string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// unmountNow unmounts the file system. With force it does so even if files are open there, which then fail.
// If others have mounted something on top of or inside it, it fails instead.
func (m *mountPoint) unmountNow(mounts []mountPoint, force bool) error {
	if err := m.cover(mounts); err != nil {
		return err
	}
	if !force {
		return unix.Unmount(m.dir, unix.UMOUNT_NOFOLLOW)
	}

	f, id, err := openMount(m.dir)
	if err != nil {
		return err
	}

	defer f.Close()
	if id != m.id {
		return fmt.Errorf("%s: another file system was just mounted there; try again", m.dir)
	}

	// Unmount by descriptor: by now, the path could lead to a file system that another process has
	// just mounted there.
	return unix.Unmount("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), unix.MNT_DETACH)
}

// A holder is a process in a separate mount namespace in which a device is mounted.
type holder struct {
	pid  string
	name string
	dir  string
}

func (h *holder) Error() string {
	return fmt.Sprintf("process %s (%s) has it mounted at %s in a separate mount namespace: stop that process, or run: %s",
		h.pid, h.name, h.dir, h.remedy())
}

// remedy returns the command that unmounts it there.
func (h *holder) remedy() string {
	return fmt.Sprintf("nsenter -t %s -m umount -l %s", h.pid, shellword.Quote(h.dir))
}

// holders finds a device in the mount namespaces of all other visible processes, and returns one
// process for each.
func holders(device string) []*holder {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return nil
	}

	spaces, _ := filepath.Glob("/proc/[0-9]*/ns/mnt") // only fails for a bad pattern
	seen := map[string]bool{own: true}

	var out []*holder
	for _, path := range spaces {
		space, err := os.Readlink(path)
		if err != nil || seen[space] {
			continue
		}

		pid := strings.Split(path, "/")[2]
		mounts, err := mountsOf(pid)
		if err != nil { // it has exited; another process may be in the same namespace
			continue
		}

		// Processes of one namespace see the same mounts, so one process is enough.
		seen[space] = true
		if of := mountsFrom(mounts, device); len(of) > 0 {
			number, _ := strconv.Atoi(pid) // the pattern only matches numbers
			out = append(out, &holder{pid, procfs.Comm(number), of[0].dir})
		}
	}

	return out
}

// stillMounted explains where a device is mounted, in this namespace or another; nil: nowhere.
func stillMounted(device string) error {
	mounts, err := mounted()
	if err != nil {
		return err
	}

	var errs []error
	for _, m := range mountsFrom(mounts, device) {
		if err := m.cover(mounts); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, &BusyError{fmt.Sprintf("%s is also mounted at %s: umount %s, then try again", &m, m.dir,
			shellword.Quote(m.dir))})
	}

	for _, h := range holders(device) {
		errs = append(errs, h)
	}

	return errors.Join(errs...)
}

// Free reports why nothing can be mounted on a folder: it does not exist, is not empty, or already
// has something mounted on or inside it.
func Free(dir string) error {
	mounts, err := mounted()
	if err != nil {
		return err
	}

	var at string
	for _, m := range mounts {
		if m.dir == dir || below(m.dir, dir) {
			at = fmt.Sprintf("%s is already mounted on %s", &m, m.dir) // the last one is on top
		}
	}

	if at != "" {
		return errors.New(at)
	}

	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot read the mount point: %w", err)
	}

	if len(entries) > 0 {
		return fmt.Errorf("the mount point %s is not empty: specify an empty folder", dir)
	}

	return nil
}
