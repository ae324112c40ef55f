//go:build linux

package mount

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Settings are kernel settings that are changed temporarily. They are recorded first, so that Sweep
// restores them if this process cannot.
type Settings struct {
	state  *State
	unlock func()
}

// SetSysctl changes settings given by name ("vm.dirty_background_bytes"); Restore brings back the
// old values. Until then other processes that change settings wait, because they would take these
// values for the original ones.
func SetSysctl(values map[string]string) (*Settings, error) {
	unlock, err := Lock(context.Background(), "settings", nil)
	if err != nil {
		return nil, err
	}
	state, err := newState("kernel settings")
	if err != nil {
		unlock()
		return nil, err
	}
	s := &Settings{state, unlock}
	state.Settings = map[string]string{}
	for name := range values {
		path, err := sysctlPath(name)
		if err != nil {
			return nil, errors.Join(err, s.Restore())
		}
		old, err := os.ReadFile(path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the setting %s: %w", name, err), s.Restore())
		}
		state.Settings[path] = strings.TrimSpace(string(old))
		// Setting one of a pair sets the other to 0; a former 0 must not be written back over it.
		if pair, ok := pairs[name]; ok {
			other, err := sysctlPath(pair)
			if err != nil {
				return nil, errors.Join(err, s.Restore())
			}
			if text, err := os.ReadFile(other); err == nil && strings.TrimSpace(string(text)) != "0" {
				state.Settings[other] = strings.TrimSpace(string(text))
				delete(state.Settings, path)
			}
		}
	}
	if err := state.save(); err != nil {
		return nil, errors.Join(err, s.Restore())
	}
	for name, value := range values {
		path, err := sysctlPath(name)
		if err == nil {
			err = os.WriteFile(path, []byte(value), 0o644)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the setting %s = %s: %w", name, value, err), s.Restore())
		}
	}
	return s, nil
}

// pairs are settings of which one is in effect while the other is 0
// (Documentation/admin-guide/sysctl/vm.rst).
var pairs = map[string]string{
	"vm.dirty_background_bytes": "vm.dirty_background_ratio", "vm.dirty_background_ratio": "vm.dirty_background_bytes",
	"vm.dirty_bytes": "vm.dirty_ratio", "vm.dirty_ratio": "vm.dirty_bytes",
}

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
	return "/proc/sys/" + strings.ReplaceAll(name, ".", "/"), nil
}

// Restore restores the settings. A second call does nothing.
func (s *Settings) Restore() error {
	if s == nil || s.state == nil {
		return nil
	}
	err := s.state.undo()
	if err == nil {
		s.state = nil
	}
	s.unlock()
	return err
}
