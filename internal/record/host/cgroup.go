package host

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/procfs"
)

// A cgroup is the control group to sample: usually that of this process, which in a container is
// the container's. Its limits delay requests before a device counts them, and its memory includes
// the database's.
//
// Source: the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/. Names are cAdvisor's
// (its docs/storage/prometheus.md); others begin with plimsoll_container_.
type cgroup struct {
	id  string            // its path, in cAdvisor's label id
	v2  string            // its folder in the unified hierarchy, "" if that has no controllers
	dir map[string]string // its folders in version 1, by controller
	on  map[string]string // mount points of these controllers
	// ours means that this process is alone in it; then it is not sampled.
	ours bool
}

// controllers are the sampled controllers of version 1.
var controllers = []string{"memory", "cpu", "cpuacct", "blkio"}

// findCgroup finds the cgroup of this process and its mount points. The zero value means that there
// is none.
func findCgroup(root string) cgroup {
	member, err := readFile(root, "proc/self/cgroup")
	if err != nil {
		return cgroup{}
	}
	return memberOf(root, string(member), false)
}

// memberOf finds the cgroup in the text of /proc/PID/cgroup. If strictly is set, its folder must
// exist at that path; otherwise the mount point is the fallback.
func memberOf(root, member string, strictly bool) cgroup {
	group := cgroup{dir: map[string]string{}, on: map[string]string{}}
	at := func(mount, path string) (string, bool) {
		dir := within(root, mount, path)
		return dir, !strictly || dir == strings.TrimSuffix(mount+path, "/")
	}

	for _, m := range procfs.Memberships(member) {
		if slices.Contains(strings.Split(m.Path, "/"), "..") {
			continue // the path of a group outside the mounts begins with ..
		}

		if m.Controllers == "" {
			if dir, ok := at(unifiedMount, m.Path); ok && exists(root, dir+"/cgroup.controllers") {
				group.v2, group.id = dir, m.Path
			}
			continue
		}

		for c := range strings.SplitSeq(m.Controllers, ",") {
			if !slices.Contains(controllers, c) {
				continue
			}
			// cpu and cpuacct are mounted together, under both names in either order, or
			// separately.
			for _, mount := range []string{c, m.Controllers} {
				if dir, ok := at("sys/fs/cgroup/"+mount, m.Path); ok && exists(root, "sys/fs/cgroup/"+mount) {
					group.dir[c], group.on[c] = dir, "sys/fs/cgroup/"+mount
					if c == "memory" || group.id == "" {
						group.id = m.Path
					}
					break
				}
			}
		}
	}

	if group.id == "" {
		group.id = "/"
	}

	return group
}

// there reports whether the cgroup was found.
func (g cgroup) there() bool { return g.v2 != "" || len(g.dir) > 0 }

// within returns the folder of a group below a mount point. A container without a cgroup namespace
// sees its path on the host, while its own group is the mount point.
func within(root, mount, path string) string {
	if at := strings.TrimSuffix(mount+path, "/"); exists(root, at) {
		return at
	}
	return mount
}

func exists(root, name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

// groups samples the cgroup. Most files are optional: it skips those that a kernel or a container
// does not have.
func (s *sampler) groups() {
	if s.group.ours {
		return
	}

	if s.group.v2 != "" {
		unified(s.levels(s.group.v2, unifiedMount))
	}

	levels := map[string][]level{}
	for _, c := range controllers {
		if dir := s.group.dir[c]; dir != "" {
			levels[c] = s.levels(dir, s.group.on[c])
		}
	}

	if memory := levels["memory"]; memory != nil {
		withBinding(memory, level.bytesV1, level.memoryV1)
	}

	if cpu := levels["cpu"]; cpu != nil {
		withBinding(cpu, level.cpusV1, level.cpuV1)
	}

	if used := levels["cpuacct"]; used != nil {
		used[0].cpuacctV1()
		if cpu := levels["cpu"]; cpu != nil {
			// The group with the binding quota is sampled as well, if this controller has it.
			binding := least(cpu, level.cpusV1).id
			for _, l := range used[1:] {
				if l.id == binding {
					l.cpuacctV1()
				}
			}
		}
	}

	if io := levels["blkio"]; io != nil {
		io[0].blkioV1()
	}
}

// of adds a value of the group to the batch.
func (l level) of(value float64, metric string, pair ...string) {
	k := seriesKey{metric: metric, label: "id", value: l.id}
	if len(pair) == 2 {
		k.label2, k.value2 = pair[0], pair[1]
	}
	l.s.add(value, k)
}

// file returns the text of a file of the group, or "" if there is none. The root group has hardly
// any.
func (l level) file(name string) string {
	b, err := l.s.files.read(l.dir + "/" + name)
	if err != nil {
		return ""
	}
	return string(b)
}

// single adds the number in a file of the group as a metric, unless it is "max".
func (l level) single(name, metric string) {
	if v, ok := count(l.file(name)); ok {
		l.of(v, metric)
	}
}

// memory adds the memory in use and the working set as cAdvisor defines it.
func (l level) memory(file string, inactive float64) {
	if used, ok := count(l.file(file)); ok {
		l.of(used, "container_memory_usage_bytes")
		l.of(max(0, used-inactive), "container_memory_working_set_bytes")
	}
}

// count parses a number. ok is false for "max", -1 and other text.
func count(text string) (float64, bool) {
	v, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return float64(v), err == nil
}

// flat parses lines of a key and a number.
func flat(text string) map[string]float64 {
	out := map[string]float64{}
	for name, value := range procfs.Pairs(text) {
		if v, ok := count(value); ok && len(out) < keysMax {
			out[name] = v
		}
	}
	return out
}

const (
	// keysMax bounds the keys of such a file. memory.stat has about eighty.
	keysMax = 1024
	// devicesMax bounds the devices that a group reports.
	devicesMax = 4096
)

// each adds a metric for each of the given keys that the file has.
func (l level) each(from map[string]float64, scale float64, names map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(names)) {
		if v, ok := from[k]; ok {
			l.of(v/scale, names[k])
		}
	}
}

// device returns the name of a device from its numbers, "8:0".
func (s *sampler) device(numbers string) string {
	if name := s.names[numbers]; name != "" {
		return "/dev/" + name // as in cAdvisor
	}
	return numbers
}
