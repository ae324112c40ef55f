package mount

import (
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

	"plimsoll/lab/blockdev"
)

// Root is the folder of all states. It is a variable so that tests have their own.
var Root = "/run/plimsoll/lab"

// stateName is the file in a state's folder.
const stateName = "state.json"

// stateBytesMax bounds a state's file: a machine has at most some dozens of volumes.
const stateBytesMax = 1 << 20

// A State is what a process holds that outlives it.
type State struct {
	PID     int    `json:"pid"`
	Started string `json:"started"` // the process' start by the kernel's clock, since pids are used again
	Since   string `json:"since"`   // for people
	// About is what is mounted, for people: the scenario's name.
	About   string       `json:"about"`
	Socket  string       `json:"socket,omitempty"`
	Volumes []StateEntry `json:"volumes,omitempty"`
	// Files are files, and Dirs empty folders, that were made and are to go.
	Files []string `json:"files,omitempty"`
	Dirs  []string `json:"dirs,omitempty"`
	// Settings are files of /proc/sys with what was in them.
	Settings map[string]string `json:"settings,omitempty"`

	dir string
}

// A StateEntry is one volume.
type StateEntry struct {
	Name   string `json:"name"`
	FUSE   string `json:"fuse"`             // folder that the image's file system is mounted on
	Device string `json:"device,omitempty"` // "loop3"
	Dir    string `json:"dir,omitempty"`    // where the volume is mounted
}

// newState makes a folder for the state of this process.
func newState(about string) (*State, error) {
	if err := os.MkdirAll(Root, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(Root, "m-")
	if err != nil {
		return nil, err
	}
	s := &State{PID: os.Getpid(), Started: startOf(os.Getpid()), Since: time.Now().UTC().Format(time.RFC3339), About: about, dir: dir}
	return s, s.save()
}

// save writes the state down, whole or not at all.
func (s *State) save() error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	tmp := filepath.Join(s.dir, stateName+".tmp")
	if err := os.WriteFile(tmp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(s.dir, stateName))
}

// startOf is when a process began, in ticks since boot; "" if there is none.
func startOf(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The name in parentheses may hold anything; fields count from behind it. The 22nd is starttime (proc(5)).
	_, rest, ok := strings.Cut(string(text), ") ")
	for next, more, found := strings.Cut(rest, ") "); found; next, more, found = strings.Cut(more, ") ") {
		_, rest = next, more
	}
	fields := strings.Fields(rest)
	const starttime = 22 - 3
	if !ok || len(fields) <= starttime || fields[0] == "Z" { // a zombie holds nothing
		return ""
	}
	return fields[starttime]
}

// Alive tells whether the process that holds it still runs.
func (s *State) Alive() bool { return s.Started != "" && startOf(s.PID) == s.Started }

// States are all that are written down, of living processes and of dead ones.
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
		case errors.Is(err, fs.ErrNotExist): // it is being made, or going
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
		return nil, fmt.Errorf("%s: %d bytes are no state of ours", path, info.Size())
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

// Sweep takes away what processes that died have left, and tells what it was, a line each.
func Sweep() (did []string, err error) {
	states, err := States()
	errs := []error{err}
	for _, s := range states {
		if s.Alive() {
			continue
		}
		errs = append(errs, s.undo())
		did = append(did, fmt.Sprintf("took away what process %d had left: %s", s.PID, s.summary()))
	}
	return did, errors.Join(errs...)
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
	for path := range s.Settings {
		parts = append(parts, "the setting "+strings.ReplaceAll(strings.TrimPrefix(path, "/proc/sys/"), "/", "."))
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		return "nothing but a note"
	}
	return strings.Join(parts, ", ")
}

// undo takes away all that a state names, in the reverse order of its making. It goes on after an error, and keeps
// the state if there was one.
func (s *State) undo() error {
	var errs []error
	for path, value := range s.Settings {
		if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
			errs = append(errs, err)
		}
	}
	for _, v := range slices.Backward(s.Volumes) {
		if v.Dir != "" {
			errs = append(errs, unmount(v.Dir))
		}
		if strings.HasPrefix(v.FUSE, s.dir+"/") { // only what is ours
			errs = append(errs, blockdev.Reap(v.FUSE, v.Device))
		}
	}
	for _, f := range s.Files {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
	return os.RemoveAll(s.dir)
}

// unmount takes a mount away even where somebody still uses it: they keep what they have open, which fails.
func unmount(dir string) error {
	for {
		err := unix.Unmount(dir, unix.MNT_DETACH)
		switch {
		case errors.Is(err, unix.EINVAL) || errors.Is(err, fs.ErrNotExist): // nothing is mounted there (any more)
			return nil
		case err != nil:
			return fmt.Errorf("unmounting %s: %w", dir, err)
		}
	}
}
