package recording

import (
	"errors"
	"os"
	"sync/atomic"
)

// errGone is the error of a recorder whose folder is not at its place any more. Its open files take
// samples still, but nobody would find them.
var errGone = errors.New("the folder was removed, moved or replaced while it was recorded to")

// A place is a folder that was at a path when it was opened.
type place struct {
	path string
	was  os.FileInfo
	gone atomic.Bool
}

func newPlace(path string) (*place, error) {
	info, err := os.Stat(path)
	return &place{path: path, was: info}, err
}

// look looks whether the folder is still there. A path that cannot be looked at may be.
func (p *place) look() {
	is, err := os.Stat(p.path)
	switch {
	case err == nil:
		p.gone.Store(!os.SameFile(p.was, is))
	case errors.Is(err, os.ErrNotExist):
		p.gone.Store(true)
	}
}

// err is errGone while the folder is not there.
func (p *place) err() error {
	if p.gone.Load() {
		return errGone
	}
	return nil
}
