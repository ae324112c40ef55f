package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/record/recording"
)

const (
	// lastKept is the word for the newest samples of a live diagnosis.
	lastKept = "last"
	// keptMost bounds how many diagnoses' samples are kept, keptBytesMax the size of each.
	keptMost     = 5
	keptBytesMax = 64 << 20
	// keptName is the format of a kept recording's folder.
	keptName = "20060102T150405Z"
)

// keptFolder is where live diagnoses keep their samples: in the user's cache folder (XDG Base Directory
// Specification). It is "" if there is none.
func keptFolder(getenv func(string) string) string {
	if dir := getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) { // relative ones are to be ignored
		return filepath.Join(dir, "plimsoll", "live")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "plimsoll", "live")
	}
	return ""
}

// keptIn lists what is kept, oldest first.
func keptIn(folder string) (paths []string) {
	entries, err := os.ReadDir(folder) // sorted by name, which is the time
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if _, err := time.Parse(keptName, e.Name()); err == nil && e.IsDir() {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths
}

// keptAs is the folder of the newest samples that were kept, if an argument asks for them and is not a file;
// "" otherwise.
func (a *app) keptAs(arg string) string {
	if arg != lastKept {
		return ""
	}
	if _, err := os.Lstat(arg); err == nil {
		return ""
	}
	if all := keptIn(keptFolder(a.getenv)); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// keepLive keeps the samples of live sources, and says where. It returns their folder, or "" if there is no
// live source, or no place: a diagnosis does not depend on it.
func keepLive(ctx context.Context, a *app, inputs []input, readers []recording.Reader) string {
	folder := keptFolder(a.getenv)
	if !slices.ContainsFunc(inputs, input.live) || folder == "" {
		return ""
	}

	path := filepath.Join(folder, a.now().UTC().Format(keptName))
	if err := keep(ctx, path, inputs, readers); err != nil {
		_ = os.RemoveAll(path) // incomplete
		fmt.Fprintf(a.stderr, "plimsoll: note: the samples are not kept: %s\n", printable(err.Error()))
		return ""
	}

	for all := keptIn(folder); len(all) > keptMost; all = all[1:] {
		_ = os.RemoveAll(all[0]) // it is tried again by the next diagnosis
	}
	return path
}

// keep writes the samples of live sources to a new folder that only this user can read.
func keep(ctx context.Context, path string, inputs []input, readers []recording.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}

	disk, err := recording.Create(path, recording.DiskOptions{KeepBytes: keptBytesMax})
	if err != nil {
		return err
	}

	for i, in := range inputs {
		if err == nil && in.live() {
			err = copyReader(ctx, readers[i], disk, time.Time{}, time.Time{}, &tally{})
		}
	}
	if e := disk.Close(); err == nil {
		err = e
	}
	return err
}
