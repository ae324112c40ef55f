package act_test

import (
	"strings"
	"testing"

	etcd "plimsoll/internal/engine/etcd/judge"
	mongodb "plimsoll/internal/engine/mongodb/judge"
	"plimsoll/internal/judge/rules"
)

// Each engine's client names its server: from the sources, or through a variable that stops the command
// until it is set. A default address may belong to another server on the host.
func TestCommandsNameTheServer(t *testing.T) {
	for _, c := range []struct {
		engine string
		facts  map[string]string
		asked  string
		want   string
	}{
		{"mongodb", nil, "1", `mongosh --port "${PORT:?`},
		{"mongodb", map[string]string{"server.port": "27117"}, "1", `mongosh --port 27117 --quiet --eval`},
		{"mongodb", map[string]string{"server.port": "27117; reboot"}, "1", `mongosh --port "${PORT:?`},
		{"etcd", nil, "alarm list", `etcdctl --endpoints="${ENDPOINT:?`},
		{"etcd", nil, `--endpoints="$LEADER" move-leader 5`, `etcdctl --endpoints="$LEADER" move-leader 5`},
	} {
		k := map[string]rules.Knowledge{"mongodb": mongodb.Knowledge(), "etcd": etcd.Knowledge()}[c.engine]
		got := k.Client(rules.ClientAt{Place: rules.Host, Version: "7.0", Facts: c.facts}, []string{c.asked})
		if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s with %v: %q, want %q", c.engine, c.facts, got, c.want)
		}
	}
}
