package procfs

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Listener is a TCP socket that accepts connections.
type Listener struct {
	Port  int
	uid   string
	Inode string
}

// Listening returns the TCP ports on which a process accepts connections in this network namespace, in
// order. If its descriptors may not be read, which needs its user's rights, the ports are those of all
// sockets of its user; root's would be those of any service, and are left out. proc is usually "/proc".
func Listening(proc string, pid int) []int {
	all := Listeners(filepath.Join(proc, "net"))
	dir := filepath.Join(proc, strconv.Itoa(pid))
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	own := map[string]bool{}
	for _, fd := range fds {
		if link, err := os.Readlink(filepath.Join(dir, "fd", fd.Name())); err == nil {
			own[link] = true
		}
	}

	uid := ""
	if err != nil {
		uid = userOf(dir)
	}

	var out []int
	for _, l := range all {
		if own["socket:["+l.Inode+"]"] || uid != "" && uid != "0" && l.uid == uid {
			out = append(out, l.Port)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// userOf is the effective user of a process, from its status; "" if it is gone.
func userOf(dir string) string {
	text, _ := os.ReadFile(filepath.Join(dir, "status"))
	for line := range strings.Lines(string(text)) {
		// Uid: real, effective, saved, file system.
		if f := strings.Fields(line); len(f) > 2 && f[0] == "Uid:" {
			return f[2]
		}
	}
	return ""
}

// socketsBytesMax bounds what is read of a protocol's sockets: 28,000 of them.
const socketsBytesMax = 4 << 20

// Listeners returns the listening sockets of a network namespace, from its folder, such as /proc/net or
// /proc/PID/net.
func Listeners(dir string) (all []Listener) {
	for _, name := range []string{"tcp", "tcp6"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			continue // no such protocol: no sockets
		}
		text, _ := io.ReadAll(io.LimitReader(f, socketsBytesMax)) // the rest of a larger file is not read
		_ = f.Close()
		all = append(all, parseListeners(string(text))...)
	}
	return all
}

// parseListeners reads /proc/net/tcp (Linux, Documentation/networking/proc_net_tcp.rst).
func parseListeners(text string) (out []Listener) {
	const listen = "0A" // TCP_LISTEN
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != listen {
			continue
		}
		_, hex, _ := strings.Cut(f[1], ":")
		port, err := strconv.ParseUint(hex, 16, 16)
		if err != nil {
			continue
		}
		out = append(out, Listener{Port: int(port), uid: f[7], Inode: f[9]})
	}
	return out
}

// Alive reports whether there is a process with an id.
func Alive(proc string, pid int) bool {
	_, err := os.Stat(filepath.Join(proc, fmt.Sprint(pid)))
	return pid > 0 && err == nil
}
