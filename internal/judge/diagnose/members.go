package diagnose

import (
	"fmt"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// slowMember is the rule that compares the members of a cluster.
const slowMember = "disk/slow-member"

// CompareMembers adds a finding to each report of a server that is slower than another member of its
// cluster. Each server is diagnosed separately, so no rule can detect that from one server's recording.
// Reports that were already compared are not compared again. names are the servers' names.
func CompareMembers(all []*Report, names []string, opt Options) error {
	members := make([]*rules.Member, len(all))
	for i, r := range all {
		if r.member != nil {
			members[i] = r.member
			members[i].Server = names[i]
		}
	}

	rule, err := opt.Pack.Rule(slowMember)
	if err != nil {
		return nil //nolint:nilerr // the pack of a test without this rule
	}

	for i, slower := range rules.SlowerMembers(members) {
		if slower == nil || all[i].compared != nil {
			continue
		}

		t := slower.Member.Time
		c := rules.NewCase(opt.Pack, t.Grid, func(*rules.Signal) []timeline.Track { return nil })
		c.Slower = slower
		found, err := judge(c, rule, nil, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", names[i], err)
		}

		all[i].adopt(found, opt)
	}

	return nil
}

// adopt adds what a comparison with other servers found.
func (r *Report) adopt(found []Finding, opt Options) {
	if len(found) == 0 {
		return
	}
	r.compared = found
	r.Findings = append(r.Findings, found...)
	rank(r.Findings)
	r.Verdict = verdict(r, opt.Pack, r.active, opt.Incident)
}
