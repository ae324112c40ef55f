package recording

import (
	"errors"
	"os"
	"sync/atomic"
)

// errGone is the error of a recorder whose folder is no longer at its path. Its open files would
// still accept samples, but no reader would find them.
var errGone = errors.New("the folder was removed, moved or replaced during the recording")

// A place is a folder that existed at a path when it was opened.
type place struct {
	path string
	was  os.FileInfo
	gone atomic.Bool
}

func newPlace(path string) (*place, error) {
	info, err := os.Stat(path)
	return &place{path: path, was: info}, err
}

// check checks whether the folder is still at its path. If the check itself fails, the folder is assumed to
// be there.
func (p *place) check() {
	now, err := os.Stat(p.path)
	switch {
	case err == nil:
		p.gone.Store(!os.SameFile(p.was, now))
	case errors.Is(err, os.ErrNotExist):
		p.gone.Store(true)
	}
}

// err returns errGone while the folder is not at its path.
func (p *place) err() error {
	if p.gone.Load() {
		return errGone
	}
	return nil
}
