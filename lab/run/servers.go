package run

import (
	"fmt"

	"plimsoll/lab"
	"plimsoll/scenario"
)

// servers make the engines that the laboratory has, by their names in scenarios.
var servers = map[string]func(*scenario.Engine) (lab.Server, error){}

// newServer makes the engine of a scenario.
func newServer(sc *scenario.Scenario) (lab.Server, error) {
	make, ok := servers[sc.Engine.Name()]
	if !ok {
		return nil, fmt.Errorf("the laboratory has no %s: plimsoll simulate predicts what it would do", sc.Engine.Name())
	}
	return make(&sc.Engine)
}
