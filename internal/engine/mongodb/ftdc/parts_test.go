package ftdc

import (
	"path/filepath"
	"slices"
	"testing"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// The files of a folder, given one by one and in any order, are its capture: no interval is lost between
// two of them. A file that is given twice, or has another name, is a source of its own.
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
		t.Fatalf("%v is left", all)
	}

	if got, want := all[0].Describe().Name, folder; got != want {
		t.Errorf("it is called %s, want %s", got, want)
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
