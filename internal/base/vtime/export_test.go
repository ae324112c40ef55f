package vtime

// Pending returns the number of pending events.
func (c *Clock) Pending() int {
	n := len(c.sorted) - c.next + c.near + len(c.heap)
	for _, l := range c.lines {
		n += l.n
	}
	return n
}
