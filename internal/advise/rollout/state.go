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

// What [steps] has under these names here.
type (
	Step      = steps.Step
	StepState = steps.State
	StepError = steps.StepError
	// An InputError says what is wrong with what the user gave, and what to do about it.
	InputError = steps.InputError
)

// ErrInterrupted says that a rollout stopped at a safe point because it was asked to.
var ErrInterrupted = steps.ErrInterrupted

// Directions of a rollout.
const (
	Forward   = steps.GoesForward
	Undoing   = steps.GoesBack
	Undone    = steps.IsUndone
	Finishing = steps.IsFinishing
	Finished  = steps.IsFinished
)

const (
	stateVersion  = 1
	stateName     = "state.json"
	lockName      = "lock"
	stateBytesMax = 64 << 20
)

// A State is where a rollout stands, and all that it takes to continue: the plan and the site as
// they were when it began. It is one file, replaced as a whole.
type State struct {
	Version   int         `json:"version"`
	Started   time.Time   `json:"started"`
	PlanFile  string      `json:"plan_file"`
	Plan      string      `json:"plan"`
	SiteFile  string      `json:"site_file"`
	Site      string      `json:"site"`
	RecordFor string      `json:"record_for"` // length of each recording; "0s" for none
	Direction string      `json:"direction"`
	Steps     []StepState `json:"steps"`
	// Proof is what comparing the recordings said: "better", "worse", ...; "" before. ProofText is
	// that in a sentence.
	Proof     string `json:"proof,omitempty"`
	ProofText string `json:"proof_text,omitempty"`
}

// A Folder holds a rollout's state, its recordings and its commands' output. Only one process at a
// time has it open; the kernel ends its hold when it dies.
type Folder struct {
	path string
	lock *os.File
}

// OpenFolder opens a rollout's folder, and makes it if create is set. It fails if another process
// has it open.
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
			return nil, steps.Inputf("--dir names the folder of the rollout", "%s holds no rollout", path)
		}
	}

	if err := ours(path); err != nil {
		return nil, err
	}

	f, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, unwritable(err)
	}

	if err := flock(f); err != nil {
		return nil, errors.Join(steps.Failf("wait until it ends; plimsoll rollout shows where it stands",
			"another process works on the rollout in %s", path), f.Close())
	}

	return &Folder{path: path, lock: f}, errors.Join(safefile.RemoveLeftovers(filepath.Join(path, stateName)))
}

// unwritable says what to do about a folder that the state cannot be written to.
func unwritable(err error) error {
	return steps.Failf("nothing was changed; --dir names a folder that can be written",
		"the rollout's state cannot be written: %v", err)
}

// ours fails if there is something in a folder, and it is not a rollout.
func ours(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}

	for _, e := range entries {
		if e.Name() == stateName {
			return nil
		}
	}

	for _, e := range entries {
		if e.Name() != lockName && !safefile.IsLeftover(e.Name()) {
			return steps.Inputf("--dir names a folder that is new or empty", "%s is no rollout's folder: %s is in it",
				path, e.Name())
		}
	}

	return nil
}

// ViewFolder opens a rollout's folder to look at it alone. busy says that another process works on it.
func ViewFolder(path string) (f *Folder, busy bool, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, false, err
	}

	if _, err := os.Stat(filepath.Join(path, stateName)); errors.Is(err, fs.ErrNotExist) {
		return nil, false, steps.Inputf("--dir names the folder of the rollout", "%s holds no rollout", path)
	}

	lock, err := os.Open(filepath.Join(path, lockName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}

	if err == nil {
		busy = unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
		_ = lock.Close() // it was only looked at
	}

	return &Folder{path: path}, busy, nil
}

// flock takes a file or folder for this process alone.
func flock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// Close lets another process open it.
func (f *Folder) Close() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

// Path returns the path of something in the folder.
func (f *Folder) Path(name ...string) string {
	return filepath.Join(append([]string{f.path}, name...)...)
}

// Load reads the state; nil if there is none yet.
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
	if err == nil && of.Version != stateVersion {
		return nil, steps.Inputf("use the plimsoll that made it", "%s is of version %d, this program reads %d",
			f.Path(stateName), of.Version, stateVersion)
	}

	if err == nil {
		err = errors.Join(json.Unmarshal(text, s), s.check())
	}

	if err != nil {
		return nil, steps.Inputf("docs/rollout.md says how to end a rollout by hand whose state is lost",
			"%s cannot be read: %v", f.Path(stateName), err)
	}

	return s, nil
}

// check fails if the state has a direction or a phase that is none.
func (s *State) check() error {
	if !slices.Contains([]string{Forward, Undoing, Undone, Finishing, Finished}, s.Direction) {
		return fmt.Errorf("%q is no direction", s.Direction)
	}
	for i := range s.Steps {
		if p := s.Steps[i].Phase; !slices.Contains([]steps.Phase{"", steps.Begun, steps.Done, steps.Undoing,
			steps.Undone}, p) {
			return fmt.Errorf("%q is no phase of a step", p)
		}
	}
	return nil
}

func (f *Folder) save(s *State) error {
	if f.lock == nil {
		return errors.New("the rollout was only looked at")
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

// Amend replaces the site, for one whose commands or address were wrong. Members, folders and
// volumes must be the same. The error is an *[InputError] or of the text.
func (s *State) Amend(file, text string) error {
	was, err := ParseSite(s.SiteFile, []byte(s.Site))
	if err != nil {
		return err
	}

	is, err := ParseSite(file, []byte(text))
	if err != nil {
		return err
	}

	if !slices.EqualFunc(was.Members, is.Members, func(a, b Member) bool {
		return a.Name == b.Name && a.Data == b.Data && a.Config == b.Config && slices.Equal(a.Volumes, b.Volumes)
	}) {
		return steps.Inputf("only commands, units, addresses, patience and record can change",
			"%s has other members, folders or volumes than the rollout was begun with", file)
	}

	s.SiteFile, s.Site = file, text
	return nil
}

// NewState is that of a rollout that has not begun. The names of the files are for messages.
func NewState(planFile, plan, siteFile, site string, recordFor time.Duration) *State {
	return &State{
		Version: stateVersion, Started: time.Now().UTC(), PlanFile: planFile, Plan: plan,
		SiteFile: siteFile, Site: site, RecordFor: recordFor.String(), Direction: Forward,
	}
}
