package catalog

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// A Lane is a limit that a machine applies to some of its volumes together, instead of the limit
// for the others.
type Lane struct {
	Volumes           string // types, separated by spaces, or "cached": those with host caching
	Baseline, Maximum volume.Rate
}

// cached is the lane of volumes with host caching.
const cached = "cached"

// Share is a machine's limit for a volume and for all others with the same name here.
type Share struct {
	Name              string // of the limit: "", "cached", "card 1"
	Baseline, Maximum volume.Rate
}

// ShareOf returns the limit that an order's volume shares with others of the machine; false if
// there is none, or none is known. Azure's host caching replaces the uncached limits by the cached
// ones, which may be lower: the model serves no read from the cache, so it is the worst case.
func (i *InstanceType) ShareOf(o *Order) (Share, bool) {
	t, err := Type(o.Type)
	if err != nil || t.Local {
		return Share{}, false
	}

	for _, l := range i.Lanes {
		if o.Caching.on() == (l.Volumes == cached) && (l.Volumes == cached ||
			slices.Contains(strings.Fields(l.Volumes), t.Name)) {
			return Share{l.Volumes, l.Baseline, l.Maximum}, true
		}
	}

	switch {
	case !i.HasEBS:
		return Share{}, false
	case i.Cards > 1:
		return Share{"card " + strconv.Itoa(o.Card), part(i.Baseline, i.Cards), part(i.Maximum, i.Cards)}, true
	}

	return Share{"", i.Baseline, i.Maximum}, true
}

// Config returns the limit that the volumes of a share have together on a machine.
func (s Share) Config(machine string) volume.InstanceConfig {
	cfg := volume.InstanceConfig{Name: machine, Baseline: s.Baseline}
	if s.Name != "" {
		cfg.Name += ", " + s.Name
	}
	// Without a burst the maximum stays zero, which package volume reads as the baseline.
	if s.Maximum != s.Baseline {
		cfg.Maximum = s.Maximum
	}
	return cfg
}

// MostIOPS is the machine's highest sustained limit over all kinds of volumes; 0 if it is not
// known.
func (i *InstanceType) MostIOPS() units.Frequency {
	most := i.Baseline.IOPS
	for _, l := range i.Lanes {
		most = max(most, l.Baseline.IOPS)
	}
	return most
}

// Of returns the provider: aws, gcp or azure.
func (i *InstanceType) Of() string {
	if i.Provider == "" {
		return "aws"
	}
	return i.Provider
}

// ebsWeighting is the weighting that favours EBS. It raises the baseline bandwidth by a quarter and
// leaves the IOPS and the burst unchanged; the network loses the same amount (Amazon EC2 user guide,
// "EC2 instance bandwidth weighting configuration", 2026).
const ebsWeighting = "ebs-1"

// Weighted returns the machine with a bandwidth weighting: "", "default" or "ebs-1". The error says
// why it cannot have that.
func (i *InstanceType) Weighted(weighting string) (*InstanceType, error) {
	switch weighting {
	case "", "default":
		return i, nil
	case ebsWeighting:
	default:
		return nil, fmt.Errorf("%q is not a bandwidth weighting: want default or %s", weighting, ebsWeighting)
	}

	if !i.Weighting {
		return nil, fmt.Errorf("%s has no bandwidth weighting; most types of the families m8, c8, r8 and x8 do",
			i.Name)
	}

	// Copied, because the catalogue's entry is shared.
	w := *i
	w.Baseline.Throughput += w.Baseline.Throughput / 4

	// The raised baseline may exceed the burst, which stays unchanged.
	w.Maximum.Throughput = max(w.Maximum.Throughput, w.Baseline.Throughput)

	return &w, nil
}

// Azure's and Google's machines, a line for each of their limits, and their prices. The numbers are
// copied by hand or by a program from the sources below; sizes missing there are unknown.
var (
	//go:embed machines.csv
	machineTable []byte
	//go:embed azure_prices.csv
	azurePriceTable []byte
	//go:embed google_prices.csv
	googlePriceTable []byte

	azureSizes   = Source{"Microsoft Azure documentation, sizes of virtual machines (MicrosoftDocs/azure-compute-docs)", "2026-03"}
	azureHourly  = Source{"Azure's retail prices of virtual machines with Linux, as karpenter-provider-azure has them", "2026-06-18"}
	googleHourly = Source{"Google's Cloud Billing catalog, machines on demand without sustained use discounts, as gcosts has it", "2026-07-30"}
	googleLimits = Source{"Google Cloud documentation, Persistent Disk limits by machine type, as gcpdiag has them; Hyperdisk Balanced HA: Compute Engine release notes of 2025-09-04; cores and memory of E2, N1, N4 and C4: gcosts, 2026-08", "2024-08-21"}
)

