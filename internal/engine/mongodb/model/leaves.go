package model

// chunkPages is how many pages are allocated together: 320 KiB of them.
const (
	chunkBits  = 14
	chunkPages = 1 << chunkBits
)

// leaves are the pages of a tree. Inserts add pages for as long as a run lasts: in one slice, growing
// would keep all of them twice.
type leaves struct {
	chunks []*[chunkPages]page
	count  int
}

func (l *leaves) at(i int) *page { return &l.chunks[i>>chunkBits][i&(chunkPages-1)] }

func (l *leaves) add(p page) {
	if l.count>>chunkBits == len(l.chunks) {
		l.chunks = append(l.chunks, new([chunkPages]page))
	}
	l.count++
	*l.at(l.count - 1) = p
}
