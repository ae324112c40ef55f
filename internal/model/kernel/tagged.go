package kernel

// tagLeast is the number of dirty pages from which on a sync remembers which they are. What has
// fewer is submitted before anybody dirties more.
const tagLeast = 512

// tag notes which pages a sync is to write: those that are dirty as it begins
// (tag_pages_for_writeback, mm/page-writeback.c). What is dirtied later, ahead of it, is left for
// the flusher, or else a checkpoint's sync would go on for as long as somebody evicts pages.
func (h *Host) tag(j *job) {
	if j.file.dirty.pages < tagLeast {
		return
	}
	m := &dirtyMap{}
	if n := len(h.tags); n > 0 {
		m, h.tags = h.tags[n-1], h.tags[:n-1]
	}
	m.copy(&j.file.dirty)
	j.tagged = m
}

// untag gives back what a sync has noted.
func (h *Host) untag(j *job) {
	if j.tagged != nil {
		h.tags = append(h.tags, j.tagged)
		j.tagged = nil
	}
}

// copy makes it equal to another one.
func (m *dirtyMap) copy(of *dirtyMap) {
	m.pages, m.low = of.pages, of.low
	for len(m.chunks) < len(of.chunks) {
		m.chunks = append(m.chunks, nil)
	}

	for k := range m.chunks {
		switch {
		case k >= len(of.chunks) || of.chunks[k] == nil || of.chunks[k].count == 0:
			if m.chunks[k] != nil {
				m.chunks[k].count = 0
			}
		case m.chunks[k] == nil:
			c := *of.chunks[k]
			m.chunks[k] = &c
		default:
			*m.chunks[k] = *of.chunks[k]
		}
	}
}
