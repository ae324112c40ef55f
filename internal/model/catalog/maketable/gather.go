package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/model/catalog"
)

func gather(data fs.FS) ([]catalog.InstanceType, error) {
	text, err := fs.ReadFile(data, "aws_instance_types.json")
	if err != nil {
		return nil, err
	}

	var described map[string]json.RawMessage
	if err := json.Unmarshal(text, &described); err != nil {
		return nil, fmt.Errorf("aws_instance_types.json: %w", err)
	}

	price, err := prices(data)
	if err != nil {
		return nil, err
	}

	measured, err := disks(data)
	if err != nil {
		return nil, err
	}

	names := make([]string, 0, len(described))
	for name := range described {
		names = append(names, name)
	}

	slices.Sort(names)
	rows := make([]catalog.InstanceType, len(names))
	for i, name := range names {
		if rows[i], err = catalog.DescribedInstance(name, described[name]); err != nil {
			return nil, fmt.Errorf("aws_instance_types.json: %w", err)
		}
		measure(&rows[i].Disk, name, measured)
		if p, ok := price[name]; ok {
			rows[i].Prices = []catalog.InstancePrice{p}
		}
	}

	return rows, nil
}

// measure sets the measurements of an instance's local disks, if its type has any.
func measure(d *catalog.LocalDisk, name string, measured map[string]catalog.LocalDisk) {
	family, _, _ := strings.Cut(name, ".")
	m, ok := measured[name]
	if !ok {
		m, ok = measured[family+".ALL"]
	}

	if !ok || d.Count == 0 {
		return
	}

	each := 1
	if ofAll[family] {
		each = d.Count
	}

	set(&d.Read.IOPS, float64(m.Read.IOPS)/float64(each))
	set(&d.Read.Throughput, float64(m.Read.Throughput)/float64(each))
	set(&d.Write.IOPS, float64(m.Write.IOPS)/float64(each))
	set(&d.Write.Throughput, float64(m.Write.Throughput)/float64(each))
}

// set rounds a figure into a quantity.
func set[T ~int64 | ~float64](quantity *T, x float64) { *quantity = T(math.Round(x)) }

// ofAll are the families whose measurements are of all disks striped, not of one: their bandwidth
// grows with the number of disks, 26 GB/s on i8g.24xlarge with 6 and 4.3 on i8g.4xlarge with 1,
// whereas i4i.32xlarge with 8 has the same figure as i4i.4xlarge with 1.
var ofAll = map[string]bool{"i7i": true, "i7ie": true, "i8g": true, "i8ge": true}

// prices reads the list of on-demand prices; there must be exactly one.
func prices(data fs.FS) (map[string]catalog.InstancePrice, error) {
	files, err := fs.Glob(data, "aws_ondemand_us-east-1_*.csv")
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("aws_ondemand_us-east-1_*.csv: %d files match, want one", len(files))
	}

	text, err := fs.ReadFile(data, files[0])
	if err != nil {
		return nil, err
	}

	list, err := catalog.ReadImport(files[0], text, "")
	if err != nil {
		return nil, err
	}

	out := make(map[string]catalog.InstancePrice, len(list.InstancePrices))
	for _, p := range list.InstancePrices {
		out[p.Instance] = p.Price
	}

	return out, nil
}

// disks reads the measurements: a type's name, then four lines of a key and a number.
func disks(data fs.FS) (map[string]catalog.LocalDisk, error) {
	const name = "scylla_aws_io_params.yaml"
	f, err := data.Open(name)
	if err != nil {
		return nil, err
	}

	defer f.Close()
	out := map[string]catalog.LocalDisk{}
	instance := ""

	lines := bufio.NewScanner(f)
	for line := 1; lines.Scan(); line++ {
		key, value, found := strings.Cut(strings.TrimSpace(lines.Text()), ":")
		value = strings.TrimSpace(value)
		switch {
		case key == "":
			continue
		case found && value == "":
			instance = key
			continue
		}

		x, err := strconv.ParseFloat(value, 64)
		d := out[instance]
		switch key {
		case "read_iops":
			set(&d.Read.IOPS, x)
		case "write_iops":
			set(&d.Write.IOPS, x)
		case "read_bandwidth":
			set(&d.Read.Throughput, x)
		case "write_bandwidth":
			set(&d.Write.Throughput, x)
		default:
			err = errors.New("unknown key")
		}

		if err != nil || instance == "" {
			return nil, fmt.Errorf("%s:%d: %q: %w", name, line, lines.Text(), err)
		}

		out[instance] = d
	}

	return out, lines.Err()
}
