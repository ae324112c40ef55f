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

// Root is the folder with all states. It is a variable so that tests can use their own.
var Root = "/run/plimsoll/lab"

const stateName = "state.json"

// stateBytesMax bounds a state's file: a machine has at most a few dozen volumes.
const stateBytesMax = 1 << 20

// A State records what a process created that outlives it.
type State struct {
	PID int `json:"pid"`
	// Start time of the process on the kernel's clock, because PIDs are reused.
	Started string `json:"started"`
	Since   string `json:"since"` // human-readable
	// About is the name of the mounted scenario or volume.
	About   string       `json:"about"`
	Socket  string       `json:"socket,omitempty"`
	Volumes []StateEntry `json:"volumes,omitempty"`
	// Files and Dirs (which are empty) were created and must be removed.
	Files []string `json:"files,omitempty"`
	Dirs  []string `json:"dirs,omitempty"`

	dir string
}

// A StateEntry is one volume.
type StateEntry struct {
	Name   string `json:"name"`
	FUSE   string `json:"fuse"`             // mount point of the image's file system
	Device string `json:"device,omitempty"` // "loop3"
	Dir    string `json:"dir,omitempty"`    // where the volume is mounted
}

// newState creates a folder for this process's state.
func newState(about string) (*State, error) {
	// The database does not run as root, but has to reach its volumes below this folder.
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
	// The rename is atomic: a reader sees either the old or the new state, never half of one.
	defer step()
	return os.Rename(tmp, filepath.Join(s.dir, stateName))
}

// step is called before and after each save, so that tests can kill the process there.
var step = func() {}

// startOf returns when a process started, in ticks since boot; "" if it does not exist.
func startOf(pid int) string {
	p, err := procfs.ProcessOf("/proc", pid)
	if err != nil || p.State == "Z" { // a zombie holds no resources
		return ""
	}
	return p.Start
}

// Alive reports whether the process is still running. A killed process is not, although it may
// exist forever: one of its threads waits for the kernel to read from a device, and the device
// waits for an answer of that same process.
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

// States returns all recorded states, of running and dead processes.
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
		case errors.Is(err, fs.ErrNotExist): // it is being created or removed
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
		return nil, fmt.Errorf("%s: not a plimsoll state: %d bytes", path, info.Size())
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

// Sweep removes what dead processes left behind, and returns one line for each thing removed.
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
				err = fmt.Errorf("cannot remove what process %d left behind: %w", s.PID, err)
			}
			errs = append(errs, err)
		}

		return errors.Join(append(errs, sweepUnwritten())...)
	})

	return did, errors.Join(settingsErr, err)
}

// sweepUnwritten removes the folders of processes that died before they recorded anything, or after
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

		// A process that died while saving leaves a temporary file.
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

// undo removes everything in a state, in reverse order of creation. After an error it continues
// with the rest, but keeps the state.
func (s *State) undo() error {
	var errs []error

	// First fail all pending requests: neither the dead process nor this one may wait for a process
	// that cannot answer.
	for _, v := range s.Volumes {
		if below(v.FUSE, s.dir) {
			errs = append(errs, blockdev.Abort(v.FUSE)) // fails all requests
		}
	}

	for _, v := range slices.Backward(s.Volumes) {
		if below(v.FUSE, s.dir) { // ignore folders that a damaged record names elsewhere
			errs = append(errs, v.undo())
		}
	}

	for _, f := range s.Files {
		// ENOTDIR: the recorded folder was never one, or has been replaced since.
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
		return fmt.Errorf("cannot undo %s: %w", s.dir, err)
	}

	return s.remove()
}

// remove removes the folder, with the state file last, so that a process that dies in between
// leaves something to find. It fails if another program has mounted something inside the folder.
func (s *State) remove() error {
	mounts, err := mounted()
	if err != nil {
		return err
	}

	for _, m := range mounts {
		if below(m.dir, s.dir) {
			return fmt.Errorf("cannot undo %s: %s is still mounted on %s: unmount it", s.dir, &m, m.dir)
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

// undo removes a volume's mounts and its device, provided that the device is still the one created
// for it: device numbers are reused.
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
			err = held // the more specific cause
		}
		err = fmt.Errorf("volume %s on /dev/%s: %w", v.Name, v.Device, err)
	}

	return err
}

// locked runs f while no other process creates or sweeps states.
func locked(f func() error) error {
	root, err := os.Open(Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // there is no state
	}
	if err != nil {
		return err
	}
	defer root.Close() // which also unlocks it
	if err := unix.Flock(int(root.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("cannot lock %s: %w", Root, err)
	}
	return f()
}
