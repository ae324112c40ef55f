package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"plimsoll/internal/base/jsonerror"
	"plimsoll/internal/base/safefile"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// A Store holds a user's imports, as kept in one JSON file.
type Store struct {
	Version        int              `json:"version"`
	Instances      []storedInstance `json:"instances,omitempty"`
	InstancePrices []NamedPrice     `json:"instance_prices,omitempty"`
	VolumePrices   []NamedPrices    `json:"volume_prices,omitempty"`
}

// storeVersion changes when an older program would misread the file.
const storeVersion = 1

// storedInstance is an InstanceType as in the file.
type storedInstance struct {
	Name         string     `json:"name"`
	VCPU         int        `json:"vcpu"`
	Memory       units.Size `json:"memory"`
	BaselineIOPS IOPS       `json:"baseline_iops,omitempty"`
	MaximumIOPS  IOPS       `json:"maximum_iops,omitempty"`
	// Of all volumes together; missing if not known.
	Baseline    units.Throughput `json:"baseline_throughput,omitempty"`
	Maximum     units.Throughput `json:"maximum_throughput,omitempty"`
	Attachments int              `json:"attachments,omitempty"`
	Cards       int              `json:"cards,omitempty"`
	Weighting   bool             `json:"bandwidth_weighting,omitempty"`
	Disks       int              `json:"disks,omitempty"`
	DiskSize    units.Size       `json:"disk_size,omitempty"`
	HDD         bool             `json:"hdd,omitempty"`
	Source
}

func stored(i *InstanceType) storedInstance {
	return storedInstance{
		Name: i.Name, VCPU: i.VCPU, Memory: i.Memory,
		BaselineIOPS: IOPS(i.Baseline.IOPS), MaximumIOPS: IOPS(i.Maximum.IOPS),
		Baseline: i.Baseline.Throughput, Maximum: i.Maximum.Throughput,
		Attachments: i.Attachments, Cards: i.Cards, Weighting: i.Weighting, Disks: i.Disk.Count,
		DiskSize: i.Disk.Size, HDD: i.Disk.HDD, Source: i.Source,
	}
}

func (s *storedInstance) instance() InstanceType {
	return InstanceType{
		Name: s.Name, VCPU: s.VCPU, Memory: s.Memory, HasEBS: s.BaselineIOPS != 0,
		Baseline:    volume.Rate{IOPS: s.BaselineIOPS.Frequency(), Throughput: s.Baseline},
		Maximum:     volume.Rate{IOPS: s.MaximumIOPS.Frequency(), Throughput: s.Maximum},
		Attachments: s.Attachments, Cards: s.Cards, Weighting: s.Weighting,
		Disk: LocalDisk{Count: s.Disks, Size: s.DiskSize, HDD: s.HDD}, Source: s.Source,
	}
}

// OpenStore reads a store. A missing file is an empty store.
func OpenStore(path string) (*Store, error) {
	f, err := safefile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Store{Version: storeVersion}, nil
	}

	if err != nil {
		return nil, err
	}

	defer f.Close()

	// One byte over the limit, so that decodeStore can detect a file that is too large.
	text, err := io.ReadAll(io.LimitReader(f, ImportBytesMax+1))
	if err != nil {
		return nil, err
	}

	s, err := decodeStore(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; delete it and import again", path, err)
	}

	return s, nil
}

func decodeStore(text []byte) (*Store, error) {
	if len(text) > ImportBytesMax {
		return nil, tooLarge()
	}

	var store Store
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&store); err != nil {
		return nil, fmt.Errorf("not a catalogue of this program: %w", jsonerror.Explain(text, err))
	}

	switch {
	case store.Version != storeVersion:
		return nil, fmt.Errorf("version %d, want %d", store.Version, storeVersion)
	case len(store.Instances) > importedMax || len(store.InstancePrices) > importedMax ||
		len(store.VolumePrices) > regionsMax*len(types):
		return nil, fmt.Errorf("more than %s entries", units.Count(importedMax))
	}

	for i := range store.Instances {
		// Users may edit the file, so its figures are checked like an import's.
		in := store.Instances[i].instance()
		if err := in.check(); err != nil {
			return nil, fmt.Errorf("instances[%d]: %w", i, err)
		}
	}

	for i := range store.InstancePrices {
		p := &store.InstancePrices[i]
		if err := errors.Join(checkName(p.Instance), p.Price.check()); err != nil {
			return nil, fmt.Errorf("instance_prices[%d]: %w", i, err)
		}
	}

	for i := range store.VolumePrices {
		if err := store.VolumePrices[i].check(); err != nil {
			return nil, fmt.Errorf("volume_prices[%d]: %w", i, err)
		}
	}

	return &store, nil
}

func (v *NamedPrices) check() error {
	if !slices.Contains(TypeNames(), v.Type) {
		return fmt.Errorf("no volume type is called %q", v.Type)
	}

	amounts := []units.USD{v.Prices.PerGiB}
	for i, t := range v.Prices.IOPS {
		amounts = append(amounts, t.Each)
		if t.Over < 0 || (i > 0 && t.Over <= v.Prices.IOPS[i-1].Over) {
			return errors.New("tiers are not in ascending order")
		}
	}

	for _, t := range v.Prices.Throughput {
		amounts = append(amounts, t.EachMiBps)
		if t.Over < 0 {
			return errors.New("a negative throughput")
		}
	}

	for i, z := range v.Prices.Sizes {
		amounts = append(amounts, z.Each)
		if z.Most <= 0 || i > 0 && z.Most <= v.Prices.Sizes[i-1].Most {
			return errors.New("sizes are not in ascending order")
		}
	}

	for _, a := range amounts {
		if !(a >= 0 && a <= hourlyMax) {
			return fmt.Errorf("a price of %v USD", float64(a))
		}
	}

	return checkName(v.Prices.Region)
}

// Write replaces the file at a path with the store; on an error the file is unchanged.
func (s *Store) Write(path string) error {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return safefile.Write(path, append(text, '\n'), safefile.Options{})
}

// A Change is the effect of an import on one entry.
type Change struct {
	Of    string `json:"of"`   // "m6i.xlarge", "gp3 in eu-west-1", "price of m6i.xlarge in us-east-1"
	Kind  string `json:"kind"` // added, changed, same
	Was   string `json:"was,omitempty"`
	IsNow string `json:"is_now,omitempty"`
}

// Add adds an import and returns what it changes relative to the embedded catalogue and the store.
func (s *Store) Add(in *Import) ([]Change, error) {
	// Taken first: the merges below change the store that it is made from.
	before := s.Catalog()
	instances := make([]storedInstance, len(in.Instances))
	for i := range in.Instances {
		instances[i] = stored(&in.Instances[i])
	}

	s.Instances = merge(s.Instances, instances, func(e *storedInstance) string { return e.Name })
	s.InstancePrices = merge(s.InstancePrices, in.InstancePrices,
		func(p *NamedPrice) string { return p.Instance + " " + p.Price.Region })

	prices := make([]NamedPrices, len(in.VolumePrices))
	for i := range in.VolumePrices {
		prices[i] = before.completed(&in.VolumePrices[i])
	}

	s.VolumePrices = merge(s.VolumePrices, prices,
		func(p *NamedPrices) string { return p.Type + " " + p.Prices.Region })
	if len(s.Instances) > importedMax || len(s.InstancePrices) > importedMax ||
		len(s.VolumePrices) > regionsMax*len(types) {
		return nil, fmt.Errorf("together with earlier imports, more than %s entries", units.Count(importedMax))
	}

	return changes(before, s.Catalog(), in), nil
}
