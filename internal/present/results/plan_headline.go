package results

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/units"
)

// planHeadline says in a sentence what to change, what it costs and what it improves, in words for a
// reader who does not know the scenario's keys.
func planHeadline(p *plan.Plan, c *plan.Layout) string {
	text := changedText(c)
	if first, _, _ := strings.Cut(text, " "); !strings.ContainsAny(first, "._") {
		text = sentenceCase(text) // a setting keeps its spelling
	}

	return withEffects(p, c, text+", "+morePrice(p, c.MonthlyUSD))
}

// withEffects adds what a layout achieves to a sentence about it.
func withEffects(p *plan.Plan, c *plan.Layout, text string) string {
	var effects []string
	for _, o := range p.Objectives {
		name := o.Name + "_seconds"
		then, ok := c.Predicted[name]
		if !ok {
			continue
		}
		effect := plainName(o.Name) + " " + units.Seconds(then.Value)
		// The current layout may have no such figure, for example if no operation completed.
		if now, ok := predictedNow(p, name); ok {
			effect = plainName(o.Name) + " " + units.Seconds(now.Value) + " to " + units.Seconds(then.Value)
		}
		effects = append(effects, effect+", objective "+units.Seconds(o.MostSeconds))
	}

	if len(effects) == 0 {
		return text + "."
	}
	return text + ": " + strings.Join(effects, "; ") + "."
}

// changedText lists the changes on one line.
func changedText(c *plan.Layout) string {
	var all []string
	for _, x := range c.Changes {
		if x.From != "" || x.To != "" {
			all = append(all, changeWords(x))
		}
	}
	return strings.Join(all, "; ")
}

// newVolume matches a volume of a scenario, written on one line.
var (
	newVolume  = regexp.MustCompile(`^\{type: ([^,}]+)(?:, size: ([0-9.]+)([KMGT]i?B))?(?:, iops: ([0-9]+))?\}$`)
	volumePath = regexp.MustCompile(`^volumes\.([^.]+)(?:\.([^.]+))?$`)
)

// changeWords describes one change. A setting that the new product does not have becomes "(not set)".
func changeWords(x plan.Change) string {
	raw := x.Path + " = " + cmp.Or(x.To, "(not set)")
	path := volumePath.FindStringSubmatch(x.Path)
	if path == nil || x.To == "" {
		return raw
	}

	of, field := path[1], path[2]
	switch field {
	case "iops":
		return x.To + " IOPS for the " + of + " volume"
	case "throughput":
		return "throughput of " + x.To + " for the " + of + " volume"
	case "type":
		// A sentence may begin with it, and a product's name keeps its spelling.
		return "type " + x.To + " for the " + of + " volume"
	case "":
	default:
		return raw
	}

	v := newVolume.FindStringSubmatch(x.To)
	// Only a volume that did not exist before is "a separate volume".
	if v == nil || x.From != "" {
		return raw
	}

	size := ""
	if v[2] != "" {
		size = v[2] + " " + v[3] + " "
	}

	text := fmt.Sprintf("a separate %s%s volume for the %s", size, v[1], of)
	if v[4] != "" {
		text += " with " + v[4] + " IOPS"
	}

	return text
}
