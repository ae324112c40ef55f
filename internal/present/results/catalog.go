package results

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/present/document"
)

const unknown = "–"

// Volumes lists volume types, with their prices in a catalogue.
func Volumes(known *catalog.Catalog, all []*catalog.VolumeType) *document.Document {
	tab := document.NewTable("Volume types", "type", "of", "size", "IOPS", "throughput", "USD a month", "in",
		"description")

	for _, t := range all {
		iops, throughput := t.Range()
		size := ""
		if t.SizeMin.Known() {
			size = t.SizeMin.Value.Exact() + " - " + t.SizeMax.Value.Exact()
		}

		price, region := "unknown price", catalog.DefaultRegion(t.Provider)
		for _, p := range known.Prices(t) {
			if p.Region == region {
				price = p.Short()
			}
		}

		switch {
		case t.Local:
			price, region = "included in the instance price", unknown
		case t.Name == "custom":
			price, region = unknown, unknown
		}

		row := []document.Cell{{Text: t.Name, Roles: "code"}}
		for _, text := range []string{t.Provider, size, iops, throughput, price, region, t.Title} {
			row = append(row, document.Cell{Text: cmp.Or(text, unknown)})
		}

		tab.Add(row)
	}

	return list("Volume types", tab)
}

// Instances lists the instance types.
func Instances(all []*catalog.InstanceType) *document.Document {
	tab := document.NewTable("Instance types", "instance")
	for _, head := range []string{"vCPU", "memory", "IOPS", "MB/s", "30 min IOPS", "30 min MB/s",
		"local disks", "USD/h"} {
		tab.Columns = append(tab.Columns, document.Column{Text: head, Number: true})
	}

	for _, t := range all {
		texts := []string{fmt.Sprint(t.VCPU), t.Memory.Exact(), "", "", "", "", "", ""}
		if t.HasEBS {
			texts[2], texts[3] = catalog.IOPS(t.Baseline.IOPS).String(), megabytes(t.Baseline.Throughput)
			// A type without a burst has no second pair of limits.
			if t.Bursts() {
				texts[4], texts[5] = catalog.IOPS(t.Maximum.IOPS).String(), megabytes(t.Maximum.Throughput)
			}
		}

		if t.Disk.Count > 0 {
			texts[6] = fmt.Sprintf("%d x %s", t.Disk.Count, t.Disk.Size.Exact())
		}

		if p, ok := t.Hourly(""); ok {
			texts[7] = fmt.Sprintf("%.4g", float64(p.Hourly))
		}

		row := []document.Cell{{Text: t.Name, Roles: "code"}}
		for _, text := range texts {
			row = append(row, document.Cell{Text: cmp.Or(text, unknown), Number: true})
		}

		tab.Add(row)
	}

	return list("Instance types", tab)
}

// megabytes prints a throughput in decimal megabytes, like EC2's documentation.
func megabytes(t units.Throughput) string { return fmt.Sprintf("%.6g", float64(t)/float64(units.MBps)) }

// A product is a page about a volume or instance type; each of its figures has a source.
type product struct {
	*document.Document
	sources []string
}

func newProduct(name, about string) *product {
	return &product{Document: &document.Document{Kind: "Catalogue", Title: name, Verdict: name + ": " + about}}
}

// fact is a figure with a reference to its source.
func (p *product) fact(f catalog.Fact) document.Term {
	line := document.Line{Text: f.Value}
	if text := f.Source.String(); f.Source.Text != "" {
		if !slices.Contains(p.sources, text) {
			p.sources = append(p.sources, text)
		}
		line.Text += fmt.Sprintf(" [%d]", slices.Index(p.sources, text)+1)
	}
	if f.Note != "" {
		line.Note = "(" + f.Note + ")"
	}
	return document.Term{Label: f.Name, Lines: []document.Line{line}}
}

func (p *product) section(id, title string, parts ...document.Part) {
	p.Add(document.Section{ID: id, Title: title, Parts: parts})
}

