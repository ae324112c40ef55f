package rules

import "strings"

// A HeldUp is what clients waited for in the stalled time, as counted by their database, if it was
// not this host's storage.
type HeldUp struct {
	Share  float64 // of the clients' waiting, from 0 to 1
	By     string  // "Lock relation, another session's lock"
	Remote bool    // they may have waited for another host's storage
}

// queuedAnyway is the share of the stalled time with a full device queue, above which waits do not
// contradict a storage cause: the holder of the lock that clients wait for may itself be waiting
// for the device.
const queuedAnyway = 0.5

// heldUp returns what the databases report about waits. It returns false if none reports any, or if
// clients waited for storage.
func (c *Case) heldUp() (HeldUp, bool) {
	if !c.Stall.Any() || !c.Stall.IsDatabase {
		return HeldUp{}, false
	}

	if queued, _ := c.QueuedShare(c.Stall.Cells); queued >= queuedAnyway {
		return HeldUp{}, false
	}

	for _, e := range c.Pack.Engines() {
		if e.HeldUp == nil {
			continue
		}
		if h, ok := e.HeldUp(c); ok {
			return h, true
		}
	}

	return HeldUp{}, false
}

// aboutStorage reports whether a rule's cause makes clients wait for this host's storage.
func (r *Rule) aboutStorage() bool {
	layer, _, _ := strings.Cut(r.ID, "/")
	switch layer {
	case "disk":
		return true
	case "host":
		return strings.Contains(r.ID, "writeback") || r.ID == "host/io-throttled"
	case "container":
		return r.ID == "container/io-limit"
	}
	return r.Storage
}

// Contradict compares a finding about storage with what clients waited for. If the waits contradict a
// cause, the finding keeps its figures, but no longer leads and gives no advice. An idle disk on this
// host does not rule out another host's disk.
func (r *Rule) Contradict(c *Case, f *Finding) error {
	if !r.aboutStorage() || f.Kind == Symptom {
		return nil
	}

	h, ok := c.heldUp()
	if !ok {
		return nil
	}

	v := Values{"share": Part(h.Share), "by": Called(h.By)}

	if f.Kind == Refutation {
		if !h.Remote {
			return nil
		}
		f.Title = strings.Replace(f.Title, "The disk is not", "This host's disk is not", 1)
		// "Do not buy IOPS for this" holds for this host's volumes only.
		for i := range f.Fixes {
			f.Fixes[i].Summary = strings.Replace(f.Fixes[i].Summary, "for this", "on this host for this", 1)
		}
		return r.addWords(
			f, "{{.share}} of the clients' waiting was for {{.by}}: that host's disk is on the path and was not judged here.",
			v)
	}

	// Keep the evidence, but let the finding neither lead the verdict nor propose anything.
	f.Weight, f.Severity, f.Foremost, f.Opening, f.Closing = 0, Info, false, "", ""
	f.Fixes = []Fix{}
	return r.addWords(f, "Clients did not wait for this: {{.share}} of their waiting was for {{.by}}.", v)
}

func (r *Rule) addWords(f *Finding, words string, v Values) error {
	text, err := r.print(words, "contradicted", v)
	if err != nil {
		return err
	}
	f.Summary = strings.TrimSpace(f.Summary + " " + text)
	return nil
}
