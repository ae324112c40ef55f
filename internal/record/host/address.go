package host

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// An address is what may follow the word host: the cgroup to sample, if not this process's own.
type address struct {
	pid    int    // 0: none
	cgroup string // a path below the mounts, "/system.slice/db.service"
}

// parse reads "host", "host?pid=4711" and "host?cgroup=/system.slice/db.service".
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
		if !strings.HasPrefix(path, "/") || strings.Contains(path+"/", "/../") {
			return address{},
				fmt.Errorf("cgroup=%s is not a cgroup's path: give the path in /proc/PID/cgroup, starting with /",
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

// find looks up the cgroup. That of another process must exist: the mounted one would belong to
// another process.
func (a address) find(root string) (cgroup, error) {
	switch {
	case a.cgroup != "":
		member, err := readFile(root, "proc/self/cgroup")
		if err != nil {
			return cgroup{}, err
		}
		g := memberOf(root, replaced(string(member), a.cgroup), true)
		if !g.there() {
			return g,
				fmt.Errorf("there is no cgroup %s with memory, cpu, blkio or io: see /sys/fs/cgroup, or /proc/PID/cgroup of the database",
					a.cgroup)
		}
		return g, nil
	case a.pid != 0:
		member, err := readFile(root, "proc/"+strconv.Itoa(a.pid)+"/cgroup")
		if err != nil {
			return cgroup{}, fmt.Errorf("there is no process %d (a process in a container has another PID outside it)",
				a.pid)
		}
		g := memberOf(root, string(member), true)
		if !g.there() {
			return g, errors.New("the cgroup of process " + strconv.Itoa(a.pid) +
				" cannot be seen from here: run this on the node, outside of containers")
		}
		return g, nil
	}

	g := findCgroup(root)
	g.ours = g.holdsOnly(root, os.Getpid())
	return g, nil
}

// holdsOnly reports whether a process is alone in a cgroup. The limits of Plimsoll's own container
// or service say nothing about a database, and Plimsoll works most while the database stalls.
func (g cgroup) holdsOnly(root string, pid int) bool {
	dirs := []string{g.v2}
	for _, c := range controllers {
		dirs = append(dirs, g.dir[c])
	}

	alone := false
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		members, err := readFile(root, dir+"/cgroup.procs")
		if err != nil || strings.TrimSpace(string(members)) != strconv.Itoa(pid) {
			return false
		}
		alone = true
	}

	return alone
}

// replaced is what /proc/PID/cgroup would say of a process in a cgroup of one path in all
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
