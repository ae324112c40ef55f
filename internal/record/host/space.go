package host

import (
	"fmt"
	"strings"
	"time"
)

// A space is what one file system has left.
type space struct {
	size, free, available float64 // bytes; available is what is left for whoever is not root
	files, filesFree      float64 // inodes; 0 where the file system makes them as needed
}

const (
	// spaceEvery is how often file systems are asked: space goes in minutes, and a node may have
	// dozens of them.
	spaceEvery = 10 * time.Second
	// spaceWait is how long a sample waits for the answers. statfs does no I/O on a device, but a
	// file system that is shut down or frozen may keep it, and sampling must go on then.
	spaceWait = 100 * time.Millisecond
)

// spaces asks the mounted file systems of devices what they have left, beside the sampling.
type spaces struct {
	ask      func(path string) (space, error) // nil where there is nobody to ask
	asked    time.Time
	underWay bool
	answers  chan []answered
}

// answered is what one file system said.
type answered struct {
	mount
	space
	err error
}

func newSpaces(root string) *spaces {
	p := &spaces{answers: make(chan []answered, 1)}
	if root == "/" { // with a /proc outside, its file systems are not mounted here
		p.ask = statfs
	}
	return p
}

// filesystems adds the space of each file system on a device once, under node_exporter's names.
func (s *sampler) filesystems(at time.Time) {
	p := s.spaces
	if p.ask == nil || s.want != nil && !s.want("node_filesystem_avail_bytes") {
		return
	}

	if !p.underWay && at.Sub(p.asked) >= spaceEvery {
		p.asked, p.underWay = at, true
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
		a.space, a.err = p.ask(m.at)
		out = append(out, a)
	}
	return out
}

// onceEach are the mounts of devices, the first of each device: the others show the same space.
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
	s.spaces.underWay = false
	for _, a := range list {
		if a.err == nil {
			s.filesystem(a)
			continue
		}
		if name := "space " + a.at; !s.told[name] {
			s.told[name] = true
			s.absent = append(s.absent, fmt.Sprintf("the host does not show the space of %s: %v", a.at, a.err))
		}
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