// prices adds a section of prices, or says why there are none.
func (p *product) prices(title string, all []document.Term, none string) {
	var parts []document.Part
	if len(all) > 0 {
		parts = append(parts, document.Part{Terms: all})
	}
	if none != "" {
		parts = append(parts, document.Part{Text: none})
	}
	p.section("prices", title, parts...)
}

// done completes the page with the sources.
func (p *product) done() *document.Document {
	var terms []document.Term
	for i, s := range p.sources {
		terms = append(terms, document.Term{Label: fmt.Sprintf("[%d]", i+1), Lines: []document.Line{{Text: s}}})
	}
	if len(terms) > 0 {
		p.section("sources", "Sources", document.Part{Terms: terms})
	}
	return p.Document
}

// Volume is a volume type: its figures, its prices, an order worked out, and the sources.
func Volume(known *catalog.Catalog, t *catalog.VolumeType) (*document.Document, error) {
	p := newProduct(t.Name, fmt.Sprintf("%s (%s)", t.Title, t.Provider))
	var facts, costs []document.Term
	for _, f := range t.Facts() {
		facts = append(facts, p.fact(f))
	}

	p.section("figures", "Figures", document.Part{Terms: facts})
	prices, none, region := known.Prices(t), "", ""
	for _, x := range prices {
		costs = append(costs, p.fact(catalog.Fact{Name: x.Region, Value: x.String(), Source: x.Source,
			Note: x.Note}))
	}

	switch {
	case t.Local:
		none = "Included in the price of the instance."
	case t.Name == "custom":
		none = "Custom limits have no price."
	case len(prices) == 0:
		none = "Unknown price: see plimsoll catalog import --help."
	}

	if len(prices) > 0 {
		region = prices[0].Region
	}

	p.prices("Monthly prices", costs, none)
	if err := p.example(known, t.Example(), region); err != nil {
		return nil, err
	}

	return p.done(), nil
}

// example works out an order: its limits and its cost.
func (p *product) example(known *catalog.Catalog, o *catalog.Order, region string) error {
	gives, err := o.Gives(nil)
	if err != nil {
		return err
	}

	parts := []document.Part{{Text: o.String()}, {Text: strings.Join(gives, "; ")}}
	bill, err := known.Monthly(o, region)

	var missing *catalog.NoPriceError
	switch {
	// Limits are useful without a price, so this is not a failure.
	case errors.As(err, &missing):
		parts = append(parts, document.Part{Text: "cost: " + missing.Error()})
	case err != nil:
		return err
	default:
		tab := document.NewTable("The cost of the example", "#USD a month", "for")
		for _, l := range bill.Lines {
			tab.Line(fmt.Sprintf("%.2f", float64(l.Amount)), l.Text)
		}
		if len(bill.Lines) > 1 {
			tab.Add([]document.Cell{{Text: fmt.Sprintf("%.2f", float64(bill.Total)), Roles: "strong"},
				{Text: "total"}})
		}
		parts = append(parts, document.Part{Table: tab})
	}

	p.section("example", "Example", parts...)
	return nil
}

// Instance is an instance type: its limits, its prices, which limit is reached first, and the
// sources.
func Instance(i *catalog.InstanceType) (*document.Document, error) {
	p := newProduct(i.Name, fmt.Sprintf("%d vCPU, %s", i.VCPU, i.Memory.Exact()))
	facts, err := p.instanceFacts(i)
	if err != nil {
		return nil, err
	}

	p.section("figures", "Figures", document.Part{Terms: facts})
	var costs []document.Term
	for _, x := range i.Prices {
		value := fmt.Sprintf("%v USD an hour, %.2f a month of %d hours", float64(x.Hourly),
			float64(x.Hourly)*catalog.Hours, catalog.Hours)
		costs = append(costs, p.fact(catalog.Fact{Name: x.Region, Value: value, Source: x.Source}))
	}

	none := ""
	if len(i.Prices) == 0 {
		none = "Unknown price: plimsoll catalog import reads price lists."
	}

	p.prices("Prices, on demand with Linux", costs, none)
	if i.HasEBS {
		p.section("example", "Example: all volumes together, sustained", document.Part{Table: firstLimits(i)})
	}

	return p.done(), nil
}

