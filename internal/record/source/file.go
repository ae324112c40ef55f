package source

import (
	"io"
	"time"
)

// A File is what a source in one file is read from. It may be compressed, or lie in memory.
type File struct {
	// Path is the file's, also where something else is opened in its place: sources are called
	// after it.
	Path string
	// Open opens the file from its start. A source may call it more than once.
	Open func() (io.ReadCloser, error)
	// Bytes is how many bytes Open returns, 0 if unknown. It is for progress only.
	Bytes int64
	// Modified is when the file was last written to; zero if unknown.
	Modified time.Time
}
