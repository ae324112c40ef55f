package diagnose

import (
	"path"
	"slices"
	"strings"

	"plimsoll/internal/judge/rules"
)

// A foreigner tells the devices of a host that are known not to bear the database's files. Nothing is
// known unless the engine reports its folder and the host its mounts.
type foreigner struct {
	c *rules.Case
	// own are the device of the files, those below it, and those that are mounted in its folder; nil if
	// not known.
	own map[string]bool
	// seen says that the open files of the database's processes were seen, so that no link leads to
	// another device.
	seen bool
}

func foreignerOf(c *rules.Case) foreigner {
	f := foreigner{c: c}
	files := c.FilesDevice()
	if files == "" {
		return f
	}

	f.own = map[string]bool{files: true}
	for _, e := range c.Pack.Engines() {
		folder := c.Facts[e.Folder]
		if e.Folder == "" || folder == "" {
			continue
		}

		f.addOpen(e.Programs)
		for name, value := range c.Facts {
			at, isMount := strings.CutPrefix(name, "mount.")
			if fields := strings.Fields(value); isMount && len(fields) > 0 &&
				strings.HasPrefix(at, path.Clean(folder)+"/") {
				f.own[path.Base(fields[len(fields)-1])] = true
			}
		}
	}

	// A stripe or an encrypted device is its parts, and a disk bears what is built on it.
	for grown := true; grown; {
		grown = false
		for name, value := range c.Facts {
			upper, isLayer := strings.CutPrefix(name, "below.")
			if !isLayer {
				continue
			}

			all := append(strings.Fields(value), upper)
			if !slices.ContainsFunc(all, func(d string) bool { return f.own[d] }) {
				continue
			}

			for _, d := range all {
				grown = grown || !f.own[d]
				f.own[d] = true
			}
		}
	}

	return f
}

// addOpen adds the devices of the files that the engine's processes have open, as the host reports them.
func (f *foreigner) addOpen(programs []string) {
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

// is reports whether a subject is a device that is known to be another's.
func (f foreigner) is(subject string) bool {
	return f.own != nil && !f.own[subject] && f.c.For(rules.DiskMoved, "device", subject) != nil
}

// without removes the incidents of other devices, which no database felt, and returns what was found in
// them. A finding about such a device in a database's own incident is removed too, if the database's open
// files were seen; otherwise it is not critical, because a log behind a link may be there.
func (f foreigner) without(all []*judged) (own []*judged, elsewhere []Finding) {
	if f.own == nil {
		return all, nil
	}

	for _, j := range all {
		if !j.worse && !j.c.Stall.IsDatabase && f.is(j.c.Stall.Subject) {
			elsewhere = append(elsewhere, j.findings...)
			continue
		}

		var kept []Finding
		for _, x := range j.findings {
			switch {
			case f.is(x.Subject) && f.seen:
				elsewhere = append(elsewhere, x)
				continue
			case f.is(x.Subject) && x.Severity == Critical:
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

// general divides the findings of the whole recording.
func (f foreigner) general(all []Finding) (own, elsewhere []Finding) {
	own = all[:0:0]
	for _, x := range all {
		if f.is(x.Subject) {
			elsewhere = append(elsewhere, x)
		} else {
			own = append(own, x)
		}
	}
	return own, elsewhere
}

// elsewhereOf are findings once each, in order.
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
