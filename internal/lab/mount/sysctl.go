//go:build linux

package mount

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Settings are kernel settings that are changed temporarily. Their previous values are recorded
// first, so that Sweep, or the next process that changes settings, can restore them if this process
// cannot.
//
// The record is stored with the lock instead of below Root, because there is only one kernel: a
// process that gets the lock of a killed process must know that the current values are not the
// original ones.
type Settings struct {
	PID     int    `json:"pid"`
	Started string `json:"started"` // see State
	// Before maps files in /proc/sys to their previous contents.
	Before map[string]string `json:"before"`

	saved  bool
	unlock func()
}

const (
	settingsLock   = "settings"
	settingsRecord = LockRoot + "/settings.json"
)

// SetSysctl changes settings given by name ("vm.dirty_background_bytes"); Restore brings back the
// old values. Until then other processes that change settings wait, because they would record these
// values as the original ones.
func SetSysctl(values map[string]string) (*Settings, error) {
	unlock, err := Lock(context.Background(), settingsLock, nil)
	if err != nil {
		return nil, err
	}
	s := &Settings{PID: os.Getpid(), Started: startOf(os.Getpid()), Before: map[string]string{}, unlock: unlock}
	if err := s.set(values); err != nil {
		return nil, errors.Join(err, s.Restore())
	}
	return s, nil
}

func (s *Settings) set(values map[string]string) error {
	left, err := recorded()
	if err != nil {
		return err
	}

	// We hold the lock, so an existing record is from a killed process.
	if left != nil {
		if err := left.restore(); err != nil {
			return err
		}
	}

	for name := range values {
		if err := s.keep(name); err != nil {
			return err
		}
	}

	// The record must be complete before the first change.
	if err := s.save(); err != nil {
		return err
	}

	s.saved = true
	for name, value := range values {
		path, err := sysctlPath(name)
		if err == nil {
			err = os.WriteFile(path, []byte(value), 0o644)
		}
		if err != nil {
			return fmt.Errorf("cannot set %s = %s: %w", name, value, err)
		}
	}

	return nil
}

// keep records a setting's current value.
func (s *Settings) keep(name string) error {
	path, err := sysctlPath(name)
	if err != nil {
		return err
	}

	old, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read the setting %s: %w", name, err)
	}

	s.Before[path] = strings.TrimSpace(string(old))

	// Setting one of a pair resets the other to 0. A previous value of 0 must not be written back,
	// because that would reset the other one.
	if pair, ok := pairs[name]; ok {
		other, err := sysctlPath(pair)
		if err != nil {
			return err
		}
		if text, err := os.ReadFile(other); err == nil && strings.TrimSpace(string(text)) != "0" {
			s.Before[other] = strings.TrimSpace(string(text))
			delete(s.Before, path)
		}
	}

	return nil
}

// save writes the record atomically.
func (s *Settings) save() error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	const tmp = settingsRecord + ".tmp"
	if err := os.WriteFile(tmp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, settingsRecord)
}

// recorded returns the settings that are currently changed, by a running or a killed process; nil:
// none.
func recorded() (*Settings, error) { return readSettings(settingsRecord) }

func readSettings(record string) (*Settings, error) {
	info, err := os.Stat(record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}
	if info.Size() > stateBytesMax {
		return nil,
			fmt.Errorf("%s: not a plimsoll record (%d bytes): restore the kernel's settings (sysctl --system), then remove the file",
				record, info.Size())
	}

	text, err := os.ReadFile(record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, err
	}

	s := &Settings{}
	err = json.Unmarshal(text, s)
	for path := range s.Before {
		// This process runs as root, so it must not write to arbitrary paths that a damaged record
		// names.
		if err == nil && (filepath.Clean(path) != path || !strings.HasPrefix(path, procSys)) {
			err = fmt.Errorf("%q is not a kernel setting", path)
		}
	}

	if err != nil {
		return nil, fmt.Errorf("%s: %w: restore the kernel's settings (sysctl --system), then remove the file",
			record, err)
	}

	return s, nil
}

// restore writes back the old values. The caller holds the lock.
func (s *Settings) restore() error {
	var errs []error
	for path, value := range s.Before {
		if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot restore kernel settings: %w", err)
	}
	if err := os.Remove(settingsRecord); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sweepPatience is how long a killed process may keep its lock until it has exited.
const sweepPatience = 30 * time.Second

// sweepSettings restores settings that a killed process left changed, and describes them.
func sweepSettings() (did string, err error) {
	for end := time.Now().Add(sweepPatience); ; {
		// The lock alone does not say whether its holder is alive: a killed process holds it until
		// it has exited.
		s, err := recorded()
		if s == nil || err != nil || alive(s.PID, s.Started) {
			return "", err
		}

		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		unlock, err := Lock(ctx, settingsLock, nil)
		cancel()

		switch {
		case err == nil:
			return s.sweep(unlock)
		case !errors.Is(err, context.DeadlineExceeded):
			return "", err
		case time.Now().After(end):
			return "",
				fmt.Errorf("cannot restore the kernel settings changed by process %d: it was killed but does not exit",
					s.PID)
		}
	}
}

// sweep restores the settings, unless another process did so before the lock was acquired.
func (s *Settings) sweep(unlock func()) (did string, err error) {
	defer unlock()
	now, err := recorded()
	if err != nil || now == nil || now.PID != s.PID || now.Started != s.Started {
		return "", err
	}
	if err := s.restore(); err != nil {
		return "", err
	}
	var names []string
	for _, path := range slices.Sorted(maps.Keys(s.Before)) {
		names = append(names, strings.ReplaceAll(strings.TrimPrefix(path, procSys), "/", "."))
	}
	return fmt.Sprintf("restored settings changed by process %d: %s", s.PID, strings.Join(names, ", ")), nil
}

// pairs are settings of which only one is in effect, while the other reads as 0
// (Documentation/admin-guide/sysctl/vm.rst).
var pairs = map[string]string{
	"vm.dirty_background_bytes": "vm.dirty_background_ratio",
	"vm.dirty_background_ratio": "vm.dirty_background_bytes",
	"vm.dirty_bytes":            "vm.dirty_ratio", "vm.dirty_ratio": "vm.dirty_bytes",
}

const procSys = "/proc/sys/"

// sysctlPath returns a setting's file. A name consists of letters, digits, dots and underscores.
func sysctlPath(name string) (string, error) {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '_' {
			return "", fmt.Errorf("%q is not a kernel setting", name)
		}
	}
	if name == "" || strings.Contains(name, "..") {
		return "", fmt.Errorf("%q is not a kernel setting", name)
	}
	return procSys + strings.ReplaceAll(name, ".", "/"), nil
}

// Restore restores the settings. A second call does nothing. Settings that cannot be restored stay
// recorded.
func (s *Settings) Restore() error {
	if s == nil || s.unlock == nil {
		return nil
	}
	var err error
	if s.saved { // otherwise nothing was changed, and a record would be another process's
		err = s.restore()
	}
	s.unlock()
	s.unlock = nil
	return err
}
