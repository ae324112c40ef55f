package rules

import (
	"fmt"

	"plimsoll/timeline"
)

// maxTroubles bounds the gaps and damages one finding lists.
const maxTroubles = 12

func evidenceGap() Rule {
	r := Rule{ID: "evidence/gap", Title: "Part of the evidence is missing", Kind: Symptom, Needs: []string{},
		Cause: "A sampler that stops is a fact of its own: the database restarted, the host was too busy to write its statistics, or the file is damaged. What was not sampled is not judged."}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		if len(c.Trouble) == 0 {
			return nil
		}
		f := r.finding("sources")
		f.Severity = Info
		counts := map[string]int{}
		lost := 0.0
		for i, t := range c.Trouble {
			counts[t.Kind]++
			if t.Kind == "gap" || t.Kind == "damage" {
				f.Severity = Warning
				lost += max(0, t.Span.Seconds())
			}
			if i < maxTroubles {
				f.Evidence = append(f.Evidence, Evidence{Text: t.Source + ": " + t.Text, From: t.Span.From, To: t.Span.To})
				if !t.Span.From.IsZero() && !t.Span.To.IsZero() {
					f.Windows = append(f.Windows, t.Span)
				}
			}
		}
		f.Summary = fmt.Sprintf("%s, %s and %s in the sources", count(counts["gap"], "gap"), count(counts["damage"], "damaged place"),
			count(len(c.Trouble)-counts["gap"]-counts["damage"], "other remark"))
		if lost > 0 {
			f.Summary += fmt.Sprintf("; %s without samples", dur(lost))
		}
		f.Summary += ". The rest was judged."
		if n := len(c.Trouble) - maxTroubles; n > 0 {
			f.Evidence = append(f.Evidence, Evidence{Text: fmt.Sprintf("and %d more", n), From: c.Whole().From, To: c.Whole().To})
		}
		return []Finding{f}
	}
	return r
}

func count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
