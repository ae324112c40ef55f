package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// The embedded table matches the data that it is generated from.
func TestTableIsMadeOfItsData(t *testing.T) {
	const data = "../../../../../shared/data"
	if _, err := os.Stat(data); err != nil {
		t.Skip("no public data here to make the table of:", err)
	}

	want, err := os.ReadFile("../instances.csv")
	if err != nil {
		t.Fatal(err)
	}

	var got bytes.Buffer
	if err := run([]string{"-data", data}, &got); err != nil {
		t.Fatal(err)
	}

	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the table is not what go run ./internal/model/catalog/maketable makes: %d bytes, want %d", len(want), got.Len())
	}
}

const described = `{"x.large": {"VCpuInfo": {"DefaultVCpus": 2}, "MemoryInfo": {"SizeInMiB": 1024}, "InstanceStorageInfo": {"Disks": [{"Count": 2, "SizeInGB": 100}]}}}`

func TestGather(t *testing.T) {
	files := map[string]string{
		"aws_instance_types.json":      described,
		"aws_ondemand_us-east-1_x.csv": "region,instance_type,usd_per_hour\nus-east-1,x.large,0.5\n",
		"scylla_aws_io_params.yaml":    "x.ALL:\n  read_iops: 10\n  write_iops: 5\n",
	}

	tree := func(change, to string) fstest.MapFS {
		out := fstest.MapFS{}
		for name, text := range files {
			if name == change {
				text = to
			}
			out[name] = &fstest.MapFile{Data: []byte(text)}
		}
		return out
	}

	rows, err := gather(tree("", ""))
	if err != nil || len(rows) != 1 || rows[0].Disk.Read.IOPS != 10 || rows[0].Prices[0].Hourly != .5 {
		t.Fatalf("%+v, %v", rows, err)
	}

	for _, c := range []struct{ file, text, says string }{
		{"aws_instance_types.json", "{", "aws_instance_types.json"},
		{"aws_instance_types.json", `{"x": {}}`, "memory"},
		{"aws_ondemand_us-east-1_x.csv", "instance_type,usd_per_hour\nx.large,free\n", "line 2"},
		{"scylla_aws_io_params.yaml", "  read_iops: 1\n", "scylla_aws_io_params.yaml:1"},
		{"scylla_aws_io_params.yaml", "x.ALL:\n  iops: 1\n", "scylla_aws_io_params.yaml:2"},
	} {
		if _, err := gather(tree(c.file, c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q: %v, want %q", c.file, c.text, err, c.says)
		}
	}

	if run(nil, nil) == nil {
		t.Error("no -data is not an error")
	}
}
