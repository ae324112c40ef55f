//go:build linux

package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/lab"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
)

func newServer(able []database.With[*lab.Engine], sc *scenario.Scenario) (lab.Server, error) {
	e, err := database.Find(able, sc.Engine.Name(), "run in the lab")
	var lack *database.LackError
	if errors.As(err, &lack) {
		slices.Sort(lack.Have)
		return nil, fmt.Errorf("the lab cannot run %s, only %s: use plimsoll simulate instead",
			lack.Key, strings.Join(lack.Have, ", "))
	}
	if err != nil {
		return nil, err
	}
	return e.Part.New(sc)
}
