package sources

import (
	"cmp"
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
// saved metrics, a diagnostic.data folder, notes). It skips what is not a source. It fails if there
// are more than 32: then it is not one incident.
func (o *Opener) Expand(arg string) ([]string, error) {
	info, err := os.Stat(arg)
	if err != nil || !info.IsDir() || recording.IsRecording(arg) || o.capture(arg, nil) != nil {
		return []string{arg}, nil // Open reports what is wrong with it
	}
	f, err := os.Open(arg)
	if err != nil {
		return []string{arg}, nil
	}
	defer f.Close()
	// ReadDir(n) fails at the end of a folder; check what it listed.
	entries, _ := f.ReadDir(folderEntriesMax)
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	var found []string
	for _, e := range entries {
		path := filepath.Join(arg, e.Name())
		if o.isSource(path) {
			found = append(found, path)
		}
	}
	switch {
	case len(found) == 0:
		return []string{arg}, nil
	case len(found) > folderSourcesMax:
		return nil, fmt.Errorf("%s contains %d sources, more than the limit of %d for one incident: name those that belong together", arg, len(found), folderSourcesMax)
	}
	return found, nil
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
