package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/model/catalog"
)

func newCatalogShowCommand(a *app) *cobra.Command {
	var output choice
	cmd := &cobra.Command{
		Use:  "show NAME",
		Args: needArgs(1, 1, "plimsoll catalog list shows them"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 || a.useCatalog() != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, n := range append(catalog.TypeNames(), catalog.Current().InstanceNames()...) {
				if strings.HasPrefix(n, typed) {
					names = append(names, n)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.useCatalog(); err != nil {
				return err
			}
			if t, err := catalog.Type(args[0]); err == nil {
				if output.value == "json" {
					return writeJSON(a, describeVolume(t))
				}
				return showVolume(a, t)
			}
			i, err := catalog.Instance(args[0])
			if err != nil {
				return unknownProduct(args[0], err)
			}
			if output.value == "json" {
				return writeJSON(a, describeInstance(i))
			}
			return showInstance(a, i)
		},
	}
	addOutput(cmd, &output)
	return cmd
}

// unknownProduct suggests similar names. A name with a dot is taken for an instance.
func unknownProduct(name string, instance error) error {
	_, volume := catalog.Type(name)
	if strings.Contains(name, ".") {
		return usagef("plimsoll catalog list instances shows them", "%w", instance)
	}
	return usagef("plimsoll catalog list shows them", "%w", volume)
}

func showVolume(a *app, t *catalog.VolumeType) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (%s)\n\n", t.Name, t.Title, t.Provider)
	sources := &footnotes{}
	for _, f := range t.Facts() {
		writeFact(&b, f, sources)
	}
	b.WriteString("\nMonthly prices\n")
	prices := catalog.Current().Prices(t)
	for _, p := range prices {
		writeFact(&b, catalog.Fact{Name: p.Region, Value: p.String(), Source: p.Source, Note: p.Note}, sources)
	}
	switch {
	case t.Local:
		b.WriteString("  included in the price of the instance\n")
	case t.Name == "custom":
		b.WriteString("  custom limits have no price\n")
	case len(prices) == 0:
		b.WriteString("  price not known: plimsoll catalog import --help says how to get it\n")
	}
	region := ""
	if len(prices) > 0 {
		region = prices[0].Region
	}
	if err := writeExample(&b, t.Example(), region); err != nil {
		return err
	}
	sources.write(&b)
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}

// writeExample works out an order: its limits and its cost.
func writeExample(b *strings.Builder, o *catalog.Order, region string) error {
	fmt.Fprintf(b, "\nExample: %s\n", o)
	gives, err := o.Gives(nil)
	if err != nil {
		return err
	}
	for _, line := range gives {
		fmt.Fprintf(b, "  %s\n", line)
	}
	bill, err := o.Monthly(region)
	var none *catalog.NoPriceError
	if errors.As(err, &none) {
		fmt.Fprintf(b, "  cost: %v\n", none)
		return nil
	}
	if err != nil {
		return err
	}
	for _, l := range bill.Lines {
		fmt.Fprintf(b, "  %10.2f USD  %s\n", float64(l.Amount), l.Text)
	}
	if len(bill.Lines) > 1 {
		fmt.Fprintf(b, "  %10.2f USD  a month\n", float64(bill.Total))
	}
	return nil
}

func showInstance(a *app, i *catalog.InstanceType) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d vCPU, %s\n\n", i.Name, i.VCPU, i.Memory.Exact())
	sources := &footnotes{}
	add := func(name, value, note string, s catalog.Source) {
		writeFact(&b, catalog.Fact{Name: name, Value: value, Source: s, Note: note}, sources)
	}
	if i.HasEBS {
		baseline := fmt.Sprintf("%s IOPS, %s MB/s", catalog.IOPS(i.Baseline.IOPS), megabytes(i.Baseline.Throughput))
		add("EBS, sustained", baseline, "all volumes together", i.Source)
		if i.Bursts() {
			most := fmt.Sprintf("%s IOPS, %s MB/s", catalog.IOPS(i.Maximum.IOPS), megabytes(i.Maximum.Throughput))
			add("EBS, 30 minutes", most, "at least once in 24 hours; a benchmark shorter than 30 minutes sees only this", i.Source)
		} else {
			add("EBS burst", "none", "", i.Source)
		}
	} else {
		add("EBS limits", "not known", "", i.Source)
	}
	if i.Attachments > 0 {
		add("volumes", fmt.Sprintf("%d at most", i.Attachments), "on some types network interfaces count as well", i.Source)
	}
	if d := i.Disk; d.Count > 0 {
		add("local disks", fmt.Sprintf("%d x %s", d.Count, d.Size.Exact()), "lost when the instance stops", i.Source)
		if d.Measured() {
			o := catalog.Order{Type: catalog.LocalType}
			gives, err := o.Gives(i)
			if err != nil {
				return err
			}
			limits, err := o.Limits(i)
			if err != nil {
				return err
			}
			add("each measured", strings.Join(gives, "; "), "", limits.Source)
		}
	}
	b.WriteString("\nPrices, on demand with Linux\n")
	for _, p := range i.Prices {
		add(p.Region, fmt.Sprintf("%v USD an hour, %.2f a month of %d hours", float64(p.Hourly), float64(p.Hourly)*catalog.Hours, catalog.Hours), "", p.Source)
	}
	if len(i.Prices) == 0 {
		b.WriteString("  price not known: plimsoll catalog import reads price lists\n")
	}
	if i.HasEBS {
		writeInstanceExample(&b, i)
	}
	sources.write(&b)
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}

