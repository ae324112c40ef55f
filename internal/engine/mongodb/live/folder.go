package live

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// DataFolder recognises a dbPath without diagnostic data. mongod.lock has the process id while mongod runs.
func DataFolder(dir string) (pid int, port string, is bool) {
	for _, name := range []string{"mongod.lock", "WiredTiger"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return 0, "", false
		}
	}
	text, _ := os.ReadFile(filepath.Join(dir, "mongod.lock"))
	pid, _ = strconv.Atoi(strings.TrimSpace(string(text))) // empty after a clean end
	return pid, "", true
}

var (
	// A mongod.conf is YAML, or has the older lines of name = value.
	Configured = regexp.MustCompile(`(?m)^(systemLog|storage|processManagement|replication|net):\s*$|^dbpath *=`)
	// ConfiguredPort is the setting of the port.
	ConfiguredPort = regexp.MustCompile(`(?m)^\s*port *[:=] *([0-9]+)`)
)
