package judge

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// The scripts draw the checkpointer's wait event in each second: . CheckpointerMain, w any other, s
// DataFileSync, ? no sample. The digits below are the seconds that PostgreSQL credits when a checkpoint
// ends. The output marks the cells in which a checkpoint ran.
func TestPostgresCheckpoints(t *testing.T) {
	events := map[byte]string{'.': "CheckpointerMain", 'w': "DataFileWrite", 's': "DataFileSync"}
	datadriven.RunTest(t, "testdata/checkpoints/postgres", func(t *testing.T, d *datadriven.TestData) string {
		waits, credits, _ := strings.Cut(d.Input, "\n")
		n := max(len(waits), len(credits))
		tracks := map[*rules.Signal][]timeline.Track{}
		track := func(signal *rules.Signal, of labels.Labels, value func(k int) float64) {
			x := timeline.Track{Labels: of, Values: make([]float64, n)}
			for k := range x.Values {
				x.Values[k] = value(k)
			}
			tracks[signal] = append(tracks[signal], x)
		}

		for _, sign := range []byte(".ws") {
			if d.Cmd == "exporter" { // exporters do not report the checkpointer
				break
			}
			track(Checkpointer, labels.FromStrings("wait_event", events[sign]), func(k int) float64 {
				switch waits[k] {
				case sign:
					return 1
				case '?':
					return math.NaN()
				}
				return 0
			})
		}

		track(CheckpointWrite, labels.EmptyLabels(), func(int) float64 { return 0 })
		track(CheckpointSync, labels.EmptyLabels(), func(k int) float64 {
			x, err := strconv.Atoi(credits[k : k+1])
			if err != nil {
				return 0
			}
			return float64(x)
		})

		c := rules.NewCase(nil, timeline.Grid{StepMs: 1000, N: n}, func(s *rules.Signal) []timeline.Track { return tracks[s] })
		ran, ok := cycle(&c.Signals)
		if !ok {
			return "not known\n"
		}

		var b strings.Builder
		for _, on := range ran.Cells {
			b.WriteByte(map[bool]byte{true: '#', false: '-'}[on])
		}

		return b.String() + "\n"
	})
}
