package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/yamltree"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/workload"
)

// Bounds on a run.
const (
	runMax = 7 * 24 * 60 * minute
	runMin = units.Duration(1e9)
	// operationsMax bounds the operations of a run: at a few million a second, some ten minutes.
	operationsMax = 2e9
	// volumesMax exceeds the number of volumes that any instance supports.
	volumesMax = 64
)

const sourceOwn = "this program's own bound"

// A checker checks every part, and fills in the values that one part takes from another.
type checker struct {
	*Scenario
	*Language
	chosen    []Chosen // all engines that the scenario names
	root      *yamltree.Node
	open      workload.OpenFile
	undecoded []yamltree.Placed // what could not be decoded; its parts are not checked
	problems  inputerror.List
	warnings  inputerror.List
}

// wrote reports whether the scenario has anything at a path of keys.
func (c *checker) wrote(path string) bool {
	n := c.root
	for key := range strings.SplitSeq(path, ".") {
		e := n.Find(key)
		if e == nil {
			return false
		}
		n = e.Value
	}
	return true
}

// null reports whether a path is present without a value.
func (c *checker) null(path string) bool {
	n := c.root
	for key := range strings.SplitSeq(path, ".") {
		n = n.Find(key).Value
	}
	return n.Kind == yamltree.Null
}

// follows reports whether a problem may only be a consequence of a field that could not be decoded:
// it concerns the same field, a part of it, or a field that contains it.
func (c *checker) follows(p inputerror.Problem) bool {
	return slices.ContainsFunc(c.undecoded, func(u yamltree.Placed) bool {
		return !u.NoSuch && (within(p.Field, u.Field) || within(u.Field, p.Field))
	})
}

// within reports whether a field is another or a part of it.
func within(field, of string) bool {
	rest, ok := strings.CutPrefix(field, of)
	return ok && (rest == "" || of == "" || rest[0] == '.' || rest[0] == '[')
}

func (c *checker) add(p inputerror.Problem) { c.problems = append(c.problems, p) }

func (c *checker) check() {
	if c.Version != Version {
		text := fmt.Sprintf("unknown version %d", c.Version)
		if !c.wrote("plimsoll") {
			text = "missing: the version of the format is " + strconv.Itoa(Version)
		}
		c.add(inputerror.Problem{Field: "plimsoll", Text: text, Nearest: strconv.Itoa(Version)})
	}

	c.zeros()
	c.run()
	c.host()
	c.volumes()
	c.engine()
	c.workload()
	c.members()
	c.together()

	for _, b := range c.Objective.Bounds() {
		if b.Most <= 0 {
			c.add(inputerror.Problem{Field: "objective." + b.Name, Text: "a latency of 0 cannot be met",
				Nearest: "1ms"})
		}
	}
}

// mounted checks that a scenario has what a mount needs.
func (c *checker) mounted() {
	c.zeros()
	c.host()
	c.volumes()
}

// zeros refuses a zero that would be treated as unset: the user would get another value, the
// preset's or the product's.
func (c *checker) zeros() {
	zero := func(field string, is bool, without string) {
		if is && c.wrote(field) {
			c.add(inputerror.Problem{Field: field, Text: "must not be 0: leave it out for " + without})
		}
	}

	zero("workload.working_set", c.Workload.WorkingSet == 0, "what the preset or keys.count says")
	zero("workload.keys.count", c.Workload.Keys != nil &&
		c.Workload.Keys.Count == 0, "what the preset, the engine or working_set says")
	orders := func(under string, volumes Keyed[catalog.Order]) {
		for _, v := range volumes {
			without, o := "what "+v.Value.Type+" comes with", &v.Value
			if o.Type == "custom" {
				without = "no limit"
			}
			at := under + "." + v.Name
			zero(at+".iops", o.IOPS == 0, without)
			zero(at+".iops_per_gb", o.IOPSPerGB == 0, without)
			zero(at+".throughput", o.Throughput == 0, without)
			zero(at+".stripe", o.Stripe == 0, "one volume")
		}
	}

	orders("volumes", c.Volumes)
	for _, m := range c.Members {
		orders("members."+m.Name+".volumes", m.Value.Volumes)
	}
}

func (c *checker) run() {
	switch d := c.Run.Duration; {
	case d < runMin:
		c.add(inputerror.Problem{Field: "run.duration", Text: d.String() + " is too short to measure anything",
			Limit: "at least 1s", Source: sourceOwn, Nearest: "1s"})
	case d > runMax:
		c.add(inputerror.Problem{Field: "run.duration", Text: d.String() + " is too long", Limit: "7d",
			Source: sourceOwn, Nearest: "7d"})
	}
	if w := c.Run.Warmup; w < 0 || w > runMax {
		c.add(inputerror.Problem{Field: "run.warmup", Text: w.String() + " is too long", Limit: "7d",
			Source: sourceOwn, Nearest: "7d"})
	}
}

