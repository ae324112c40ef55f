package diagnose

import (
	"slices"
	"strings"
)

// ofIncidents reports whether the verdict consists of the incidents' verdicts, to which their findings
// have added sentences.
func ofIncidents(r *Report, asked int) bool {
	return len(r.Incidents) > 1 || asked > 0 && len(r.Incidents) > 0 ||
		len(r.Incidents) == 1 && r.Incidents[0].Kind == Worse
}

// added returns the sentences that findings add before and after what happened.
func added(findings []Finding) (before, after []string) {
	for _, f := range findings {
		if f.Opening != "" {
			before = append(before, f.Opening)
		}
		if f.Closing != "" {
			after = append(after, f.Closing)
		}
	}
	return before, after
}

// Added returns the sentences of the findings that belong to no incident. A statement about one of
// several incidents, such as that no volume fixes it, is in that incident's own verdict.
func (r *Report) Added() (before, after []string) {
	if r.Incident == 0 {
		return added(r.Findings)
	}
	return added(slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool {
		return slices.ContainsFunc(r.Incidents[r.Incident-1].Findings,
			func(x Finding) bool { return x.Rule == f.Rule && x.Subject == f.Subject })
	}))
}

// withAdded is an incident's verdict with the sentences of its findings.
func withAdded(findings []Finding, text string) string {
	before, after := added(findings)
	return strings.Join(slices.Concat(before, []string{text}, after), " ")
}
