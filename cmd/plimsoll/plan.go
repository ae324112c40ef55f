package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/present/results"
	"plimsoll/internal/present/text"
)

// planOptions are those of `plimsoll plan`.
type planOptions struct {
	sets       []string
	objectives []string
	budget     string
	keep       []string
	region     string
	size       string
	querySpan  string
	atOnce     int
	most       int
	ephemeral  bool
	unpriced   bool
	engine     choice   // of a recording, as fit has it
	devices    []string // the same
	output     choice
	width      int
	ascii      bool
	asciiSet   bool
	given      []string // the call, to be made again
}

func newPlanCommand(a *app) *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:  "plan SCENARIO|RECORDING",
		Args: needArgs(1, 1, "plimsoll simulate --schema prints what a scenario may say"),
	}
	o.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt, err := o.Validate(cmd)
		if err != nil {
			return err
		}
		o.given = asGiven(cmd, args)
		return o.Run(cmd.Context(), a, args[0], opt)
	}
	return cmd
}

func (o *planOptions) AddFlags(cmd *cobra.Command) {
	addFormat(cmd, &o.output)
	f := cmd.Flags()
	f.StringArrayVar(&o.sets, "set", nil, "what is so now and the file does not say: 'volumes.data={type: gp3, size: 500GiB}' (again for more)")
	f.StringArrayVar(&o.objectives, "objective", nil, "what is to be reached: 'write_p99 < 25ms' (again for more; default: the scenario's)")
	f.StringVar(&o.budget, "budget", "", "the most that a month may cost: 500USD/month")
	f.StringSliceVar(&o.keep, "keep", nil, "what stays as it is: instance, volumes.data.type, engine, ... (again for more)")
	f.StringVar(&o.region, "region", "", "whose prices count (default "+catalog.Region+")")
	f.StringVar(&o.size, "size", "", "what the data is to grow to: data=800GB,growth=100GB/month,months=6,oplog=270GB,journal=1GB,indexes=20%,headroom=20%")
	f.StringVar(&o.querySpan, "query-span", "", "how far back a query of one sensor reads, for buckets: 24h")
	f.IntVar(&o.atOnce, "at-once", 2, "settings that are changed at once at most")
	f.IntVar(&o.most, "most", 400, "layouts that are simulated before it gives up")
	f.BoolVar(&o.ephemeral, "ephemeral", false, "data may lie on an instance's own disks, which are empty after it was stopped")
	f.BoolVar(&o.unpriced, "unpriced", false, "leave prices out, where they are not known: the least IOPS over what is included, then throughput, then size")
	addChoice(cmd, &o.engine, "engine", "", "of a recording, the engine to fit (default: the one it tells of)", fitEngines()...)
	f.StringArrayVar(&o.devices, "device", nil, "of a recording, which device a volume is, where that is not told by what it does: journal=nvme2n1 (again for more)")
	f.IntVar(&o.width, "width", 0, "columns of text, 80 or more; 0: the terminal's, at most "+strconv.Itoa(simulateColumns))
	f.BoolVar(&o.ascii, "ascii", false, "only 7-bit characters (default: if the locale is not UTF-8)")
	for _, name := range []string{"set", "budget", "region", "size", "query-span", "at-once", "most", "width", "device"} {
		complete(cmd, name)
	}
	complete(cmd, "keep", plan.KeepNames()...)
	var begins []string
	for _, name := range plan.ObjectiveNames() {
		begins = append(begins, name+" < ")
	}
	complete(cmd, "objective", begins...)
	cmd.ValidArgsFunction = oneFile("yaml", "yml")
}

