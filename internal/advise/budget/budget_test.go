package budget_test

import (
	"testing"

	"plimsoll/internal/advise/budget"
	"plimsoll/internal/engine"
	"plimsoll/internal/model/scenario"
)

const deployment = `plimsoll: 1
name: t
run: {duration: 6s, warmup: 1s}
host: {instance: m6i.large}
volumes:
  data: {type: gp3, size: 500GiB, iops: 16000, throughput: 500MiB/s}
  journal: {type: gp2, size: 100GiB}
engine:
  mongodb: {cache: 256MB, checkpoint: 2s, log_bytes: 300B, oplog: false}
workload:
  arrivals: {poisson: 700/s}
  mix: {update: 100%}
  keys: {count: 20000}
  document: {size: 4KiB}
`

// The minimum of volume, machine and burst applies, with its source.
func TestLeastOfVolumeMachineAndBurst(t *testing.T) {
	file := scenario.NewLanguage(engine.All().Models(), nil).NewFile("t.yaml", []byte(deployment))
	sc, err := file.Parse([]string(nil))
	if err != nil {
		t.Fatal(err)
	}

	all := budget.Of(sc, 1)
	if len(all) != 2 {
		t.Fatalf("%d budgets", len(all))
	}

	data, journal := all[0], all[1]

	// m6i.large: 3,600 IOPS and 81.25 MB/s sustained, 40,000 and 1,250 MB/s for half an hour.
	if data.IOPS != 3600 || data.IOPSBy != "machine" || data.BytesPerSec != 81.25e6 || data.BytesBy != "machine" || data.BurstIOPS != 16000 {
		t.Errorf("data: %+v", data)
	}

	// gp2 of 100 GiB: 300 IOPS, 3,000 with credits.
	if journal.IOPS != 300 || journal.IOPSBy != "burst" || journal.BurstIOPS != 3000 {
		t.Errorf("journal: %+v", journal)
	}

	if background, most := data.Dirty(); background != 8_125_000 || most != 81_250_000 {
		t.Errorf("dirty bytes: %v, %v", background, most)
	}
}
