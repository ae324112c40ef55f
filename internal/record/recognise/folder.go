package recognise

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"plimsoll/internal/record/recording"
)

// Limits of the search in a folder.
const (
	folderEntriesMax = 1000 // entries to check
	folderSourcesMax = 32   // sources in one folder
)

// Expand returns the sources that an argument means: itself, or, if it is a folder that is not
// itself a source, the sources in it, such as the files collected about an incident (iostat's log,
// saved metrics, a diagnostic.data folder, notes). A folder that is a source because of a folder in
// it (a dbPath) means that folder and the sources next to it. Everything else is skipped. More than
// 32 sources are an error, because that is not a single incident.
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

	// Files of a database's data folder may resemble metrics or logs.
	if !capture && o.dataFolder(arg) != "" {
		return []string{arg}, nil
	}

	// Pages of metrics, one per file, become one source, so there may be as many as a folder has.
	pages := 0
	found := slices.DeleteFunc(paths, func(path string) bool {
		kind, ok := o.sourceKind(path)
		if kind == pageKind {
			pages++
		}
		return !ok
	})

	switch {
	// A capture without neighbours, or with too many, stands for itself only.
	case len(found) == 0, capture && (len(found) == 1 || len(found)-pages > folderSourcesMax):
		return []string{arg}, nil
	case len(found)-pages > folderSourcesMax:
		return nil,
			fmt.Errorf("%s contains %d sources: want at most %d for one incident; give those that belong together",
				arg, len(found), folderSourcesMax)
	}

	return found, nil
}

// entries returns the paths in a folder, in order of their names.
func entries(folder string) (paths []string) {
	f, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	// ReadDir(n) fails at the end of a folder, but returns what it has read.
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

// pageKind is the kind of a file with pages of metrics.
const pageKind = "openmetrics"

func (o *Opener) isSource(path string) bool {
	_, ok := o.sourceKind(path)
	return ok
}

// sourceKind returns the kind of the source at a path, "" for a folder; false if it is none.
func (o *Opener) sourceKind(path string) (kind string, ok bool) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", false
	case info.IsDir():
		return "", recording.IsRecording(path) || o.capture(path, nil) != nil
	case !info.Mode().IsRegular():
		return "", false
	}

	in, err := o.openFile(path, info)
	if err != nil {
		return "", false
	}

	if in.Reader != nil {
		// A recording's own manifest, whose folder was already checked.
		_ = in.Reader.Close()
		return "", false
	}

	return in.Describe().Kind, true
}
