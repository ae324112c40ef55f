package source

import (
	"io"
	"time"
)

// A File is the input of a source that consists of one file. It may be compressed, or in memory.
type File struct {
	// Path is the path of the file, even if Open opens something else in its place. Sources are
	// named after it.
	Path string
	// Open opens the file from its start. A source may call it more than once.
	Open func() (io.ReadCloser, error)
	// Bytes is the number of bytes that Open returns, or 0 if unknown. It is only for progress.
	Bytes int64
	// Modified is when the file was last written; zero if unknown.
	Modified time.Time
}
