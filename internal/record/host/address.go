package host

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// An address selects the cgroup to sample, if it is not that of this process. It follows the word
// host.
type address struct {
	pid    int    // 0 if none
	cgroup string // a path below the mounts, "/system.slice/db.service"
}

// parse parses "host", "host?pid=4711" and "host?cgroup=/system.slice/db.service".
func parse(arg string) (address, error) {
	_, query, ok := strings.Cut(arg, "?")
	if !ok {
		return address{}, nil
	}

	const want = "want host, host?pid=4711 or host?cgroup=/system.slice/db.service"
	values, err := url.ParseQuery(query)
	if err != nil || len(values) != 1 {
		return address{}, fmt.Errorf("%q does not name a cgroup: %s", arg, want)
	}

	if path := values.Get("cgroup"); path != "" {
		path = strings.TrimPrefix(path, "/sys/fs/cgroup")
		// A path with .. would leave the cgroup mount.
		if !strings.HasPrefix(path, "/") || strings.Contains(path+"/", "/../") {
			return address{},
				fmt.Errorf("cgroup=%s is not the path of a cgroup: give the path in /proc/PID/cgroup, starting with /",
					path)
		}
		return address{cgroup: path}, nil
	}

	pid, err := strconv.Atoi(values.Get("pid"))
	if err != nil || pid <= 0 {
		return address{}, fmt.Errorf("%q does not name a process: %s", arg, want)
	}

	return address{pid: pid}, nil
}

// find finds the cgroup. The cgroup of another process must exist: falling back to the mounted one,
// as for our own, would sample the wrong process.
func (a address) find(root string) (cgroup, error) {
	switch {
	case a.cgroup != "":
		member, err := readFile(root, "proc/self/cgroup")
		if err != nil {
			return cgroup{}, err
		}
		// With cgroup v1, the path is the same in each hierarchy.
		g := memberOf(root, replaced(string(member), a.cgroup), true)
		if !g.there() {
			return g,
				fmt.Errorf("no cgroup %s with memory, cpu, blkio or io: check /sys/fs/cgroup, or /proc/PID/cgroup of the database",
					a.cgroup)
		}
		return g, nil
	case a.pid != 0:
		member, err := readFile(root, "proc/"+strconv.Itoa(a.pid)+"/cgroup")
		if err != nil {
			return cgroup{},
				fmt.Errorf("no process %d (a process in a container has another PID outside the container)",
					a.pid)
		}
		g := memberOf(root, string(member), true)
		if !g.there() {
			return g, errors.New("the cgroup of process " + strconv.Itoa(a.pid) +
				" is not visible here: run Plimsoll on the node, outside of containers")
		}
		return g, nil
	}

	g := findCgroup(root)
	// In a container with only Plimsoll in it, the visible cgroup is Plimsoll's, not the
	// database's.
	g.ours = g.containsOnly(root, os.Getpid())
	return g, nil
}

// containsOnly reports whether a process is alone in a cgroup. The limits of Plimsoll's own container
// or service say nothing about a database, and Plimsoll itself is busiest when the database stalls.
func (g cgroup) containsOnly(root string, pid int) bool {
	alone := false
	for _, dir := range g.dirs() {
		members, err := readFile(root, dir+"/cgroup.procs")
		if err != nil || strings.TrimSpace(string(members)) != strconv.Itoa(pid) {
			return false
		}
		alone = true
	}

	return alone
}

// replaced returns the text of /proc/PID/cgroup for a process in a cgroup with the same path in all
// hierarchies.
func replaced(member, path string) string {
	var b strings.Builder
	for line := range strings.Lines(member) {
		if f := strings.SplitN(line, ":", 3); len(f) == 3 {
			fmt.Fprintf(&b, "%s:%s:%s\n", f[0], f[1], path)
		}
	}
	return b.String()
}
