//go:build linux

package rollout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/base/safefile"
)

// Aliases of types in [steps].
type (
	Step      = steps.Step
	StepError = steps.StepError
)

// ErrInterrupted means that a rollout stopped at a safe point on request.
var ErrInterrupted = steps.ErrInterrupted

const (
	stateVersion  = 1
	stateName     = "state.json"
	lockName      = "lock"
	stateBytesMax = 64 << 20
)

// A State is the progress of a rollout and everything needed to continue it: the plan and the site as
// they were when it began. It is stored in one file that is replaced atomically.
type State struct {
	Version   int           `json:"version"`
	Started   time.Time     `json:"started"`
	PlanFile  string        `json:"plan_file"`
	Plan      string        `json:"plan"`
	SiteFile  string        `json:"site_file"`
	Site      string        `json:"site"`
	RecordFor string        `json:"record_for"` // length of each recording; "0s" for none
	Direction string        `json:"direction"`
	Steps     []steps.State `json:"steps"`
	// Proof is the verdict of comparing the recordings: "better", "worse", ...; "" before. ProofText is
	// the verdict in a sentence.
	Proof     string `json:"proof,omitempty"`
	ProofText string `json:"proof_text,omitempty"`
}

// A Folder holds a rollout's state, its recordings and its commands' output. Only one process at a
// time can open it; the kernel releases the lock when the process dies.
type Folder struct {
	path string
	lock *os.File
}

// OpenFolder opens a rollout's folder, creating it if create is set. It fails if another process has it
// open.
func OpenFolder(path string, create bool) (*Folder, error) {
	if create {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, unwritable(err)
		}
	}

	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}

	if !create {
		if _, err := os.Stat(filepath.Join(path, stateName)); errors.Is(err, fs.ErrNotExist) {
			return nil, steps.Inputf("use --out to name the rollout's folder", "no rollout in %s", path)
		}
	}

	if err := ours(path); err != nil {
		return nil, err
	}

	f, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, unwritable(err)
	}

	// The lock file stays after the rollout. Removing it would let two processes lock different
	// files.
	if err := flock(f); err != nil {
		return nil, errors.Join(steps.Failf("wait until it ends; plimsoll rollout shows its progress",
			"another process is working on the rollout in %s", path), f.Close())
	}

	return &Folder{path: path, lock: f}, errors.Join(safefile.RemoveLeftovers(filepath.Join(path, stateName)))
}

// unwritable returns an error for a folder to which the state cannot be written.
func unwritable(err error) error {
	return steps.Failf("nothing was changed; use --out to name a writable folder",
		"cannot write the rollout's state: %v", err)
}

// ours fails if a folder is not empty and its contents are not a rollout's.
func ours(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}

	// A folder with a state is accepted whatever else is in it: recordings and output belong there.
	for _, e := range entries {
		if e.Name() == stateName {
			return nil
		}
	}

	for _, e := range entries {
		if e.Name() != lockName && !safefile.IsLeftover(e.Name()) {
			return steps.Inputf(
				"use --out to name a new or empty folder", "%s is not a rollout's folder: it contains %s",
				path, e.Name())
		}
	}

	return nil
}

// ViewFolder opens a rollout's folder read-only. busy reports that another process is working on it.
func ViewFolder(path string) (f *Folder, busy bool, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, false, err
	}

	if _, err := os.Stat(filepath.Join(path, stateName)); errors.Is(err, fs.ErrNotExist) {
		return nil, false, steps.Inputf("use --out to name the rollout's folder", "no rollout in %s", path)
	}

	lock, err := os.Open(filepath.Join(path, lockName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}

	if err == nil {
		// A shared lock fails only if a rollout holds the exclusive one, and does not disturb other
		// viewers.
		busy = unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
		_ = lock.Close() // used only for its lock
	}

	return &Folder{path: path}, busy, nil
}

// flock locks a file or folder exclusively, without waiting.
func flock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// Close unlocks the folder.
func (f *Folder) Close() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

// Path returns the path of an entry in the folder.
func (f *Folder) Path(name ...string) string {
	return filepath.Join(append([]string{f.path}, name...)...)
}

// Load reads the state; it returns nil if there is none yet.
func (f *Folder) Load() (*State, error) {
	file, err := safefile.Open(f.Path(stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}

	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, stateBytesMax))
	if err != nil {
		return nil, err
	}

	var of struct{ Version int }
	s := &State{}
	err = json.Unmarshal(text, &of) // first: a later version may have other fields

	// Check the version first, because it is more helpful than an error about unknown fields.
	if err == nil && of.Version != stateVersion {
		return nil,
			steps.Inputf("use the version of plimsoll that wrote it", "%s has version %d, this program reads %d",
				f.Path(stateName), of.Version, stateVersion)
	}

	if err == nil {
		err = errors.Join(json.Unmarshal(text, s), s.check())
	}

	if err != nil {
		return nil, steps.Inputf("docs/rollout.md describes how to end a rollout by hand if its state is lost",
			"cannot read %s: %v", f.Path(stateName), err)
	}

	return s, nil
}

// check fails if the state has an unknown direction or phase.
func (s *State) check() error {
	if !slices.Contains([]string{steps.GoesForward, steps.GoesBack, steps.IsUndone, steps.IsFinishing,
		steps.IsFinished}, s.Direction) {
		return fmt.Errorf("unknown direction %q", s.Direction)
	}
	for i := range s.Steps {
		if p := s.Steps[i].Phase; !slices.Contains([]steps.Phase{"", steps.Begun, steps.Done, steps.Undoing,
			steps.Undone}, p) {
			return fmt.Errorf("unknown phase %q of a step", p)
		}
	}
	return nil
}

func (f *Folder) save(s *State) error {
	if f.lock == nil {
		return errors.New("cannot save: the rollout's folder was opened read-only")
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return safefile.Write(f.Path(stateName), append(text, '\n'), safefile.Options{Mode: 0o600})
}

// Begun reports whether any step was begun.
func (s *State) Begun() bool {
	return steps.HasBegun(s.Steps)
}

// Amend replaces the site, to correct its commands or addresses. Members, folders and volumes must stay
// the same. The error is an *[steps.InputError], or an error in the text.
func (s *State) Amend(file, text string) error {
	was, err := ParseSite(s.SiteFile, []byte(s.Site))
	if err != nil {
		return err
	}

	is, err := ParseSite(file, []byte(text))
	if err != nil {
		return err
	}

	// Steps and undo depend on the members' paths. Changing them halfway would leave files behind.
	if !slices.EqualFunc(was.Members, is.Members, func(a, b Member) bool {
		return a.Name == b.Name && a.Data == b.Data && a.Config == b.Config && slices.Equal(a.Volumes, b.Volumes)
	}) {
		return steps.Inputf("only commands, units, addresses, patience and record can change",
			"%s has different members, folders or volumes from when the rollout began", file)
	}

	s.SiteFile, s.Site = file, text
	return nil
}

// NewState returns the state of a rollout that has not begun. The file names are for messages.
func NewState(planFile, plan, siteFile, site string, recordFor time.Duration) *State {
	return &State{
		Version: stateVersion, Started: time.Now().UTC(), PlanFile: planFile, Plan: plan,
		SiteFile: siteFile, Site: site, RecordFor: recordFor.String(), Direction: steps.GoesForward,
	}
}
