package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
)

func newCatalogCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "catalog",
	}
	cmd.AddCommand(newCatalogListCommand(a), newCatalogShowCommand(a), newCatalogImportCommand(a))
	return cmd
}

// catalogPath is where imports are kept: $PLIMSOLL_CATALOG, or a file in the user's configuration
// folder. It is "" if there is neither.
func (a *app) catalogPath() string {
	if path := a.getenv("PLIMSOLL_CATALOG"); path != "" {
		return path
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "plimsoll", "catalog.json")
}

// useCatalog makes every lookup see what the user has imported. Each verb that looks something up
// calls it first.
func (a *app) useCatalog() error {
	path := a.catalogPath()
	if path == "" {
		return nil
	}
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return nil
	}
	store, err := catalog.OpenStore(path)
	if err != nil {
		return fmt.Errorf("imported catalogue: %w", err)
	}
	catalog.Use(store.Catalog())
	return nil
}

// A catalogFilter restricts a list.
type catalogFilter struct {
	provider choice
	minIOPS  int64
	like     string
}

func newCatalogListCommand(a *app) *cobra.Command {
	var output choice
	var filter catalogFilter
	cmd := &cobra.Command{
		Use:  "list [volumes|instances]",
		Args: needArgs(0, 1, ""),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"volumes", "instances"}, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			what := "volumes"
			if len(args) == 1 {
				what = args[0]
			}
			if what != "volumes" && what != "instances" {
				return usagef("plimsoll catalog list volumes, or instances", "catalog list: no list of %q", what)
			}
			if filter.minIOPS < 0 {
				return usagef("", "catalog list: --min-iops %d: want 0 or more", filter.minIOPS)
			}
			if err := a.useCatalog(); err != nil {
				return err
			}
			if what == "volumes" {
				return listVolumes(a, &filter, output.value == "json")
			}
			return listInstances(a, &filter, output.value == "json")
		},
	}
	addOutput(cmd, &output)
	addChoice(cmd, &filter.provider, "provider", "", "only this provider", "aws", "gcp", "azure")
	cmd.Flags().Int64Var(&filter.minIOPS, "min-iops", 0, "only what can have this many IOPS; for instances, without a burst")
	cmd.Flags().StringVar(&filter.like, "like", "", "only names that contain this")
	complete(cmd, "min-iops")
	complete(cmd, "like")
	return cmd
}

// A volumeRow is a volume type as `catalog -o json` reports it. What is not known is left out.
type volumeRow struct {
	Name        string         `json:"name"`
	Provider    string         `json:"provider"`
	Title       string         `json:"title"`
	IOPSMax     int64          `json:"iops_max,omitempty"`
	Throughput  int64          `json:"throughput_max_bytes_per_second,omitempty"`
	SizeMin     int64          `json:"size_min_bytes,omitempty"`
	SizeMax     int64          `json:"size_max_bytes,omitempty"`
	ChoosesIOPS bool           `json:"chooses_iops"`
	ChoosesRate bool           `json:"chooses_throughput"`
	Prices      []priceRow     `json:"prices"`
	Facts       []catalog.Fact `json:"figures"`
	Example     string         `json:"example"`
}

// A priceRow is what a volume type costs in a region, in USD a month.
type priceRow struct {
	Region     string    `json:"region"`
	PerGiB     float64   `json:"usd_per_gib,omitempty"`
	IOPS       []tierRow `json:"iops,omitempty"`       // each beyond this many
	Throughput []tierRow `json:"throughput,omitempty"` // per MiB/s beyond this many bytes a second
	catalog.Source
}

type tierRow struct {
	Over int64   `json:"over"`
	USD  float64 `json:"usd"`
}

// An hourRow is what an instance costs in a region.
type hourRow struct {
	Region string  `json:"region"`
	USD    float64 `json:"usd_per_hour"`
	catalog.Source
}

func describeVolume(t *catalog.VolumeType) volumeRow {
	prices := []priceRow{}
	for _, p := range catalog.Current().Prices(t) {
		row := priceRow{Region: p.Region, PerGiB: float64(p.PerGiB), Source: p.Source}
		for _, tier := range p.IOPS {
			row.IOPS = append(row.IOPS, tierRow{int64(tier.Over), float64(tier.Each)})
		}
		for _, tier := range p.Throughput {
			row.Throughput = append(row.Throughput, tierRow{int64(tier.Over), float64(tier.EachMiBps)})
		}
		prices = append(prices, row)
	}
	return volumeRow{
		Name: t.Name, Provider: t.Provider, Title: t.Title,
		IOPSMax: int64(t.IOPSMax.Value), Throughput: int64(t.ThroughputMax.Value),
		SizeMin: int64(t.SizeMin.Value), SizeMax: int64(t.SizeMax.Value),
		ChoosesIOPS: t.ChoosesIOPS, ChoosesRate: t.ChoosesThroughput, Prices: prices, Facts: t.Facts(), Example: t.Example().String(),
	}
}

