package host

import (
	"fmt"
	"strings"
	"time"
)

// A space says how large a file system is, and how much of it is free.
type space struct {
	size, free, available float64 // bytes; available is what users other than root can use
	files, filesFree      float64 // inodes; 0 if the file system creates them as needed
}

const (
	// spaceEvery is the period of queries: space runs out over minutes, and a node may have dozens
	// of file systems.
	spaceEvery = 10 * time.Second
	// spaceWait bounds how long a sample waits for the answers. statfs does no I/O on a device, but
	// may block on a file system that is shut down or frozen, and sampling must continue then.
	spaceWait = 100 * time.Millisecond
)

// spaces queries the space of mounted file systems in the background.
type spaces struct {
	statfs  func(path string) (space, error) // nil if the file systems are not mounted here
	queried time.Time
	running bool
	answers chan []answered
}

// answered is the answer for one file system.
type answered struct {
	mount
	space
	err error
}

func newSpaces(root string) *spaces {
	p := &spaces{answers: make(chan []answered, 1)}
	if root == "/" { // otherwise the file systems in that /proc are not mounted here
		p.statfs = statfs
	}
	return p
}

// filesystems adds the space of each file system on a device, once, with node_exporter's names.
func (s *sampler) filesystems(at time.Time) {
	p := s.spaces
	if p.statfs == nil || s.want != nil && !s.want("node_filesystem_avail_bytes") {
		return
	}

	// A query that hangs is not repeated: it would pile up goroutines.
	if !p.running && at.Sub(p.queried) >= spaceEvery {
		p.queried, p.running = at, true
		go func(mounts []mount) { p.answers <- p.all(mounts) }(onceEach(mountsOf(s.root)))
		timer := time.NewTimer(spaceWait)
		defer timer.Stop()
		select {
		case list := <-p.answers:
			s.answered(list)
		case <-timer.C:
		}
		return
	}

	select {
	case list := <-p.answers: // a late one
		s.answered(list)
	default:
	}
}

func (p *spaces) all(mounts []mount) []answered {
	out := make([]answered, 0, len(mounts))
	for _, m := range mounts {
		a := answered{mount: m}
		a.space, a.err = p.statfs(m.at)
		out = append(out, a)
	}
	return out
}

// onceEach returns the first mount of each device. Its other mounts have the same space.
func onceEach(mounts []mount) []mount {
	var out []mount
	seen := map[string]bool{}
	for _, m := range mounts {
		if strings.HasPrefix(m.device, "/dev/") && !seen[m.device] {
			seen[m.device] = true
			out = append(out, m)
		}
	}
	return out
}

func (s *sampler) answered(list []answered) {
	s.spaces.running = false
	for _, a := range list {
		if a.err == nil {
			s.filesystem(a)
			continue
		}
		s.lack("space "+a.at, fmt.Sprintf("cannot read the free space of %s: %v", a.at, a.err))
	}
}

func (s *sampler) filesystem(a answered) {
	add := func(metric string, value float64) {
		s.add(value, seriesKey{"node_filesystem_" + metric, "device", a.device, "mountpoint", a.at})
	}
	add("size_bytes", a.size)
	add("free_bytes", a.free)
	add("avail_bytes", a.available)
	if a.files > 0 {
		add("files", a.files)
		add("files_free", a.filesFree)
	}
}