// Validate reads the flags.
func (o *planOptions) Validate(cmd *cobra.Command) (plan.Options, error) {
	o.asciiSet = cmd.Flags().Changed("ascii")
	opt := plan.Options{Sets: o.sets, Region: o.region, AtOnce: &o.atOnce, Most: o.most, Ephemeral: o.ephemeral, Unpriced: o.unpriced, Keep: o.keep}
	for _, text := range o.objectives {
		b, err := plan.ParseObjective(text)
		if err != nil {
			return opt, asPlanFailure(err)
		}
		opt.Objectives = append(opt.Objectives, b)
	}
	switch {
	case o.width != 0 && (o.width < 80 || o.width > widthMax):
		return opt, usagef("a terminal has 80 or more", "--width %d: want 80 to %d columns", o.width, widthMax)
	case o.atOnce < 0 || o.atOnce > plan.AtOnceMax:
		return opt, usagef("", "--at-once %d: want 0 to %d", o.atOnce, plan.AtOnceMax)
	case o.most < 1 || o.most > plan.MostMax:
		return opt, usagef("", "--most %d: want 1 to %d", o.most, plan.MostMax)
	}
	switch {
	case o.unpriced && cmd.Flags().Changed("budget"):
		return opt, usagef("leave one of them out", "--budget with --unpriced: without prices no budget can be kept")
	}
	if cmd.Flags().Changed("budget") {
		usd, err := units.ParseUSD(strings.TrimSuffix(strings.TrimSpace(o.budget), "/month"))
		if err != nil || usd <= 0 {
			return opt, usagef("write it as --budget 500USD/month", "--budget %q is no amount of money a month", o.budget)
		}
		opt.Budget = usd
	}
	if cmd.Flags().Changed("query-span") {
		d, err := units.ParseDuration(o.querySpan)
		if err != nil || d <= 0 {
			return opt, usagef("write it as --query-span 24h", "--query-span %q is no time", o.querySpan)
		}
		opt.QuerySpan = d
	}
	if cmd.Flags().Changed("size") {
		g, err := plan.ParseGrowth(o.size)
		if err != nil {
			return opt, asPlanFailure(err)
		}
		opt.Size = g
	}
	return opt, nil
}

// Run makes the plan, and writes it. That nothing meets the objective is exit code 3.
func (o *planOptions) Run(ctx context.Context, a *app, path string, opt plan.Options) error {
	if err := a.pageGoesSomewhere(o.output); err != nil {
		return err
	}
	if err := a.useCatalog(); err != nil {
		return err
	}
	file, fitted, err := o.scenario(ctx, a, path)
	if err != nil {
		return err
	}
	if fitted != nil {
		if err := o.products(file, fitted); err != nil {
			return err
		}
	}
	t := &tally{}
	opt.Progress = func(runs int, monthly units.USD) {
		at := fmt.Sprintf("at %s a month, ", units.Dollars(float64(monthly)))
		if opt.Unpriced {
			at = ""
		}
		t.setStage(at+"simulating layout", runs, opt.Most)
	}
	t.setStage("simulating what is deployed now", 0, 0)
	stop := a.meter(t).show()
	p, err := plan.Make(ctx, file, path, opt)
	stop()
	if err != nil {
		return asPlanFailure(err)
	}
	if o.output.value == "json" {
		err = writeJSON(a, p)
	} else {
		err = a.write(results.Plan(p, o.origin(file, path, p, fitted)), o.output, text.Options{Width: o.columns(a), ASCII: o.ascii || (!o.asciiSet && !a.unicode())})
	}
	if err != nil {
		return err
	}
	if p.Chosen == nil {
		return &failure{code: exitFindings, err: errors.New(p.Statements[0].Text), hint: unmetHint(p)}
	}
	return nil
}

// origin is what a plan's page is made from: its layouts' scenarios, whose prices count, and of a recording the scenario that was fitted.
func (o *planOptions) origin(file *scenario.File, path string, p *plan.Plan, fitted *fit.Fitted) results.Origin {
	out := results.Origin{File: path, Command: o.given}
	if fitted != nil {
		out.File, out.Made = "fitted.yaml", o.fitCommand(path, fitted)+" > fitted.yaml"
	}
	var all []*scenario.Scenario
	for _, l := range append([]*plan.Layout{p.Now, p.Chosen, p.Nearest}, p.Frontier...) {
		if l == nil {
			continue
		}
		if sc, err := file.Parse(l.Sets); err == nil {
			all = append(all, sc)
		}
	}
	out.Prices = pricesOf(o.region, all...)
	return out
}

