package model

import "plimsoll/internal/base/units"

// loaded puts into the page cache what loading the documents wrote, in blocks that the file system
// has not yet allocated. More than the kernel's background limit stays there only if the flusher
// could not write it in time; the flusher shared the volume evenly with the log (assumed).
func (e *Engine) loaded() {
	record := e.cfg.DocumentSize + e.cfg.LogRecord
	if e.oplog != nil {
		record += OplogEntry
	}

	left, written := e.onDisk, record.Times(e.cfg.Documents)
	if limit := e.env.Host.BackgroundLimit(); left > limit {
		left = max(limit, left-written)
	}

	for _, t := range e.trees {
		end := units.Size(t.end) * unit
		dirty := units.Size(float64(end) * float64(left) / float64(max(e.onDisk, 1)))
		t.file.SetAllocated(end - dirty)
		t.file.Write(end-dirty, dirty)
		// One after the other, because the page cache evicts the data that was loaded first.
		for i := range t.pages.count {
			t.pages.at(i).passed = uint16(e.cfg.Loading.Std().Seconds() * float64(i) / float64(t.pages.count))
		}
	}
}
