package host

import (
	"math"
	"path"
	"strings"
)

// A limit on a cgroup applies to all groups below it: a pod's is often on the parent of its
// containers' groups, a service's on its slice. So the parents of the database's group are read
// too, up to where they are mounted, and the one with the lowest limit on a resource is sampled
// beside it, under its own id: the kernel holds the whole of that group, including neighbours, to
// the limit. A higher limit further up binds too if neighbours use most of it; that is not visible.
// Nor is anything beyond a container's cgroup namespace, which shows its own group as the root.
//
// Source: the kernel's Documentation/admin-guide/cgroup-v2.rst (resource distribution models) and
// cgroup-v1/. In version 1, the limits of blkio.throttle do not limit the groups below
// ("practically treat all groups at same level", cgroup-v1/blkio-controller.rst): under a parent's
// 20 reads/s, a child of it made 500 on Linux 6.18.

// A level is one of these groups.
type level struct {
	s   *sampler
	dir string // its folder
	id  string // its path below the mount, cAdvisor's label id
}

const (
	// levelsMax bounds the nested groups that are read; the kernel has no bound by default,
	// Kubernetes makes four.
	levelsMax = 16
	// unifiedMount is where version 2 is mounted.
	unifiedMount = "sys/fs/cgroup"
)

// levels are a group and those above it, up to the mount. The mount counts only if it is the
// database's own group.
func (s *sampler) levels(dir, mount string) []level {
	if known, ok := s.above[dir]; ok {
		return known
	}
	out := []level{{s, dir, s.group.id}}
	for at := path.Dir(dir); strings.HasPrefix(at, mount+"/") && len(out) < levelsMax; at = path.Dir(at) {
		out = append(out, level{s, at, strings.TrimPrefix(at, mount)})
	}
	s.above[dir] = out
	return out
}

// withBinding returns the database's own group, and the group above it with the lowest limit,
// unless its own is as low.
func withBinding(levels []level, limit func(level) (float64, bool), take func(level)) {
	own := levels[0]
	take(own)
	if at := least(levels, limit); at != own {
		take(at)
	}
}

// least returns the level with the lowest limit; the innermost of several, and also if there is no
// limit.
func least(levels []level, limit func(level) (float64, bool)) level {
	at, best := levels[0], math.Inf(1)
	for _, l := range levels {
		if v, ok := limit(l); ok && v < best {
			at, best = l, v
		}
	}
	return at
}

// quota is how many CPUs a group may use, from its quota and period as text.
func quota(quota, period string) (cpus float64, ok bool) {
	q, limited := count(quota)
	p, told := count(period)
	return q / p, limited && told && p > 0
}
