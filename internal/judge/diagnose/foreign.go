package diagnose

import (
	"path"
	"slices"
	"strings"

	"plimsoll/internal/judge/rules"
)

// deviceOwnership determines which devices of a host are not used by the database's files. That is known only
// if the engine reports its data directory and the host its mounts.
type deviceOwnership struct {
	c *rules.Case
	// own are the device of the data directory, the devices below it, and those mounted inside it;
	// nil if unknown.
	own map[string]bool
	// seen reports whether the open files of the database's processes were seen. Without them, a
	// symbolic link may lead to another device.
	seen bool
}

func ownershipOf(input *rules.Case) deviceOwnership {
	owned := deviceOwnership{c: input}
	files := input.FilesDevice()
	if files == "" {
		return owned
	}

	owned.own = map[string]bool{files: true}
	for _, e := range input.Pack.Engines() {
		folder := input.Facts[e.Folder]
		if e.Folder == "" || folder == "" {
			continue
		}

		owned.addOpen(e.Programs)
		for name, value := range input.Facts {
			at, isMount := strings.CutPrefix(name, "mount.")
			if fields := strings.Fields(value); isMount && len(fields) > 0 &&
				strings.HasPrefix(at, path.Clean(folder)+"/") {
				owned.own[path.Base(fields[len(fields)-1])] = true
			}
		}
	}

	// Stacked devices belong together in both directions: a stripe uses its disks, and a disk
	// carries the stripe. Repeat until no device is added, because layers may be several deep.
	for grown := true; grown; {
		grown = false
		for name, value := range input.Facts {
			upper, isLayer := strings.CutPrefix(name, "below.")
			if !isLayer {
				continue
			}

			all := append(strings.Fields(value), upper)
			if !slices.ContainsFunc(all, func(d string) bool { return owned.own[d] }) {
				continue
			}

			for _, d := range all {
				grown = grown || !owned.own[d]
				owned.own[d] = true
			}
		}
	}

	return owned
}

// addOpen adds the devices of files that the engine's processes have open, as the host reports
// them.
func (f *deviceOwnership) addOpen(programs []string) {
	for name, value := range f.c.Facts {
		fields := strings.Fields(value)
		if !strings.HasPrefix(name, "writer.") || len(fields) == 0 || !slices.Contains(programs, fields[0]) {
			continue
		}
		for _, x := range fields {
			if devices, ok := strings.CutPrefix(x, "device="); ok {
				f.seen = true
				for d := range strings.SplitSeq(devices, ",") {
					f.own[d] = true
				}
			}
		}
	}
}

// isForeign reports whether a subject is a device that the database is known not to use.
func (f deviceOwnership) isForeign(subject string) bool {
	return f.own != nil && !f.own[subject] && f.c.For(rules.DiskMoved, "device", subject) != nil
}

// without removes the incidents of foreign devices, which no database operation felt, and returns their
// findings. If the database's open files were seen, a finding about a foreign device in a database's
// own incident is removed too. If they were not, it becomes at most a warning, because a log behind a
// symbolic link may be on that device.
func (f deviceOwnership) without(all []*judged) (own []*judged, elsewhere []Finding) {
	if f.own == nil {
		return all, nil
	}

	for _, j := range all {
		if !j.worse && !j.c.Stall.IsDatabase && f.isForeign(j.c.Stall.Subject) {
			elsewhere = append(elsewhere, j.findings...)
			continue
		}

		var kept []Finding
		for _, x := range j.findings {
			switch {
			case f.isForeign(x.Subject) && f.seen:
				elsewhere = append(elsewhere, x)
				continue
			case f.isForeign(x.Subject) && x.Severity == Critical:
				x.Severity = Warning
			}
			kept = append(kept, x)
		}

		j.findings = kept
		rank(j.findings)
		own = append(own, j)
	}

	return own, elsewhere
}

// general separates the findings of the whole recording by device ownership.
func (f deviceOwnership) general(all []Finding) (own, elsewhere []Finding) {
	own = all[:0:0]
	for _, x := range all {
		if f.isForeign(x.Subject) {
			elsewhere = append(elsewhere, x)
		} else {
			own = append(own, x)
		}
	}
	return own, elsewhere
}

// elsewhereOf returns findings without duplicates and refutations, in order.
func elsewhereOf(all []Finding) (out []Finding) {
	for _, f := range all {
		same := func(o Finding) bool { return o.Rule == f.Rule && o.Subject == f.Subject }
		if f.Kind != Refutation && !slices.ContainsFunc(out, same) {
			out = append(out, f)
		}
	}
	rank(out)
	return out
}
