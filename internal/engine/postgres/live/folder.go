package live

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// DataFolder recognises a data directory, and finds its server in postmaster.pid: the process on the first
// line, the port on the fourth (PostgreSQL: src/include/utils/pidfile.h).
func DataFolder(dir string) (pid int, port string, is bool) {
	for _, name := range []string{"PG_VERSION", "pg_wal", "global"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return 0, "", false
		}
	}

	text, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	if err != nil {
		return 0, "", true // it does not run, or another user's rights are needed
	}

	lines := strings.Split(string(text), "\n")
	pid, _ = strconv.Atoi(strings.TrimSpace(lines[0])) // 0: damaged, so unknown
	if len(lines) > 3 {
		if n, err := strconv.ParseUint(strings.TrimSpace(lines[3]), 10, 16); err == nil {
			port = strconv.FormatUint(n, 10)
		}
	}

	return pid, port, true
}

var (
	// Settings of nearly every postgresql.conf, which may be commented out, and lines of pg_hba.conf.
	Configured = regexp.MustCompile(`(?m)^#?(listen_addresses|shared_buffers|data_directory|max_connections) *=|^(local|host) +all +`)
	// ConfiguredPort is the setting of the port.
	ConfiguredPort = regexp.MustCompile(`(?m)^#?port *=? *'?([0-9]+)`)
)
