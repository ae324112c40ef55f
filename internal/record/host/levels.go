package host

import (
	"math"
	"path"
	"strings"
)

// A limit on a cgroup is one on all that are below it: a pod's is often on the parent of its containers' groups, a service's on its slice. So
// the groups above the database's are looked at too, up to where they are mounted, and the one with the least limit on a resource is
// sampled beside it, under its own id: it is the whole of that group, neighbours in it included, that the kernel holds to the limit. A larger limit
// further up binds too where neighbours use most of it up; that is not seen. Nor is what lies beyond a container's namespace of
// cgroups, which shows its own group as the root.
//
// Source: the kernel's Documentation/admin-guide/cgroup-v2.rst (resource distribution models) and cgroup-v1/. Of version 1 the limits of
// blkio.throttle are no limits on groups below ("practically treat all groups at same level", cgroup-v1/blkio-controller.rst): under a parent's
// 20 reads/s a child of it made 500 on Linux 6.18.

// A level is one of these groups.
type level struct {
	s   *sampler
	dir string // its folder
	id  string // its path below the mount, cAdvisor's label id
}

const (
	// levelsMax bounds the groups above one another that are looked at; the kernel's own default is no bound, Kubernetes makes four.
	levelsMax = 16
	// unifiedMount is where version 2 is mounted.
	unifiedMount = "sys/fs/cgroup"
)

// levels are a group and those above it, up to the mount, which stands for a group only where it is the database's own.
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

// withBinding takes the database's own group, and the one above it that has the least of a limit, unless its own is as low.
func withBinding(levels []level, limit func(level) (float64, bool), take func(level)) {
	own := levels[0]
	take(own)
	if at := least(levels, limit); at != own {
		take(at)
	}
}

// least is the level with the least of a limit; the lowest one of several, and where there is no limit.
func least(levels []level, limit func(level) (float64, bool)) level {
	at, best := levels[0], math.Inf(1)
	for _, l := range levels {
		if v, ok := limit(l); ok && v < best {
			at, best = l, v
		}
	}
	return at
}

// quota is how many CPUs a group may use, of its quota and period as text.
func quota(quota, period string) (cpus float64, ok bool) {
	q, limited := count(quota)
	p, told := count(period)
	return q / p, limited && told && p > 0
}
