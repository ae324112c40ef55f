package act_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/engine/etcd/etcdtest"
	"plimsoll/internal/judge/rules"
)

// A members is what etcdctl reports about a cluster: endpoints by member, and the leader.
type members struct {
	endpoints map[uint64]string
	leader    uint64
	revision  uint64
}

func membersOf(t *testing.T, endpoint string) (m members) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "etcdctl", "--endpoints="+endpoint, "--command-timeout=60s", "endpoint", "status", "--cluster", "-w", "json").Output()
	if err != nil {
		t.Fatalf("status: %v", err)
	}

	var all []struct {
		Endpoint string
		Status   struct {
			Header struct {
				Member   uint64 `json:"member_id"`
				Revision uint64
			}
			Leader uint64
		}
	}
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}

	m.endpoints = map[uint64]string{}
	for _, x := range all {
		m.endpoints[x.Status.Header.Member] = x.Endpoint
		m.leader, m.revision = x.Status.Leader, max(m.revision, x.Status.Header.Revision)
	}
	return m
}

// other returns a member that is not the leader.
func (m members) other() uint64 {
	for id := range m.endpoints {
		if id != m.leader {
			return id
		}
	}
	return 0
}

// The steps for a cluster run on a real one: leadership moves and returns, a member is defragmented,
// and a cluster that ran out of space accepts writes again.
func TestClusterMaintained(t *testing.T) {
	if _, err := exec.LookPath("etcdctl"); err != nil {
		t.Skip("etcdctl is not installed")
	}

	at := etcdtest.Run(t, 3, false, "--quota-backend-bytes=8388608").Endpoints[0]
	steps := func(remedy string, env ...string) *bench {
		b := benchOf(t, wayOf(t, "etcd", remedy, rules.Host), map[string]string{})
		b.env = append(append(b.env, "ETCDCTL_API=3", "ENDPOINT="+at), env...)
		return b
	}

	// A busy machine may elect another leader at any time. Then the move is for the wrong one, and
	// fails.
	b := steps("move-leader")
	for moved := false; !moved; {
		was := membersOf(t, at)
		to := was.other()
		b.run(b.way.Look)
		b.env = append(b.env, "LEADER="+was.endpoints[was.leader], fmt.Sprintf("MEMBER=%x", to))
		if _, err := b.try(b.way.Do); err != nil || membersOf(t, at).leader != to {
			continue
		}
		b.run(b.way.Check)
		b.env = append(b.env, "NEW_LEADER="+was.endpoints[to], fmt.Sprintf("OLD_MEMBER=%x", was.leader))
		_, err := b.try(b.way.Undo)
		moved = err == nil && membersOf(t, at).leader == was.leader
	}

	b = steps("defragment", "MEMBER="+at)
	b.run(b.way.Look, b.way.Do, b.way.Check)

	// Overwrite one key until the cluster runs out of space.
	value := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(value, []byte(strings.Repeat("x", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	b = steps("disarm-no-space")
	put := []string{"etcdctl --endpoints=" + at + " --command-timeout=60s put k < " + value}
	for full := ""; !strings.Contains(full, "space exceeded"); {
		full, _ = b.try(put)
	}

	// The alarm is raised after the first refused write.
	for !strings.Contains(b.run(b.way.Look), "NOSPACE") {
		time.Sleep(10 * time.Millisecond)
	}

	b.env = append(b.env, "REVISION="+strconv.FormatUint(membersOf(t, at).revision, 10))
	b.run(b.way.Do)
	if out := b.run(b.way.Check); strings.Contains(out, "NOSPACE") {
		t.Errorf("the alarm is left: %s", out)
	}
	b.run(put)
}
