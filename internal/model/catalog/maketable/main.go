// Command maketable makes the table of EC2 instances that package catalog embeds, from public data
// in a folder: the answers of DescribeInstanceTypes, on-demand prices, and measured local disks.
//
//	go run ./internal/model/catalog/maketable -data ../shared/data -to catalog/instances.csv
//
// Its rows are sorted by name, so that a diff shows what new data changes.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"plimsoll/internal/model/catalog"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "maketable:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("maketable", flag.ContinueOnError)
	data := flags.String("data",
		"", "folder with aws_instance_types.json, aws_ondemand_us-east-1_*.csv, scylla_aws_io_params.yaml")
	to := flags.String("to", "", "file to write (default: standard output)")

	if err := flags.Parse(args); err != nil {
		return err
	}
	if *data == "" {
		return fmt.Errorf("-data is missing: the folder with the public data")
	}

	rows, err := gather(os.DirFS(*data))
	if err != nil {
		return err
	}

	table := catalog.EncodeTable(rows)
	if *to == "" {
		_, err = stdout.Write(table)
		return err
	}

	return os.WriteFile(*to, table, 0o644)
}
