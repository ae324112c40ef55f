package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/fit"
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/present/results"
)

// planOptions are the flags of `plimsoll plan`.
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
	allowBurst bool
	unpriced   bool
	isNew      bool
	target     planTarget
	reading    fitOptions // for sources, as in fit
	output     choice
	layout
	full  bool
	given []string // for the command line in the result
}

func newPlanCommand(a *app) *cobra.Command {
	o := &planOptions{layout: layout{tables: true},
		reading: fitOptions{sourceOptions: sourceOptions{durationUnless: sampleUnasked}}}
	cmd := &cobra.Command{
		Use:  "plan SCENARIO|SOURCE...",
		Args: needArgs(1, -1, "plimsoll simulate --schema prints what a scenario may contain"),
	}

	o.AddFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt, err := o.Validate(cmd)
		if err != nil {
			return err
		}
		o.given = asGiven(cmd, args)
		return o.Run(cmd, a, args, opt)
	}

	return cmd
}

func (o *planOptions) AddFlags(cmd *cobra.Command) {
	addFormat(cmd, &o.output)
	f := cmd.Flags()
	f.StringArrayVar(&o.sets, "set",
		nil, "what is deployed now but not in the file: 'volumes.data={type: gp3, size: 500GiB}' (repeatable)")
	f.StringArrayVar(&o.objectives, "objective",
		nil, "the objective to meet: 'write_p99 < 25ms' (repeatable; default: the scenario's)")
	f.StringVar(&o.budget, "budget", "", "the highest monthly cost: 500USD/month")
	f.StringSliceVar(&o.keep, "keep",
		nil, "what stays unchanged: instance, volumes.data.type, engine, ... (repeatable)")
	f.StringVar(&o.region, "region", "",
		"the region of the prices (default: the one that a source reports, otherwise "+catalog.Region+
			" or the provider's own)")
	f.StringVar(&o.size, "size", "", "the data's future size: "+plan.GrowthExample(engine.All().Plans()))
	f.StringVar(&o.querySpan, "query-span", "", "for buckets, how far back a query of one sensor reads: 24h")
	f.IntVar(&o.atOnce, "at-once", 2, "how many settings may change at once")
	f.IntVar(&o.most, "most", 400, "how many layouts to simulate before giving up")
	f.BoolVar(&o.ephemeral, "ephemeral",
		false, "allow data on an instance's local disks, which are lost when it stops")
	f.BoolVar(&o.allowBurst, "allow-burst",
		false, "allow layouts that meet the objective only until their burst credits run out")
	f.BoolVar(&o.unpriced, "unpriced",
		false, "ignore prices: minimise IOPS beyond what is included, then throughput, then size")
	f.BoolVar(&o.isNew, "new",
		false, "before buying: nothing is deployed yet, so the plan has no \"now\", and sizes the machine and the volumes")
	o.reading.addReading(cmd, "for sources, ")
	o.target.AddFlags(cmd, &o.reading.to)
	o.layout.AddFlags(cmd)
	addFull(cmd, &o.full)

	complete(cmd, "keep", plan.KeepNames(engine.All().Plans())...)
	var begins []string
	for _, name := range plan.ObjectiveNames() {
		begins = append(begins, name+" < ")
	}

	complete(cmd, "objective", begins...)
	cmd.ValidArgsFunction = sourcesOr(oneFile("yaml", "yml"))
}

// Validate reads the flags.
func (o *planOptions) Validate(cmd *cobra.Command) (plan.Options, error) {
	opt := plan.Options{Engines: engine.All().Plans(), Sets: scenario.Sets(o.sets), Region: o.region,
		AtOnce: &o.atOnce, Most: o.most, Ephemeral: o.ephemeral, AllowBurst: o.allowBurst, Unpriced: o.unpriced,
		Keep: o.keep}
	for _, text := range o.objectives {
		b, err := plan.ParseObjective(text)
		if err != nil {
			return opt, asPlanFailure(err)
		}
		opt.Objectives = append(opt.Objectives, b)
	}

	if err := o.layout.Validate(cmd); err != nil {
		return opt, err
	}

	switch {
	case o.atOnce < 0 || o.atOnce > plan.AtOnceMax:
		return opt, usagef("", "--at-once %d: want 0 to %d", o.atOnce, plan.AtOnceMax)
	case o.most < 1 || o.most > plan.MostMax:
		return opt, usagef("", "--most %d: want 1 to %d", o.most, plan.MostMax)
	}

	to, err := o.target.target(cmd)
	if err != nil {
		return opt, err
	}

	opt.To = to
	switch {
	case o.unpriced && cmd.Flags().Changed("budget"):
		return opt, usagef("leave one of them out", "--budget with --unpriced: a budget needs prices")
	}

	if cmd.Flags().Changed("budget") {
		// Budgets are monthly, so the unit is optional.
		usd, err := units.ParseUSD(strings.TrimSuffix(strings.TrimSpace(o.budget), "/month"))
		if err != nil || usd <= 0 {
			return opt, usagef("write it as --budget 500USD/month", "--budget %q is not a monthly amount", o.budget)
		}
		opt.Budget = usd
	}

	if cmd.Flags().Changed("query-span") {
		d, err := units.ParseDuration(o.querySpan)
		if err != nil || d <= 0 {
			return opt, usagef("write it as --query-span 24h", "--query-span %q is not a duration", o.querySpan)
		}
		opt.QuerySpan = d
	}

	if cmd.Flags().Changed("size") {
		g, err := plan.ParseGrowth(o.size, engine.All().Plans())
		if err != nil {
			return opt, asPlanFailure(err)
		}
		opt.Size = g
	}

	return opt, nil
}