// writeInstanceExample shows which limit is reached first at usual block sizes.
func writeInstanceExample(b *strings.Builder, i *catalog.InstanceType) {
	b.WriteString("\nExample: all volumes together, sustained\n")
	for _, kib := range []int64{4, 8, 16, 64, 256} {
		byRate := float64(i.Baseline.Throughput) / float64(kib*1024)
		iops, by := float64(i.Baseline.IOPS), "IOPS"
		if byRate < iops {
			iops, by = byRate, "throughput"
		}
		fmt.Fprintf(b, "  %3d KiB each: %s a second, %s MB/s; limited by %s\n", kib, catalog.IOPS(iops),
			fmt.Sprintf("%.6g", float64(int64(iops)*kib*1024)/1e6), by)
	}
}

// footnotes collects sources, so that a page names each once.
type footnotes struct{ texts []string }

// mark returns a source's footnote mark.
func (f *footnotes) mark(s catalog.Source) string {
	if s.Text == "" {
		return ""
	}
	for i, t := range f.texts {
		if t == s.String() {
			return fmt.Sprintf("[%d]", i+1)
		}
	}
	f.texts = append(f.texts, s.String())
	return fmt.Sprintf("[%d]", len(f.texts))
}

func (f *footnotes) write(b *strings.Builder) {
	b.WriteString("\nSources\n")
	for i, t := range f.texts {
		writeWrapped(b, fmt.Sprintf("  [%d] ", i+1), t)
	}
}

func writeFact(b *strings.Builder, f catalog.Fact, sources *footnotes) {
	fmt.Fprintf(b, "  %-22s %s  %s\n", f.Name, f.Value, sources.mark(f.Source))
	if f.Note != "" {
		writeWrapped(b, fmt.Sprintf("  %-22s ", ""), "("+f.Note+")")
	}
}

// showColumns is the width of sentences: it fits every terminal.
const showColumns = 80

// writeWrapped writes a sentence after the prefix of its first line.
func writeWrapped(b *strings.Builder, first, text string) {
	indent := len(first)
	for _, line := range wrapped(text, showColumns-indent) {
		b.WriteString(first + line + "\n")
		first = strings.Repeat(" ", indent)
	}
}
