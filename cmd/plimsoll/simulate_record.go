package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"plimsoll/internal/base/safefile"
	"plimsoll/internal/record/recording"
)

// A simulatedRecording is the folder that --out writes. All simulations start at the same time,
// so one cannot continue another as recordings of production can. Repeating one takes a second, so
// an unfinished one is not kept.
type simulatedRecording struct {
	dir  string
	made bool // the folder is ours, not only what is in it
	disk *recording.Disk
}

// createRecording accepts a folder that does not exist or is empty. Without a folder it returns nil, which
// records nothing.
func createRecording(dir string) (*simulatedRecording, error) {
	if dir == "" {
		return nil, nil
	}
	within, err := contents(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return nil, failf(exitFailure, "name a folder that does not exist yet", "--out: %w", err)
	case slices.Contains(within, recording.ManifestName):
		return nil, failf(exitFailure, "name another folder, or delete this one",
			"--out: %s is already a recording, and a simulation cannot continue it", dir)
	case len(within) > 0:
		return nil, failf(exitFailure, "name a folder that is empty or does not exist yet",
			"--out: %s is not a recording, and contains %s", dir, within[0])
	}

	r := &simulatedRecording{dir: dir, made: missing}
	if r.disk, err = recording.Create(dir, recording.DiskOptions{}); err != nil {
		return nil, failf(exitFailure, "name a folder that you can write to", "--out: %w", err)
	}

	return r, nil
}

// contents lists a folder, without the entries that file systems create themselves.
func contents(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		// The root of an ext4 file system is never quite empty, and a killed run leaves its first file.
		if e.Name() != "lost+found" && !safefile.IsLeftover(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// writer is nil if nothing is recorded.
func (r *simulatedRecording) writer() recording.Writer {
	if r == nil {
		return nil
	}
	return r.disk
}

// close ends the recording. If the simulation or the writing failed, it deletes the recording: the
// folder was empty, so everything in it is ours.
func (r *simulatedRecording) close(failed error) error {
	if r == nil {
		return failed
	}
	err := errors.Join(failed, r.disk.Close())
	if err == nil {
		return nil
	}
	// The system's error is the one to act on: a recording's hint assumes that the recording is
	// kept.
	var system syscall.Errno
	if errors.As(err, &system) && !errors.Is(failed, context.Canceled) {
		err = failf(exitFailure, "nothing was kept: name another folder", "--out %s: %w", r.dir, system)
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