// Run makes the plan and writes it. The exit code is 3 if no layout meets the objective.
func (o *planOptions) Run(cmd *cobra.Command, env *app, args []string, opt plan.Options) error {
	ctx, path := cmd.Context(), strings.Join(publicWords(args), " ")
	if err := env.loadCatalog(); err != nil {
		return err
	}

	// The region may be known only from the sources, so they are read before the options are
	// complete.
	deployed, err := o.deployed(cmd, env, args, opt.Sets)
	if err != nil {
		return err
	}

	t := &tally{}
	on := ""
	opt.Progress = func(runs int, monthly units.USD) {
		at := fmt.Sprintf("%sat %s a month, ", on, units.Dollars(float64(monthly)))
		if opt.Unpriced {
			at = ""
		}
		t.setStage(at+"simulating layout", runs, opt.Most)
	}

	t.setStage("simulating what is deployed now", 0, 0)
	if o.isNew {
		t.setStage("looking for a machine that is large enough", 0, 0)
	}
	stop := env.meter(t).show()
	made, err := o.makePlan(ctx, env, deployed, path, opt, func(platform string) {
		on = platform + ": "
		t.setStage(on+"looking for a machine that is large enough", 0, 0)
	})
	stop()

	if err != nil {
		return asPlanFailure(err)
	}

	if o.output.value == "json" {
		// The JSON carries the scenario, so that emit and rollout need no other file.
		made.Scenario.Text = string(deployed.text())
		err = writeJSON(env, made)
	} else {
		err = env.screen(results.Plan(made, o.origin(path, made, deployed.command)), o.output,
			o.textOptions(env), o.full)
	}

	if err != nil {
		return err
	}

	if err := o.target.write(ctx, env, deployed, made); err != nil {
		return err
	}

	// The result is written even if no layout qualifies; only the exit code reports the failure.
	if made.Chosen == nil {
		return failf(exitFindings, unmetHint(made), "%s", made.Statements[0].Text)
	}

	return nil
}

// readingFlags are the flags of [fitOptions.addReading].
var readingFlags = []string{"engine", "device", "volume", "from", "to", "tz", "offset", "selector",
	"insecure", "for", "period"}

// priced refuses a recording with volumes of unknown products, which have no price.
func priced(sc *scenario.Scenario, fitted *fit.Fitted) error {
	for _, v := range sc.Volumes {
		if v.Value.Type != "custom" {
			continue
		}

		why := "its type is custom"
		if x := fitted.Value("volumes." + v.Name + ".type"); x != nil {
			why = x.Evidence
		}

		return failf(exitUsage,
			fmt.Sprintf("give its product: --set volumes.%s.type=gp3 --set volumes.%s.size=500GiB; plimsoll catalog list shows them", v.Name, v.Name),
			"plan: volumes.%s has no price: %s", v.Name, why)
	}
	return nil
}

func unmetHint(p *plan.Plan) string {
	if !p.Searched.Complete {
		return fmt.Sprintf("--most %d searches further; --keep makes the search space smaller",
			4*max(p.Searched.Simulated, 1))
	}
	return "relax the objective, raise --budget, or keep less; the plan shows what comes closest"
}

// asPlanFailure gives errors of package plan their exit code: wrong input is a usage error.
func asPlanFailure(err error) error {
	var input *plan.InputError
	var problems scenario.Problems
	var lack *database.LackError
	switch {
	case errors.As(err, &input):
		return failf(exitUsage, input.Hint(), "plan: %w", err)
	case errors.As(err, &lack):
		return usagef("", "plan: %w", err)
	case errors.As(err, &problems):
		return failf(exitUsage, problems.Hint(), "no plan can be made for the scenario:\n%w", err)
	}
	return err
}
