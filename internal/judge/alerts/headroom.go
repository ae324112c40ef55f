package alerts

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/judge/rules"
)

// Alerts before a limit is reached. Usage is extrapolated by PromQL's own regression; plimsoll watch
// exports its own results.
const (
	headroomBack  = time.Hour     // range of the regression
	headroomAhead = 4 * time.Hour // how long before the limit is reached
	headroomFor   = 10 * time.Minute
)

// A limited is the remaining headroom of a limit, or the amount used and the limit.
type limited struct {
	name, what, then  string
	left, used, limit *rules.Signal
}

// limits are the limits that drain or fill, the core's and the engines'.
func limits(pack *rules.Pack) []limited {
	out := []limited{
		{name: "Space", what: "space", then: "writes fail", left: rules.FilesystemAvailable},
		{name: "MountSpace", what: "space", then: "writes fail", left: rules.MountAvailable},
		{name: "Inodes", what: "inodes", then: "no file can be created", left: rules.FilesystemInodesFree},
		{name: "BurstBalance", what: "burst credits", then: "the limit falls to the baseline",
			left: rules.EBSBurstBalance},
		{name: "InstanceIOBalance", what: "burst of the instance's IOPS", then: "the limit falls to the baseline",
			left: rules.InstanceIOBalance},
		{name: "InstanceByteBalance", what: "burst of the instance's throughput",
			then: "the limit falls to the baseline", left: rules.InstanceByteBalance},
	}

	for _, e := range pack.Engines() {
		for _, b := range e.Bounds {
			if !b.Fills || b.Limit == nil {
				continue // a level that comes and goes is not an alert by itself
			}
			var name strings.Builder
			for part := range strings.SplitSeq(e.Database+"_"+b.Resource, "_") {
				name.WriteString(strings.ToUpper(part[:1]) + part[1:])
			}
			out = append(out, limited{name: name.String(), what: b.Title, then: b.Then, used: b.Used, limit: b.Limit})
		}
	}

	return out
}

// headroom returns the alerts, and the signals that they read.
func headroom(pack *rules.Pack, opt Options) (group Group, signals []*rules.Signal) {
	group = Group{Name: "plimsoll-headroom", Interval: seconds(opt.Interval)}
	ahead := fmt.Sprintf("[%s], %.0f)", seconds(headroomBack), headroomAhead.Seconds())
	for _, x := range limits(pack) {
		of, expr := x.left, ""
		if x.left != nil {
			expr = "predict_linear(" + x.left.Name + ahead + " <= 0"
			signals = append(signals, x.left)
		} else {
			of = x.used
			expr = "predict_linear(" + x.used.Name + ahead + " >= " + x.limit.Name
			signals = append(signals, x.used, x.limit)
		}
		group.Rules = append(group.Rules, headroomAlert(x.name, expr, x.what, x.then, union(opt.By, of.By)))
	}

	// plimsoll watch exports the time that is left, so no regression is needed for its limits.
	watched := fmt.Sprintf("min by (%s) (plimsoll_seconds_to_limit) < %.0f",
		strings.Join(union(opt.By, []string{"resource", "subject"}), ", "), headroomAhead.Seconds())
	group.Rules = append(group.Rules,
		headroomAlert("Watched", watched, "a limit tracked by plimsoll watch", "see its page",
			union(opt.By, []string{"resource", "subject"})))
	return group, signals
}

func headroomAlert(name, expr, what, then string, labels []string) Rule {
	subject := subjectOf(labels)
	return Rule{
		Alert: "PlimsollHeadroom" + name, Expr: expr, For: seconds(headroomFor),
		Labels: map[string]string{"severity": "warning", "kind": "headroom"},
		Annotations: map[string]string{
			"summary": fmt.Sprintf("%s: at this rate, %s will be used up within %d hours", subject, what,
				int(headroomAhead.Hours())),
			"description": fmt.Sprintf("Extrapolated from the last hour. Once it is used up: %s. For the headroom of every limit: plimsoll diagnose, section headroom.",
				then),
			"docs": "docs/diagnose.md",
		},
	}
}
