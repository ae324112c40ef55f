//go:build linux

package server

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	postgres "plimsoll/internal/engine/postgres/model"
)

// reserve is the number of connections in addition to the workload's: one that loads and reads, one
// that watches, and one more while either reconnects.
const reserve = 3

// conf returns the lines added to postgresql.conf.
func conf(c *postgres.Config, socket string) string {
	var b strings.Builder
	set := func(name, value string) { fmt.Fprintf(&b, "%s = %s\n", name, value) }
	b.WriteString("# from the scenario\n")
	for _, x := range c.Settings() {
		switch x.Name {
		// Room for the lab's own connections, which the workload must not take.
		case "max_connections":
			x.Value = c.MaxConnections + reserve
		case "wal_buffers":
			if c.WALBuffers == 0 {
				continue
			}
		}
		set(x.Name, x.Text(size, span))
	}
	b.WriteString("# for the lab\n")
	// Only the socket: no other user of the machine can connect over the network.
	set("listen_addresses", "''")
	set("unix_socket_directories", quoted(socket))
	set("log_checkpoints", "on")
	set("log_line_prefix", "'%m '")
	set("log_timezone", "'UTC'")
	// Messages are parsed, so they must be in English.
	set("lc_messages", "'C'")
	set("logging_collector", "off")

	return b.String()
}

// size formats a size in PostgreSQL's kB (1,024 bytes) or in bytes. PostgreSQL rounds it to blocks.
func size(s units.Size) string {
	switch {
	case s == 0:
		return "0"
	case s%units.KiB == 0:
		return strconv.FormatInt(int64(s/units.KiB), 10) + "kB"
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// span formats a duration in the largest exact unit. PostgreSQL rounds it to the setting's unit.
func span(d units.Duration) string {
	switch n := d.Std(); {
	case n%time.Second == 0:
		return strconv.FormatInt(int64(n/time.Second), 10) + "s"
	case n%time.Millisecond == 0:
		return strconv.FormatInt(n.Milliseconds(), 10) + "ms"
	default:
		return strconv.FormatInt(n.Microseconds(), 10) + "us"
	}
}

// quoted quotes a string for postgresql.conf.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}
