package chain

import (
	"path"
	"slices"
)

// Files returns at most this many of the files that a report names, those that cost most first.
func (r *Report) Files(most int) []string {
	var out []string
	add := func(file string) {
		if file != "" && len(out) < most && !slices.Contains(out, file) {
			out = append(out, file)
		}
	}

	for i := range r.Behind {
		add(r.Behind[i].Culprit.File)
	}
	for i := range r.Worst {
		add(r.Worst[i].File)
	}
	for i := range r.Callers {
		for _, f := range r.Callers[i].Files {
			add(f)
		}
	}

	return out
}

// NameFiles sets what each file holds, according to the header.
func (r *Report) NameFiles() {
	for i := range r.Behind {
		r.Behind[i].Culprit.name(r.Header.Holds)
	}
	for i := range r.Worst {
		for j := range r.Worst[i].Segments {
			for k := range r.Worst[i].Segments[j].Shares {
				r.Worst[i].Segments[j].Shares[k].Culprit.name(r.Header.Holds)
			}
		}
	}
}

func (c *Culprit) name(holds map[string]string) { c.Holds = holds[c.File] }

// FileName returns what a file holds, or the last part of its path.
func (r *Report) FileName(file string) string {
	if holds := r.Header.Holds[file]; holds != "" {
		return holds
	}
	return path.Base(file)
}