// scenario is what a plan is made for: a scenario's file, or of a folder, which is a recording, the scenario that would have produced it, with what
// that rests on.
func (o *planOptions) scenario(ctx context.Context, a *app, path string) (file *scenario.File, fitted *fit.Fitted, err error) {
	if !isRecording(path) {
		file, err := openScenario(ctx, path)
		if err == nil && (o.engine.value != "" || len(o.devices) > 0) {
			err = usagef("a scenario names them itself", "--engine and --device are of a recording, and %s is a scenario", path)
		}
		return file, nil, err
	}
	f := &fitOptions{}
	cmd := &cobra.Command{Use: "fit"} // for the defaults of its flags
	f.AddFlags(cmd)
	f.engine.value, f.devices = o.engine.value, o.devices
	if err := f.Validate(cmd, []string{path}, a.now()); err != nil {
		return nil, nil, err
	}
	o.said(func(volume, word string) {
		_ = f.know(volume, word) // what is wrong with it is told where the scenario is parsed, with its place
	})
	made, err := f.fit(ctx, a, []string{path})
	if err != nil {
		return nil, nil, asFitFailure(err)
	}
	for _, r := range made.Remarks {
		fmt.Fprintf(a.stderr, "plimsoll: note: %s\n", printable(r))
	}
	return language().NewFile(path, made.YAML()), made, nil
}

// isRecording tells a recording, a folder or a capture in one file, from a scenario, which is text.
func isRecording(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() || !info.Mode().IsRegular() {
		return err == nil && info.IsDir()
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [512]byte
	n, _ := io.ReadFull(f, head[:]) // a short file has a short head
	return bytes.IndexByte(head[:n], 0) >= 0
}

// said are what --set says of volumes' types and sizes, by path: what the limits that were seen are then taken to be figures of. What else it
// says is laid over the scenario that was made.
func (o *planOptions) said(tell func(volume, word string)) {
	for _, text := range o.sets {
		path, value, _ := strings.Cut(text, "=")
		keys := strings.Split(strings.TrimSpace(path), ".")
		if len(keys) == 3 && keys[0] == "volumes" && (keys[2] == "type" || keys[2] == "size") {
			tell(keys[1], strings.TrimSpace(value))
		}
	}
}

// products refuses a recording of which it cannot be told what its volumes are: without a product there is no price.
func (o *planOptions) products(file *scenario.File, fitted *fit.Fitted) error {
	sc, err := file.Parse(o.sets)
	if err != nil {
		return asPlanFailure(err)
	}
	for _, v := range sc.Volumes {
		if v.Value.Type != "custom" {
			continue
		}
		why := "it is custom"
		if x := fitted.Value("volumes." + v.Name + ".type"); x != nil {
			why = x.Evidence
		}
		return &failure{
			code: exitUsage, err: fmt.Errorf("plan: volumes.%s has no price: %s", v.Name, why),
			hint: fmt.Sprintf("say which product it is: --set volumes.%s.type=gp3 --set volumes.%s.size=500GiB; plimsoll catalog list names them", v.Name, v.Name),
		}
	}
	return nil
}

// fitCommand makes the scenario of a recording again; "" where a plan is not of one.
func (o *planOptions) fitCommand(path string, fitted *fit.Fitted) string {
	if fitted == nil {
		return ""
	}
	command := "plimsoll fit " + path
	if o.engine.value != "" {
		command += " --engine " + o.engine.value
	}
	for _, d := range o.devices {
		command += " --device " + d
	}
	o.said(func(volume, word string) { command += " --volume " + volume + "=" + word })
	return command
}

func unmetHint(p *plan.Plan) string {
	if !p.Searched.Complete {
		return fmt.Sprintf("--most %d looks further; --keep makes the space smaller", 4*max(p.Searched.Simulated, 1))
	}
	return "loosen the objective, raise --budget, or keep less; the plan says what comes nearest"
}

func (o *planOptions) columns(a *app) int {
	s := simulateOptions{width: o.width}
	return s.columns(a)
}

// asPlanFailure gives errors of package plan their exit code: what was asked wrongly is usage.
func asPlanFailure(err error) error {
	var input *plan.InputError
	var problems scenario.Problems
	var lack *engine.LackError
	switch {
	case errors.As(err, &input):
		return &failure{code: exitUsage, err: fmt.Errorf("plan: %w", err), hint: input.Hint()}
	case errors.As(err, &lack):
		return usagef("", "plan: %w", err)
	case errors.As(err, &problems):
		return &failure{code: exitUsage, err: fmt.Errorf("the scenario cannot be planned for:\n%w", err), hint: problems.Hint()}
	}
	return err
}
