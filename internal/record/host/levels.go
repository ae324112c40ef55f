package host

import (
	"math"
	"path"
	"strings"
)

// A limit on a cgroup applies to all groups below it: a pod's limit is often on the parent of its
// containers' groups, a service's on its slice. So the parents of the database's group are read as
// well, up to the mount point. For each resource, the one with the lowest limit is sampled in
// addition, with its own id: the kernel applies the limit to that whole group, including
// neighbours. A higher limit further up can also bind, if neighbours use most of it; that is not
// visible. Neither is anything beyond a container's cgroup namespace, which shows its own group as
// the root.
//
// Source: the kernel's Documentation/admin-guide/cgroup-v2.rst (resource distribution models) and
// cgroup-v1/. In version 1, blkio.throttle does not limit the groups below ("practically treat all
// groups at same level", cgroup-v1/blkio-controller.rst): under a parent's limit of 20 reads/s, a
// child did 500 on Linux 6.18.

// A level is one of these groups.
type level struct {
	s   *sampler
	dir string // its folder
	id  string // its path below the mount, in cAdvisor's label id
}

const (
	// levelsMax bounds the nested groups that are read. The kernel has no default bound; Kubernetes
	// creates four.
	levelsMax = 16
	// unifiedMount is the mount point of version 2.
	unifiedMount = "sys/fs/cgroup"
)

// levels returns a group and those above it, up to the mount point. The mount point itself counts
// only if it is the database's own group.
func (s *sampler) levels(dir, mount string) []level {
	out := []level{{s, dir, s.group.id}}
	// Strictly below the mount point, which is the root group or the namespace of a container.
	for at := path.Dir(dir); strings.HasPrefix(at, mount+"/") && len(out) < levelsMax; at = path.Dir(at) {
		out = append(out, level{s, at, strings.TrimPrefix(at, mount)})
	}
	return out
}

// withBinding samples the database's own group, and the group above it with the lowest limit,
// unless its own limit is as low.
func withBinding(levels []level, limit func(level) (float64, bool), sample func(level)) {
	own := levels[0]
	sample(own)
	if at := least(levels, limit); at != own {
		sample(at)
	}
}

// least returns the level with the lowest limit: the innermost of several, or of all if none has a
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

// quota returns how many CPUs a group may use, from the text of its quota and period.
func quota(quota, period string) (cpus float64, ok bool) {
	q, limited := count(quota)
	p, known := count(period)
	return q / p, limited && known && p > 0
}
