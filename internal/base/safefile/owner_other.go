//go:build !unix

package safefile

import (
	"io/fs"
	"os"
)

const openNonblock = 0

func keepOwner(*os.File, fs.FileInfo) {}