// asProblem converts an error to a problem with a field.
func asProblem(err error, field string) inputerror.Problem {
	var p inputerror.Problem
	if !errors.As(err, &p) {
		p = inputerror.Problem{Text: err.Error()}
	}
	p.Field = field
	return p
}

func (c *checker) host() {
	if c.Host.Instance != "" {
		i, err := c.catalog.Instance(c.Host.Instance)
		if err != nil {
			c.add(asProblem(err, "host.instance"))
		} else {
			if w, err := i.Weighted(c.Host.BandwidthWeighting); err != nil {
				c.add(inputerror.Problem{Field: "host.bandwidth_weighting", Text: err.Error()})
			} else {
				i = w
			}

			c.instance = i

			// An explicit value overrides the instance's: a container may have less than its machine.
			if !c.wrote("host.cores") && i.VCPU > 0 {
				c.Host.Cores = i.VCPU
			}

			if !c.wrote("host.memory") && i.Memory > 0 {
				c.Host.Memory = i.Memory
			}
		}
	}

	if c.Host.Instance == "" && c.Host.BandwidthWeighting != "" {
		c.add(inputerror.Problem{Field: "host.bandwidth_weighting",
			Text: "needs an instance: set host.instance"})
	}

	for _, pair := range eitherOr {
		if bytes, ratio := "host."+pair[0], "host."+pair[1]; c.wrote(ratio) && c.wrote(bytes) && !c.null(bytes) &&
			!c.null(ratio) {
			c.add(inputerror.Problem{Field: ratio, Text: "the kernel uses this or " + pair[0] +
				", and sets the other to 0: leave one out"})
		}
	}

	c.problems = append(c.problems, c.Host.Config.Check().Under("host")...)
	c.warnings = append(c.warnings, c.Host.Config.Unmodelled().Under("host")...)

	// Less memory than the instance has is allowed, because a container may be limited; more is
	// impossible.
	if i := c.instance; i != nil && c.Host.Memory > i.Memory && i.Memory > 0 {
		c.add(inputerror.Problem{
			Field: "host.memory", Text: fmt.Sprintf("%s is more than %s has", c.Host.Memory.Exact(), i.Name),
			Limit: i.Memory.Exact(), Source: i.Source.String(), Nearest: i.Memory.Exact(),
		})
	}
}

func (c *checker) volumes() {
	if len(c.Volumes) == 0 {
		c.add(inputerror.Problem{Field: "volumes",
			Text: "missing: an engine needs at least one volume, for example {data: {type: gp3, size: 500GiB}}"})
	}
	if len(c.Volumes) > volumesMax {
		c.add(inputerror.Problem{Field: "volumes", Text: fmt.Sprintf("%d volumes", len(c.Volumes)),
			Limit: strconv.Itoa(volumesMax), Source: sourceOwn})
		return
	}
	c.orders("volumes", c.Volumes)
	for _, m := range c.Members {
		c.orders("members."+m.Name+".volumes", m.Value.Volumes)
	}
}

func (c *checker) orders(field string, orders Keyed[catalog.Order]) {
	c.localDisks(field, orders)
	for _, v := range orders {
		at := field + "." + v.Name
		// Check the order by itself first: CheckOn assumes a valid one.
		problems := v.Value.Check()
		if len(problems) == 0 {
			problems = v.Value.CheckOn(c.instance)
		}
		c.problems = append(c.problems, problems.Under(at)...)
		if len(problems) == 0 {
			c.warnings = append(c.warnings, v.Value.Warnings().Under(at)...)
			c.overInstance(at, &v.Value)
		}
	}
}

// localDisks refuses more volumes on an instance's own disks than it has disks: each volume needs
// its own.
func (c *checker) localDisks(field string, orders Keyed[catalog.Order]) {
	taken, last := 0, ""
	for _, v := range orders {
		if t, err := catalog.Type(v.Value.Type); err == nil && t.Local {
			taken += v.Value.Members()
			if v.Name != "data" || last == "" {
				last = v.Name
			}
		}
	}

	if i := c.instance; i != nil && i.Disk.Count > 0 && taken > i.Disk.Count &&
		orders.Get(last).Members() <= i.Disk.Count {
		c.add(inputerror.Problem{
			Field: field + "." + last + ".type",
			Text: fmt.Sprintf("the volumes on local disks need %d of them, but %s has %d: if they are on one disk, leave out volumes.%s: files without a separate volume are on data; otherwise put it on another volume",
				taken, i.Name, i.Disk.Count, last),
			Limit: strconv.Itoa(i.Disk.Count), Source: i.Source.String(),
		})
	}
}

