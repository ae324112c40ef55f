package plan_test

import (
	"os"
	"testing"

	"plimsoll/internal/advise/plan"
	engines "plimsoll/internal/engine"
)

func TestMain(m *testing.M) {
	plan.Speak(engines.All())
	os.Exit(m.Run())
}