// machines parses both tables, once. A test reads them, so an error means a broken build.
var machines = sync.OnceValue(func() []InstanceType {
	rows, err := decodeMachines(machineTable, azurePriceTable, googlePriceTable)
	if err != nil {
		panic("catalog: embedded machines: " + err.Error())
	}
	return rows
})

func decodeMachines(table, prices, google []byte) ([]InstanceType, error) {
	rows, err := lines(table, 9)
	if err != nil {
		return nil, err
	}

	var out []InstanceType
	for _, fields := range rows {
		var numbers [9]int64
		for k := range numbers {
			if k == 0 || k == 4 || fields[k] == "" {
				continue
			}
			if numbers[k], err = strconv.ParseInt(fields[k], 10, 64); err != nil {
				return nil, fmt.Errorf("%s: %w", fields[0], err)
			}
		}

		name := strings.ToLower(fields[0])

		// A machine has one line per limit, and its lines follow each other.
		if len(out) == 0 || out[len(out)-1].Name != name {
			m := InstanceType{Name: name, Provider: "gcp", VCPU: int(numbers[1]), Memory: units.Size(numbers[2]) * units.MiB,
				Attachments: int(numbers[3]), Source: googleLimits}
			if strings.HasPrefix(name, "standard_") {
				m.Provider, m.Source = "azure", azureSizes
			}
			out = append(out, m)
		}

		m := &out[len(out)-1]
		base := volume.Rate{IOPS: units.Frequency(numbers[5]), Throughput: units.Throughput(numbers[6]) * 1000}
		most := base

		if numbers[7] != 0 {
			most = volume.Rate{IOPS: units.Frequency(numbers[7]), Throughput: units.Throughput(numbers[8]) * 1000}
		}

		switch {
		case fields[4] == "" && numbers[5] == 0: // not known
			continue
		case fields[4] == "":
			m.HasEBS, m.Baseline, m.Maximum = true, base, most
			continue
		}

		m.Lanes = append(m.Lanes, Lane{fields[4], base, most})
	}

	slices.SortFunc(out, func(a, b InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return out, errors.Join(addHourly(out, prices, azureHourly), addHourly(out, google, googleHourly))
}

// addHourly adds the prices of a table to machines, which are sorted by name. The header names the
// regions. A row holds a machine and its hourly price in each region, "" if it is not offered
// there.
func addHourly(machines []InstanceType, table []byte, from Source) error {
	rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil || len(rows) == 0 {
		return fmt.Errorf("no table of prices: %w", err)
	}

	for _, f := range rows[1:] {
		i, ok := slices.BinarySearchFunc(machines, strings.ToLower(f[0]),
			func(t InstanceType, name string) int { return strings.Compare(t.Name, name) })
		if !ok {
			return fmt.Errorf("price of %s: no such machine", f[0])
		}

		for k, text := range f[1:] {
			if text == "" {
				continue
			}
			usd, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("price of %s: %w", f[0], err)
			}
			machines[i].Prices = append(machines[i].Prices, InstancePrice{rows[0][k+1], units.USD(usd), from})
		}
	}

	return nil
}

// lines returns a table's rows without the header, each padded to a width.
func lines(table []byte, width int) ([][]string, error) {
	r := csv.NewReader(bytes.NewReader(table))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("no table: %w", err)
	}
	for i := range rows {
		for len(rows[i]) < width {
			rows[i] = append(rows[i], "")
		}
	}
	return rows[1:], nil
}

// Caching is a disk's host caching on Azure: the host caches reads, or also writes.
type Caching string

// The kinds of caching.
const (
	NoCaching   Caching = "none"
	CachedReads Caching = "read-only"
	CachedBoth  Caching = "read-write"
)

// uncachedFrom is the smallest disk that a host does not cache.
const uncachedFrom = 4 * units.TiB

var azureCaching = Source{"Azure documentation, \"High performance design\", section \"Disk caching\"", "2026"}

func (c Caching) on() bool { return c == CachedReads || c == CachedBoth }
