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
	configured = regexp.MustCompile(`(?m)^#? *"?(listen-client-urls|advertise-client-urls|initial-cluster)"?:|^#? *ETCD_[A-Z_]+=`)
	clientURLs = regexp.MustCompile(`(?m)^ *(?:listen-client-urls: *|ETCD_LISTEN_CLIENT_URLS=)["']?https?://[^,"'\s]*:([0-9]+)`)
)

// Configuration recognises etcd's configuration.
func Configuration(head []byte) (port string, is bool) {
	if !configured.Match(head) {
		return "", false
	}
	if m := clientURLs.FindSubmatch(head); m != nil {
		port = string(m[1])
	}
	return port, true
}
