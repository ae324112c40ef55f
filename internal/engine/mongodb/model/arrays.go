package model

import (
	"sync"

	"plimsoll/internal/base/bigpage"
)

// arrays are the pages' arrays of an engine that is finished, by tree. A plan simulates a dozen
// layouts of one database, whose pages are most of a run's memory. Made again each time, they would
// have to be cleared, and grown again to what the inserts make of them.
type arrays struct{ pages [][]page }

// used holds the arrays that are free for reuse.
var used sync.Pool // of *arrays

// take gives an array of n pages for the i-th tree, whose content is anything.
func (a *arrays) take(i, n int) []page {
	if a != nil && i < len(a.pages) && cap(a.pages[i]) >= n {
		return a.pages[i][:n]
	}
	return bigpage.Slice[page](n + n/4 + 1024)[:n]
}

// Release hands the pages' memory on to an engine that is made later. Nothing may be asked of this
// one any more.
func (e *Engine) Release() {
	a := e.arrays
	if a == nil {
		a = &arrays{}
	}
	for i, t := range e.trees {
		if i == len(a.pages) {
			a.pages = append(a.pages, nil)
		}
		a.pages[i], t.pages = t.pages[:0], nil
	}
	e.arrays = nil
	used.Put(a)
}
