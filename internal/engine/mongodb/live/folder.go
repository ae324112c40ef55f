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
	configured = regexp.MustCompile(`(?m)^(systemLog|storage|processManagement|replication|net):\s*$|^dbpath *=`)
	portSet    = regexp.MustCompile(`(?m)^\s*port *[:=] *([0-9]+)`)
)

// Configuration recognises mongod.conf.
func Configuration(head []byte) (port string, is bool) {
	if !configured.Match(head) {
		return "", false
	}
	if m := portSet.FindSubmatch(head); m != nil {
		port = string(m[1])
	}
	return port, true
}
