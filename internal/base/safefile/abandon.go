package safefile

import (
	"os"
	"path/filepath"
	"sync"
)

// unfinished holds the files of this process between Create and Commit or Discard.
var unfinished files

type files struct {
	mu  sync.Mutex
	all map[*File]string // the temporary file's path
}

func (s *files) add(f *File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*File]string{}
	}
	s.all[f] = filepath.Join(filepath.Dir(f.path), f.temp)
}

func (s *files) remove(f *File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, f)
}

// Abandon removes the temporary files of all unfinished writes, for a process that exits without
// waiting for its writers. Files that were to be replaced stay as they were.
func Abandon() {
	unfinished.mu.Lock()
	defer unfinished.mu.Unlock()
	for _, temp := range unfinished.all {
		_ = os.Remove(temp) // the process exits anyway
	}
	clear(unfinished.all)
}
