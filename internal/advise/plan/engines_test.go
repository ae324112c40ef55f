package plan_test

import (
	"errors"
	"os"
	"testing"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/engine"
	"plimsoll/internal/engine/streams/model"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
)

func TestMain(m *testing.M) {
	plan.Speak(engine.All().Models(), engine.All().Plans())
	os.Exit(m.Run())
}

// An engine that plans do not support is refused, and not treated as another one.
func TestEngineWithoutProfile(t *testing.T) {
	const text = `
plimsoll: 1
volumes: {wal: {type: gp3, size: 100GiB}}
engine: {streams: {}}
workload: {arrivals: {poisson: 10/s}, mix: {update: 100%}, keys: {count: 100}, document: {size: 4KiB}}
objective: {write_p99: 1s}
`

	now, err := scenario.NewLanguage([]*scenario.Engine{&model.Spec}, nil).Parse("streams.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}

	var lack *database.LackError
	if _, err := plan.Make(t.Context(), now, "streams.yaml", plan.Options{}); !errors.As(err, &lack) || lack.Key != "streams" {
		t.Errorf("%v", err)
	}
}