func listVolumes(a *app, f *catalogFilter, asJSON bool) error {
	rows := []volumeRow{}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TYPE\tOF\tSIZE\tIOPS\tTHROUGHPUT\tUSD A MONTH, "+strings.ToUpper(catalog.Region)+"\tWHAT")
	for _, t := range catalog.VolumeTypes() {
		limited := t.IOPSMax.Known() && int64(t.IOPSMax.Value) < f.minIOPS
		if limited || !strings.Contains(t.Name, strings.ToLower(f.like)) || (f.provider.value != "" && f.provider.value != t.Provider) {
			continue
		}
		rows = append(rows, describeVolume(t))
		iops, throughput := t.Range()
		size := ""
		if t.SizeMin.Known() {
			size = t.SizeMin.Value.Exact() + " - " + t.SizeMax.Value.Exact()
		}
		price := "price not known"
		for _, p := range catalog.Current().Prices(t) {
			if p.Region == catalog.Region {
				price = p.Short()
			}
		}
		switch {
		case t.Local:
			price = "included in the instance's"
		case t.Name == "custom":
			price = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.Name, t.Provider, orDash(size), orDash(iops), orDash(throughput), price, t.Title)
	}
	if asJSON {
		return writeJSON(a, rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.stderr, "plimsoll: no volume type matches")
		return nil
	}
	return w.Flush()
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// An instanceRow is an instance type as `catalog -o json` reports it. What is not known is null.
type instanceRow struct {
	Name           string    `json:"name"`
	VCPU           int       `json:"vcpu"`
	Memory         int64     `json:"memory_bytes"`
	BaselineIOPS   *int64    `json:"baseline_iops"`
	BaselineBytes  *int64    `json:"baseline_bytes_per_second"`
	MaximumIOPS    *int64    `json:"maximum_iops"`
	MaximumBytes   *int64    `json:"maximum_bytes_per_second"`
	Attachments    int       `json:"attachments"`
	Disks          int       `json:"local_disks"`
	DiskSize       int64     `json:"local_disk_bytes"`
	DiskReadIOPS   *int64    `json:"local_disk_read_iops"`
	DiskWriteIOPS  *int64    `json:"local_disk_write_iops"`
	DiskReadBytes  *int64    `json:"local_disk_read_bytes_per_second"`
	DiskWriteBytes *int64    `json:"local_disk_write_bytes_per_second"`
	Prices         []hourRow `json:"prices"`
	catalog.Source
}

func describeInstance(i *catalog.InstanceType) instanceRow {
	known := func(ok bool, n int64) *int64 {
		if !ok {
			return nil
		}
		return &n
	}
	d, prices := &i.Disk, []hourRow{}
	for _, p := range i.Prices {
		prices = append(prices, hourRow{p.Region, float64(p.Hourly), p.Source})
	}
	return instanceRow{
		Name: i.Name, VCPU: i.VCPU, Memory: int64(i.Memory),
		BaselineIOPS: known(i.HasEBS, int64(i.Baseline.IOPS)), BaselineBytes: known(i.HasEBS, int64(i.Baseline.Throughput)),
		MaximumIOPS: known(i.HasEBS, int64(i.Maximum.IOPS)), MaximumBytes: known(i.HasEBS, int64(i.Maximum.Throughput)),
		Attachments: i.Attachments, Disks: d.Count, DiskSize: int64(d.Size),
		DiskReadIOPS: known(d.Measured(), int64(d.Read.IOPS)), DiskWriteIOPS: known(d.Measured(), int64(d.Write.IOPS)),
		DiskReadBytes: known(d.Measured(), int64(d.Read.Throughput)), DiskWriteBytes: known(d.Measured(), int64(d.Write.Throughput)),
		Prices: prices, Source: i.Source,
	}
}

func listInstances(a *app, f *catalogFilter, asJSON bool) error {
	rows := []instanceRow{}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "INSTANCE\tVCPU\tMEMORY\tIOPS\tMB/S\t30 MIN IOPS\t30 MIN MB/S\tLOCAL DISKS\tUSD/H")
	all := catalog.Current().Instances()
	for i := range all {
		t := &all[i]
		if !strings.Contains(t.Name, strings.ToLower(f.like)) || int64(t.Baseline.IOPS) < f.minIOPS || (f.provider.value != "" && f.provider.value != "aws") {
			continue
		}
		rows = append(rows, describeInstance(t))
		fmt.Fprintln(w, strings.Join(instanceCells(t), "\t"))
	}
	if asJSON {
		return writeJSON(a, rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.stderr, "plimsoll: no instance type matches; only EC2's are known")
		return nil
	}
	return w.Flush()
}

func instanceCells(t *catalog.InstanceType) []string {
	cells := []string{t.Name, fmt.Sprint(t.VCPU), t.Memory.Exact(), "-", "-", "-", "-", "-", "-"}
	if t.HasEBS {
		cells[3], cells[4] = catalog.IOPS(t.Baseline.IOPS).String(), megabytes(t.Baseline.Throughput)
		if t.Bursts() {
			cells[5], cells[6] = catalog.IOPS(t.Maximum.IOPS).String(), megabytes(t.Maximum.Throughput)
		}
	}
	if t.Disk.Count > 0 {
		cells[7] = fmt.Sprintf("%d x %s", t.Disk.Count, t.Disk.Size.Exact())
	}
	if p, ok := t.Hourly(""); ok {
		cells[8] = fmt.Sprintf("%.4g", float64(p.Hourly))
	}
	return cells
}

// megabytes is a throughput in decimal megabytes, as EC2 states it.
func megabytes(t units.Throughput) string { return fmt.Sprintf("%.6g", float64(t)/float64(units.MBps)) }
