package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/advise/starter"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// A platformList is --platform of plan: a platform, or several clouds to compare.
type platformList struct {
	choice
}

// Set accepts the words, separated by commas.
func (l *platformList) Set(text string) error {
	var names []string
	for word := range strings.SplitSeq(text, ",") {
		one := choice{among: l.among}
		if err := one.Set(strings.TrimSpace(word)); err != nil {
			return err
		}
		if !slices.Contains(names, one.value) {
			names = append(names, one.value)
		}
	}

	if len(names) > 1 {
		for _, name := range names {
			if !slices.Contains(starter.CloudNames(), name) {
				return fmt.Errorf("only clouds can be compared: want some of %s", strings.Join(starter.CloudNames(), ","))
			}
		}
	}

	l.value = strings.Join(names, ",")
	return nil
}

// Type is the name of the value in the help.
func (l *platformList) Type() string { return "platform,..." }

// names are the platforms; none if the flag was not given.
func (l *platformList) names() []string {
	if l.value == "" {
		return nil
	}
	return strings.Split(l.value, ",")
}

// cloudNamed returns the starting point of a deployment on a cloud. Other platforms start from AWS.
func cloudNamed(name string) plan.Cloud {
	i := max(0, slices.IndexFunc(starter.Clouds, func(c starter.Cloud) bool { return c.Name == name }))
	c := starter.Clouds[i]
	return plan.Cloud{Name: c.Name, Instance: c.Instance, Volume: c.Volume}
}

// placeholderSize is the size of a volume whose size the plan computes.
const placeholderSize = "100GiB"

// parseNew reads the scenario of a new deployment, which may leave out the machine and the volumes. It
// returns the assignments that stand in for them, and whether the size of the data is one of these.
func (o *planOptions) parseNew(file *scenario.File) (sc *scenario.Scenario, added []string, unsized bool,
	err error) {
	sc, err = file.Parse(o.sets)
	if err == nil && sc.Instance() != nil {
		return sc, nil, false, nil
	}

	platform := ""
	if names := o.target.to.names(); len(names) > 0 {
		platform = names[0]
	} else if err == nil {
		platform = plan.Provider(sc)
	}

	cloud := cloudNamed(platform)
	machine := "host.instance=" + cloud.Instance
	volume := fmt.Sprintf("volumes.data={type: %s, size: %s}", cloud.Volume, placeholderSize)

	tries := [][]string{{machine}, {volume}, {machine, volume}}
	if err != nil {
		tries = tries[1:] // the scenario lacks something, and a machine is optional
	}
	for i, add := range tries {
		with, e := file.Parse(slices.Concat(add, o.sets))
		if e == nil && (with.Instance() != nil || i == len(tries)-1) {
			return with, add, slices.Contains(add, volume), nil
		}
	}

	// The scenario's problems are not about missing values.
	return sc, nil, false, err
}

// makePlan makes the plan for one platform, or compares several.
func (o *planOptions) makePlan(ctx context.Context, a *app, d *deployment, path string, opt plan.Options,
	begin func(platform string)) (*plan.Plan, error) {
	opt.New, opt.Unsized = o.isNew, d.unsized
	opt.Sets = slices.Concat(scenario.Sets(d.added), opt.Sets)
	names := o.target.to.names()
	if len(names) < 2 && !(o.isNew && len(names) == 1) {
		o.region = o.regionFor(a, d.scenario)
		opt.Region = o.region
		return plan.Make(ctx, d.scenario, path, opt)
	}

	if opt.Unpriced {
		return nil, usagef("leave one of them out", "--unpriced with several platforms: only prices can be compared between them")
	}

	var places []plan.Place
	for _, name := range names {
		to, err := o.target.named(name)
		if err != nil {
			return nil, err
		}
		places = append(places, plan.Place{Cloud: cloudOf(name, d.scenario), To: to,
			Region: func(sc *scenario.Scenario) string { return o.regionAmong(a, sc) }})
	}

	p, err := plan.MakeEach(ctx, d.scenario, path, opt, places, begin)
	if err == nil {
		o.region = p.Region
	}
	return p, err
}

// cloudOf is the cloud that a scenario is translated to: on Kubernetes and on machines that are not rented,
// the one that it names already.
func cloudOf(platform string, sc *scenario.Scenario) plan.Cloud {
	if slices.Contains(starter.CloudNames(), platform) {
		return cloudNamed(platform)
	}
	return cloudNamed(cmp.Or(plan.Provider(sc), "aws"))
}

// regionAmong returns the region of the prices of one of several clouds: the one of --region that belongs
// to it.
func (o *planOptions) regionAmong(a *app, sc *scenario.Scenario) string {
	given := o.region
	defer func() { o.region = given }()
	for region := range strings.SplitSeq(given, ",") {
		if slices.ContainsFunc(sc.Volumes, func(v scenario.Named[catalog.Order]) bool {
			_, err := a.catalog.Monthly(&v.Value, region)
			return err == nil
		}) {
			return region
		}
	}
	if strings.Contains(given, ",") {
		o.region = "" // none of the list is in this cloud
	}
	return o.regionFor(a, sc)
}