// overInstance warns if a volume's limits exceed what its instance allows.
func (c *checker) overInstance(at string, o *catalog.Order) {
	t, err := catalog.Type(o.Type)
	if err != nil || t.Local || c.instance == nil {
		return
	}

	share, ok := c.instance.ShareOf(o)
	if !ok {
		return
	}

	l, err := o.Limits(c.instance)
	if err != nil {
		return
	}

	i, n := c.instance, o.Members()
	if iops := l.Sustained.IOPS * units.Frequency(n); share.Maximum.IOPS > 0 && iops > share.Maximum.IOPS {
		c.warnings = append(c.warnings, inputerror.Problem{
			Field: at + ".iops",
			Text: fmt.Sprintf("%s is more than %s allows for all its volumes together: the instance is the limit",
				inFull(iops), i.Name),
			Limit: capped(inFull(share.Maximum.IOPS), inFull(share.Baseline.IOPS)), Source: i.Source.String(),
		})
	}

	if rate := l.Sustained.Throughput * units.Throughput(n); share.Maximum.Throughput > 0 &&
		rate > share.Maximum.Throughput {
		c.warnings = append(c.warnings, inputerror.Problem{
			Field: at + ".throughput",
			Text: fmt.Sprintf("%s is more than %s allows for all its volumes together: the instance is the limit",
				rate, i.Name),
			Limit:  capped(share.Maximum.Throughput.String(), share.Baseline.Throughput.String()),
			Source: i.Source.String(),
		})
	}
}

// capped formats an instance's limit, with its higher temporary one.
func capped(burst, baseline string) string {
	if burst == baseline {
		return baseline
	}
	return fmt.Sprintf("%s for 30 minutes a day, %s sustained", burst, baseline)
}

// inFull formats a rate in IOPS.
func inFull(f units.Frequency) string { return catalog.IOPS(f).String() + " IOPS" }

// workload resolves the workload. The engine's information about its database provides the workload's
// defaults.
func (c *checker) workload() {
	if !c.wrote("workload") {
		c.add(inputerror.Problem{Field: "workload", Text: "missing: for example {preset: telemetry}"})
		return
	}

	one := len(c.chosen) == 1
	if one {
		c.Engine.Config.Ask(&c.Workload)
	} else if c.Workload.Preset == "" {
		// The engine's defaults are missing, so problems with the workload would be misleading.
		return
	}

	load, problems := c.Workload.Resolve(c.open)
	c.problems = append(c.problems, problems.Under("workload")...)
	if load == nil || !one {
		return
	}

	c.load = load
	c.fill(&c.Engine, load)
	c.operations(load)
}

// operations bounds the number of simulated operations. A duration that is itself too long was
// already reported.
func (c *checker) operations(load *workload.Workload) {
	if c.Run.Duration > runMax || c.Run.Warmup > runMax {
		return
	}

	whole := c.Run.Warmup + c.Run.Duration

	// Durations are in nanoseconds.
	n := float64(load.Rate()) * float64(whole) / 1e9
	if n <= operationsMax {
		return
	}

	p := inputerror.Problem{
		Field: "run.duration", Text: fmt.Sprintf("%s for %s, including the warm-up, is %.3g operations",
			load.Rate(), whole, n),
		Limit: fmt.Sprintf("%.3g operations", float64(operationsMax)), Source: sourceOwn,
	}

	most := units.Duration(operationsMax/float64(load.Rate())*1e9) - c.Run.Warmup

	// Suggest whole seconds. There is no suggestion if the warm-up alone is too long.
	if most = most / runMin * runMin; most >= runMin {
		p.Nearest = most.Std().String()
	}

	c.add(p)
}

func (c *checker) members() {
	if len(c.Members) > 0 && !c.isCluster() && len(c.chosen) == 1 {
		c.add(inputerror.Problem{Field: "members", Text: c.Engine.Name() + " has no members: only " +
			strings.Join(c.clusters(), " and ") + " has"})
		return
	}
	for _, m := range c.Members {
		k, err := strconv.Atoi(m.Name)
		if err != nil || k < 1 || (c.isCluster() && k > c.MemberCount()) {
			c.add(inputerror.Problem{Field: "members." + m.Name,
				Text: fmt.Sprintf("no such member: want 1 to %d", c.MemberCount())})
		}
	}
}

// sorted sorts problems in the order of the file; assignments follow.
func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		// Line 0 marks a problem in an assignment, which has no position in the file.
		if (a.Line == 0) != (b.Line == 0) {
			return b.Line - a.Line
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return p
}
