package model

import (
	"fmt"
	"regexp"
	"strings"
)

// isCheckpointer reports whether a command line is that of the checkpointer: "postgres: checkpointer", with
// the cluster's name between if it has one (PostgreSQL documentation, "Standard Unix Tools"). Backends wait
// for their own syncs of the log, and never for the checkpointer's of the tables.
func isCheckpointer(commandLine string) bool {
	title := strings.TrimSpace(strings.TrimRight(commandLine, "\x00 "))
	return strings.HasPrefix(title, "postgres: ") && (title == "postgres: checkpointer" ||
		strings.HasSuffix(title, ": checkpointer"))
}

// relationFile matches the file of a table or an index: base/DATABASE/FILENODE, with a suffix for further
// segments and forks (PostgreSQL documentation, "Database File Layout").
var relationFile = regexp.MustCompile(`(?:^|/)base/([0-9]+)/([0-9]+)(?:_[a-z]+)?(?:\.[0-9]+)?$`)

// relationOf returns how to find the name of the table or the index that a file belongs to.
func relationOf(path string) string {
	m := relationFile.FindStringSubmatch(path)
	if m == nil {
		return ""
	}
	return fmt.Sprintf("%[2]s is a table or an index; --server ADDRESS names it, or in the database with OID %[1]s (SELECT datname FROM "+
		"pg_database WHERE oid = %[1]s): SELECT pg_filenode_relation(0, %[2]s)", m[1], m[2])
}
