package kernel

// tagLeast is the number of dirty pages above which a sync records which pages are dirty. Fewer pages
// are submitted before a writer can dirty more.
const tagLeast = 512

// tag records which pages a sync has to write: those that are dirty when it begins
// (tag_pages_for_writeback, mm/page-writeback.c). Pages that become dirty later are left to the
// flusher; otherwise a checkpoint's sync would not end while other threads evict pages.
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

// untag recycles the map of a sync.
func (h *Host) untag(j *job) {
	if j.tagged != nil {
		h.tags = append(h.tags, j.tagged)
		j.tagged = nil
	}
}

// copy makes m equal to another map, reusing its chunks.
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
