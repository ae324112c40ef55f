//go:build linux

package mount

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/lab/blockdev"
)

// Root is the folder of all states. It is a variable so that tests have their own.
var Root = "/run/plimsoll/lab"

const stateName = "state.json"

// stateBytesMax bounds a state's file: a machine has at most a few dozen volumes.
const stateBytesMax = 1 << 20

// A State is what a process made that outlives it.
type State struct {
	PID int `json:"pid"`
	// the process' start by the kernel's clock, because pids are reused
	Started string `json:"started"`
	Since   string `json:"since"` // for people
	// About is the name of what is mounted, for people.
	About   string       `json:"about"`
	Socket  string       `json:"socket,omitempty"`
	Volumes []StateEntry `json:"volumes,omitempty"`
	// Files are files, and Dirs empty folders, that were made and must be removed.
	Files []string `json:"files,omitempty"`
	Dirs  []string `json:"dirs,omitempty"`

	dir string
}

// A StateEntry is one volume.
type StateEntry struct {
	Name   string `json:"name"`
	FUSE   string `json:"fuse"`             // the folder on which the image's file system is mounted
	Device string `json:"device,omitempty"` // "loop3"
	Dir    string `json:"dir,omitempty"`    // where the volume is mounted
}

// newState makes a folder for the state of this process.
func newState(about string) (*State, error) {
	// A database does not run as root, and has to reach its volumes.
	if err := os.MkdirAll(Root, 0o755); err != nil {
		return nil, err
	}
	s := &State{PID: os.Getpid(), Started: startOf(os.Getpid()), Since: time.Now().UTC().Format(time.RFC3339),
		About: about}
	err := locked(func() (err error) {
		if s.dir, err = os.MkdirTemp(Root, "m-"); err != nil {
			return err
		}
		return errors.Join(os.Chmod(s.dir, 0o711), s.save())
	})
	return s, err
}

// save writes the state atomically.
func (s *State) save() error {
	step()
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	tmp := filepath.Join(s.dir, stateName+".tmp")
	if err := os.WriteFile(tmp, text, 0o600); err != nil {
		return err
	}
	defer step()
	return os.Rename(tmp, filepath.Join(s.dir, stateName))
}

// step is called before and after each save, so that tests can kill the process there.
var step = func() {}

// startOf returns when a process started, in ticks since boot; "" if there is none.
func startOf(pid int) string {
	p, err := procfs.ProcessOf("/proc", pid)
	if err != nil || p.State == "Z" { // a zombie holds nothing
		return ""
	}
	return p.Start
}

// Alive reports whether the process still runs. A killed one does not, although it may exist
// forever: one of its threads waits for the kernel to read a device, and the device waits for that
// very process to answer.
func (s *State) Alive() bool { return alive(s.PID, s.Started) }

// alive reports whether the process with that start time still runs.
func alive(pid int, began string) bool {
	return began != "" && startOf(pid) == began && !killed(pid)
}

// killed reports whether SIGKILL is pending for a process.
func killed(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	for name, set := range procfs.Pairs(string(text)) {
		if name != "SigPnd" && name != "ShdPnd" {
			continue
		}
		pending, err := strconv.ParseUint(set, 16, 64)
		if err == nil && pending&(1<<(unix.SIGKILL-1)) != 0 {
			return true
		}
	}
	return false
}

// States returns all recorded states, of running and of dead processes.
func States() ([]*State, error) {
	entries, err := os.ReadDir(Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}

	var out []*State
	var errs []error
	for _, e := range entries {
		s, err := readState(filepath.Join(Root, e.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist): // it is being made or removed
		case err != nil:
			errs = append(errs, err)
		default:
			out = append(out, s)
		}
	}

	return out, errors.Join(errs...)
}

func readState(dir string) (*State, error) {
	path := filepath.Join(dir, stateName)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}

	if info.Size() > stateBytesMax {
		return nil, fmt.Errorf("%s: %d bytes are not a state of plimsoll", path, info.Size())
	}

	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}

	s := &State{dir: dir}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}

	return s, nil
}

