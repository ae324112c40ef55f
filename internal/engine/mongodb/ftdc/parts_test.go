package ftdc

import (
	"path/filepath"
	"slices"
	"testing"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// The files of a folder, given one by one in any order, are joined into its capture, so no interval
// between two of them is lost. A file that is given twice, or has another name, remains a separate
// source.
func TestFilesOfAFolder(t *testing.T) {
	const folder = "../../../../examples/mongodb-checkpoint/diagnostic.data"
	paths, err := filepath.Glob(folder + "/metrics.*")
	if err != nil || len(paths) < 2 {
		t.Fatalf("%d files: %v", len(paths), err)
	}

	slices.Reverse(paths)
	open := func(path string) source.Source {
		t.Helper()
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}

	var all []source.Source
	for _, p := range append(paths, paths[0]) {
		all = append(all, open(p))
	}

	source.Join(all)
	if all[0] == nil || all[1] != nil || all[2] == nil {
		t.Fatalf("%v are left", all)
	}

	if got, want := all[0].Describe().Name, folder; got != want {
		t.Errorf("its name is %s, want %s", got, want)
	}

	samples := func(t *testing.T, s source.Source) int64 {
		t.Helper()
		if err := s.Read(t.Context(), recording.NewMemory(recording.MemoryOptions{}), source.Options{}); err != nil {
			t.Fatal(err)
		}
		return s.Describe().Samples
	}

	if got, want := samples(t, all[0]), samples(t, open(folder)); got != want || got == 0 {
		t.Errorf("%d samples, the folder has %d", got, want)
	}
}
