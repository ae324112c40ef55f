package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"plimsoll/internal/record/recording"
)

// A simulatedRecording is the folder that --record writes. A simulation's times begin where every simulation's
// do, so it cannot be continued as a recording of production can; and it costs a second to make anew, so one that did
// not come to its end is not kept.
type simulatedRecording struct {
	dir  string
	made bool // the folder is ours, not only what is in it
	disk *recording.Disk
}

// createRecording takes a folder that is not there, or has nothing in it.
func createRecording(dir string) (*simulatedRecording, error) {
	within, err := contents(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return nil, &failure{code: exitFailure, err: fmt.Errorf("--record: %w", err), hint: "name a folder that is not there yet"}
	case slices.Contains(within, recording.ManifestName):
		return nil, &failure{code: exitFailure, err: fmt.Errorf("--record: %s is a recording already, which a simulation does not continue", dir),
			hint: "name another folder, or delete this one"}
	case len(within) > 0:
		return nil, &failure{code: exitFailure, err: fmt.Errorf("--record: %s is no recording, and has %s in it", dir, within[0]),
			hint: "name a folder that is empty, or not there yet"}
	}
	r := &simulatedRecording{dir: dir, made: missing}
	if r.disk, err = recording.Create(dir, recording.DiskOptions{}); err != nil {
		return nil, &failure{code: exitFailure, err: fmt.Errorf("--record: %w", err), hint: "name a folder where you may write"}
	}
	return r, nil
}

// contents are the names in a folder, but that which file systems have of themselves.
func contents(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Name() != "lost+found" {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// close ends the recording. If the simulation failed, or it cannot be written, what there is of it goes: the folder
// was empty, so all in it is ours.
func (r *simulatedRecording) close(failed error) error {
	err := errors.Join(failed, r.disk.Close())
	if err == nil {
		return nil
	}
	// The system's word is the one to act on: what a recording advises is about one that is kept.
	var system syscall.Errno
	if errors.As(err, &system) && !errors.Is(failed, context.Canceled) {
		err = &failure{code: exitFailure, err: fmt.Errorf("--record %s: %w", r.dir, system), hint: "nothing was kept: name a folder elsewhere"}
	}
	return errors.Join(err, r.remove())
}

func (r *simulatedRecording) remove() error {
	if r.made {
		return os.RemoveAll(r.dir)
	}
	names, err := contents(r.dir)
	for _, name := range names {
		err = errors.Join(err, os.RemoveAll(filepath.Join(r.dir, name)))
	}
	return err
}
