package live

import (
	"os"
	"path/filepath"
)

// DataFolder recognises a --data-dir by its log and its snapshots.
func DataFolder(dir string) (pid int, port string, is bool) {
	for _, name := range []string{"wal", "snap"} {
		if info, err := os.Stat(filepath.Join(dir, "member", name)); err != nil || !info.IsDir() {
			return 0, "", false
		}
	}
	return 0, "", true
}
