package chain

import (
	"fmt"
	"path"

	"plimsoll/internal/trace/events"
)

// Around returns the requests that were on a call's disks while it ran.
func (w *Window) Around(c *events.Call) []events.Request {
	var out []events.Request
	for _, dev := range w.disksOf(c.File.Dev) {
		// Requests are indexed by completion, so those still in flight at the call's end are found
		// later in the list. Ten seconds is far longer than a device takes for one.
		for _, r := range w.completed(dev, c.Enter, c.Exit+int64(10e9)) {
			if r.Begin() <= c.Exit {
				out = append(out, r)
			}
		}
	}
	return out
}

// Label describes a request's owner in a few words. The empty call keeps the owner from being
// reported as the caller itself.
func (w *Window) Label(r *events.Request) string {
	c := w.owner(r, &events.Call{})
	name := c.Comm
	if c.File != "" {
		name += " " + path.Base(c.File)
	} else if c.Inode != 0 {
		name += fmt.Sprintf(" inode %d", c.Inode)
	}
	if c.Why != "" {
		name += " (" + string(c.Why) + ")"
	}
	return name
}