func (p *product) instanceFacts(machine *catalog.InstanceType) ([]document.Term, error) {
	var out []document.Term
	add := func(name, value, note string, s catalog.Source) {
		out = append(out, p.fact(catalog.Fact{Name: name, Value: value, Source: s, Note: note}))
	}
	lane := func(volumes, note string, base, most volume.Rate) {
		add(volumes+", sustained", rateText(base), note, machine.Source)
		switch {
		case most != base:
			add(volumes+", 30 minutes", rateText(most), burstNote(machine), machine.Source)
		case machine.Of() == "aws":
			add(volumes+" burst", "none", "", machine.Source)
		}
	}

	volumes := networkVolumes(machine)
	switch {
	case machine.HasEBS:
		lane(volumes, "all volumes together", machine.Baseline, machine.Maximum)
	case len(machine.Lanes) == 0:
		add(volumes+" limits", "unknown", "", machine.Source)
	}

	for _, l := range machine.Lanes {
		name := strings.Join(strings.Fields(l.Volumes), " and ")
		if l.Volumes == "cached" {
			name = "managed disks (cached by the host)"
		}
		lane(name, "all of them together", l.Baseline, l.Maximum)
	}

	if machine.Cards > 1 {
		add("EBS cards", fmt.Sprint(machine.Cards),
			"each provides an equal share of this to the volumes attached to it: card in a scenario", machine.Source)
	}

	if w, err := machine.Weighted(weighted); err == nil && machine.Weighting {
		add("with bandwidth weighting "+weighted, rateText(w.Baseline),
			"free, but at the expense of network bandwidth: host.bandwidth_weighting in a scenario", machine.Source)
	}

	if machine.Attachments > 0 {
		add("volumes", fmt.Sprintf("%d at most", machine.Attachments),
			"on some types network interfaces also count", machine.Source)
	}

	d := machine.Disk
	if d.Count > 0 {
		add("local disks", fmt.Sprintf("%d x %s", d.Count, d.Size.Exact()),
			"lost when the instance stops", machine.Source)
	}

	if d.Count > 0 && d.Measured() {
		o := catalog.Order{Type: catalog.LocalType}
		gives, err := o.Gives(machine)
		if err != nil {
			return nil, err
		}
		limits, err := o.Limits(machine)
		if err != nil {
			return nil, err
		}
		add("each measured", strings.Join(gives, "; "), "", limits.Source)
	}

	return out, nil
}

// weighted is the bandwidth weighting that favours volumes.
const weighted = "ebs-1"

// burstNote says when a machine has more than its sustained performance.
func burstNote(i *catalog.InstanceType) string {
	if i.Of() == "azure" {
		return "from a full bucket of credits, which refills at lower use; a benchmark shorter than 30 minutes sees only this"
	}
	return "at least once in 24 hours; a benchmark shorter than 30 minutes sees only this"
}

// networkVolumes is the provider's name for the volumes that a machine's limits apply to.
func networkVolumes(i *catalog.InstanceType) string {
	switch i.Of() {
	case "azure":
		return "managed disks (uncached)"
	case "gcp":
		return "disks"
	}
	return "EBS"
}

func rateText(r volume.Rate) string {
	return fmt.Sprintf("%s IOPS, %s MB/s", catalog.IOPS(r.IOPS), megabytes(r.Throughput))
}

// firstLimits shows which limit is reached first at common block sizes.
func firstLimits(i *catalog.InstanceType) *document.Table {
	tab := document.NewTable("Which limit is reached first", "#each", "#a second", "#MB/s", "limited by")
	for _, kib := range []int64{4, 8, 16, 64, 256} {
		// The limit that allows fewer requests of this size is reached first.
		byRate := float64(i.Baseline.Throughput) / float64(kib*1024)
		iops, by := float64(i.Baseline.IOPS), "IOPS"
		if byRate < iops {
			iops, by = byRate, "throughput"
		}
		tab.Line(fmt.Sprintf("%d KiB", kib), catalog.IOPS(iops).String(),
			fmt.Sprintf("%.6g", float64(int64(iops)*kib*1024)/1e6), by)
	}
	return tab
}
