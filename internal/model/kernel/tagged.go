package kernel

// tagLeast is the number of dirty pages above which a sync records which pages are dirty. Fewer pages
// are submitted before a writer can dirty more.
const tagLeast = 512

// tag records which pages a sync has to write: those that are dirty when it begins
// (tag_pages_for_writeback, mm/page-writeback.c). Pages that become dirty later are left to the
// flusher; otherwise a checkpoint's sync would not end while other threads evict pages.
func (j *job) tag() {
	if j.file.dirty.pages >= tagLeast {
		j.tagged = j.file.dirty.clone()
	}
}

// clone returns a copy.
func (m *dirtyMap) clone() *dirtyMap {
	out := &dirtyMap{chunks: make([]*chunk, len(m.chunks)), pages: m.pages, low: m.low}
	for k, c := range m.chunks {
		if c != nil && c.count > 0 {
			copied := *c
			out.chunks[k] = &copied
		}
	}
	return out
}
