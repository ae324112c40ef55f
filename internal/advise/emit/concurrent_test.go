package emit

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Of several concurrent emits to one folder, one wins. The others are refused, whether they come
// during its write or after it: all have read the folder before. (One that reads it afterwards may write.)
func TestConcurrentWrites(t *testing.T) {
	for round := range 50 {
		dir := filepath.Join(t.TempDir(), "out")
		var wg sync.WaitGroup

		folders, errs := make([]*Folder, 8), make([]error, 8)
		for i := range folders {
			folders[i] = open(t, dir)
		}

		for i, folder := range folders {
			var files []File
			for k := range 6 {
				files = append(files, File{Path: fmt.Sprintf("%d.conf", k), Text: fmt.Appendf(nil, "layout %d\n", i), Mode: plain})
			}
			wg.Go(func() { errs[i] = folder.Write(files, false) })
		}

		wg.Wait()

		won := -1
		for i, err := range errs {
			var refused *InputError
			switch {
			case err == nil && won < 0:
				won = i
			case err == nil:
				t.Errorf("round %d: %d and %d have both written", round, won, i)
			case !errors.As(err, &refused) || !strings.Contains(err.Error(), "another emit"):
				t.Errorf("round %d: %v", round, err)
			}
		}

		for name, text := range tree(t, dir) {
			if strings.HasSuffix(name, ".conf") && text != fmt.Sprintf("layout %d\n", won) {
				t.Errorf("round %d: %s is %q, and %d has written", round, name, text, won)
			}
		}
	}
}
