package sources

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"plimsoll/internal/record/recording"
)

// Bounds on the search of a folder.
const (
	folderEntriesMax = 1000 // entries looked at
	folderSourcesMax = 32   // sources taken from one folder
)

// Expand returns the sources that an argument stands for: itself, or, if it is a folder that is not
// itself a source, the sources in it, such as the files collected about one incident (iostat's log,
// saved metrics, a diagnostic.data folder, notes). A folder that is a source because a folder in it is
// one (a dbPath) stands for that and for what lies beside it. It skips what is not a source. It fails
// if there are more than 32: then it is not one incident.
func (o *Opener) Expand(arg string) ([]string, error) {
	if !isFolder(arg) || recording.IsRecording(arg) {
		return []string{arg}, nil // Open reports what is wrong with it
	}

	paths := entries(arg)
	capture := o.capture(arg, nil) != nil
	if capture && !slices.ContainsFunc(paths,
		func(path string) bool { return isFolder(path) && o.isSource(path) }) {
		return []string{arg}, nil
	}

	found := slices.DeleteFunc(paths, func(path string) bool { return !o.isSource(path) })
	switch {
	case len(found) == 0, capture && (len(found) == 1 || len(found) > folderSourcesMax):
		return []string{arg}, nil
	case len(found) > folderSourcesMax:
		return nil,
			fmt.Errorf("%s contains %d sources, more than the limit of %d for one incident: name those that belong together",
				arg, len(found), folderSourcesMax)
	}

	return found, nil
}

// entries returns the paths of what is in a folder, in order of names.
func entries(folder string) (paths []string) {
	f, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	// ReadDir(n) fails at the end of a folder; check what it listed.
	list, _ := f.ReadDir(folderEntriesMax)
	for _, e := range list {
		paths = append(paths, filepath.Join(folder, e.Name()))
	}
	slices.Sort(paths)
	return paths
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (o *Opener) isSource(path string) bool {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		return recording.IsRecording(path) || o.capture(path, nil) != nil
	case !info.Mode().IsRegular():
		return false
	}

	in, err := o.openFile(path, info)
	if err != nil {
		return false
	}

	if in.Reader != nil {
		// A recording's own manifest: its folder was checked already.
		_ = in.Reader.Close()
		return false
	}

	return true
}