// Sweep removes what dead processes have left, and returns what it was, one line each.
func Sweep() (did []string, err error) {
	restored, settingsErr := sweepSettings()
	if restored != "" {
		did = append(did, restored)
	}

	err = locked(func() error {
		states, err := States()
		errs := []error{err}
		for _, s := range states {
			if s.Alive() {
				continue
			}
			err := s.undo()
			if err == nil {
				did = append(did, fmt.Sprintf("removed what process %d left behind: %s", s.PID, s.summary()))
			}
			if err != nil {
				err = fmt.Errorf("what process %d left behind cannot be removed: %w", s.PID, err)
			}
			errs = append(errs, err)
		}

		return errors.Join(append(errs, sweepUnwritten())...)
	})

	return did, errors.Join(settingsErr, err)
}

// sweepUnwritten removes folders of processes that died before they recorded anything, or after
// they undid everything.
func sweepUnwritten() error {
	entries, err := os.ReadDir(Root)
	errs := []error{err}
	for _, e := range entries {
		dir := filepath.Join(Root, e.Name())
		if _, err := os.Stat(filepath.Join(dir, stateName)); !errors.Is(err, fs.ErrNotExist) ||
			!strings.HasPrefix(e.Name(), "m-") {
			continue
		}

		tmp := os.Remove(filepath.Join(dir, stateName+".tmp"))
		if errors.Is(tmp, fs.ErrNotExist) {
			tmp = nil
		}

		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTEMPTY) {
			errs = append(errs, err)
		}

		errs = append(errs, tmp)
	}

	return errors.Join(errs...)
}

func (s *State) summary() string {
	var parts []string
	for _, v := range s.Volumes {
		part := "volume " + v.Name
		if v.Device != "" {
			part += " on /dev/" + v.Device
		}
		if v.Dir != "" {
			part += " at " + v.Dir
		}
		parts = append(parts, part)
	}

	if len(parts) == 0 {
		return "only a state file"
	}

	return strings.Join(parts, ", ")
}

// undo removes everything in a state, in the reverse order of its creation. It continues after an
// error, and then keeps the state.
func (s *State) undo() error {
	var errs []error

	// First make sure that nothing waits for a process that cannot answer: neither that process nor
	// this one.
	for _, v := range s.Volumes {
		if below(v.FUSE, s.dir) {
			errs = append(errs, blockdev.Abort(v.FUSE)) // fails all requests
		}
	}

	for _, v := range slices.Backward(s.Volumes) {
		if below(v.FUSE, s.dir) { // only what is ours
			errs = append(errs, v.undo())
		}
	}

	for _, f := range s.Files {
		// ENOTDIR: the folder was none when it was recorded, or is replaced by now.
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
			errs = append(errs, err)
		}
	}

	for _, d := range slices.Backward(s.Dirs) {
		if err := os.Remove(d); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTEMPTY) {
			errs = append(errs, err)
		}
	}

	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("undoing %s: %w", s.dir, err)
	}

	return s.remove()
}

// remove removes the folder, the state last, so that a process that dies in between leaves
// something to be found. Anything that somebody else mounted in it stays.
func (s *State) remove() error {
	mounts, err := mounted()
	if err != nil {
		return err
	}

	for _, m := range mounts {
		if below(m.dir, s.dir) {
			return fmt.Errorf("undoing %s: %s is still mounted on %s: unmount it", s.dir, &m, m.dir)
		}
	}

	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	errs := []error{err}
	for _, e := range entries {
		if e.Name() != stateName {
			errs = append(errs, os.RemoveAll(filepath.Join(s.dir, e.Name())))
		}
	}

	if err := errors.Join(errs...); err != nil {
		return err
	}

	return os.RemoveAll(s.dir)
}

// undo takes away a volume's mounts and its device, if that is still the one that was set up for it:
// numbers are reused.
func (v *StateEntry) undo() error {
	var err error
	ours := blockdev.Owns(v.Device, v.FUSE)
	var device string

	if ours {
		if device, err = deviceNumber(v.Device); err == nil {
			err = unmountDevice(context.Background(), device, v.Dir, true)
		}
	}

	err = errors.Join(err, blockdev.Reap(v.FUSE, v.Device))
	if err != nil && ours {
		if held := stillMounted(device); held != nil {
			err = held // that is why
		}
		err = fmt.Errorf("volume %s on /dev/%s: %w", v.Name, v.Device, err)
	}

	return err
}

// locked runs f while no other process makes or sweeps states.
func locked(f func() error) error {
	root, err := os.Open(Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there is no state
	}
	if err != nil {
		return err
	}
	defer root.Close() // and unlock
	if err := unix.Flock(int(root.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("locking %s: %w", Root, err)
	}
	return f()
}
