package live

import (
	"os"
	"path/filepath"
	"regexp"
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

var (
	// Etcd reads YAML (--config-file), and packages set its environment in /etc/default/etcd.
	Configured = regexp.MustCompile(`(?m)^#? *"?(listen-client-urls|advertise-client-urls|initial-cluster)"?:|^#? *ETCD_[A-Z_]+=`)
	// ClientURLs has the port in the first of the addresses for clients.
	ClientURLs = regexp.MustCompile(`(?m)^ *(?:listen-client-urls: *|ETCD_LISTEN_CLIENT_URLS=)["']?https?://[^,"'\s]*:([0-9]+)`)
)
