//go:build linux

package rollout

import (
	"strings"
	"testing"
)

// A unit is accepted if it runs the server of the data folder. Otherwise the error names the unit that does.
func TestUnitThatRunsTheMember(t *testing.T) {
	const debian = "0::/system.slice/system-postgresql.slice/postgresql@15-main.service\n"
	backup, server := process{4, "pg_basebackup"}, process{7, "postgres"}
	for name, tt := range map[string]struct {
		unit, cgroup, want string
	}{
		"its own":             {"postgresql@15-main", debian, ""},
		"with its suffix":     {"postgresql@15-main.service", debian, ""},
		"cgroup v1":           {"mongod", "12:pids:/system.slice/x.service\n1:name=systemd:/system.slice/mongod.service\n", ""},
		"a container's scope": {"mongod", "0::/system.slice/docker-0123456789ab.scope\n", ""},
		"podman in its unit":  {"mongod", "0::/system.slice/mongod.service/libpod-payload-01.scope/container\n", ""},
		"another cluster":     {"postgresql@14-main", debian, "m1: postgres (process 7) belongs to postgresql@15-main.service: stopping postgresql@14-main.service would not stop it"},
		"the umbrella unit":   {"postgresql", debian, "belongs to postgresql@15-main.service"},
		"by hand":             {"mongod", "0::/user.slice/user-0.slice/session-3.scope\n", "m1: systemd did not start postgres (process 7): stopping mongod.service would not stop it"},
		"by a user's manager": {"mongod", "0::/user.slice/user-1000.slice/user@1000.service\n", "systemd did not start postgres"},
		"in no unit":          {"mongod", "0::/\n", "systemd did not start postgres"},
		"not a cgroup file":   {"mongod", "\x00:\n::\n", "systemd did not start postgres"},
		"process has ended":   {"mongod", "", "systemd did not start postgres"},
	} {
		t.Run(name, func(t *testing.T) {
			m := &member{Member: &Member{Name: "m1", Unit: tt.unit}}
			cgroups := map[int]string{server.pid: tt.cgroup}
			err := m.runs([]process{server}, func(pid int) string { return cgroups[pid] })
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v; want %q", err, tt.want)
			}
			// Another program may have a file open, too.
			cgroups[backup.pid] = "0::/user.slice/user-0.slice/session-3.scope\n"
			if err := m.runs([]process{backup, server}, func(pid int) string { return cgroups[pid] }); tt.want == "" && err != nil {
				t.Errorf("with a backup: %v", err)
			}
		})
	}

	if err := (&member{Member: &Member{Name: "m1", Unit: "mongod"}}).runs(nil, nil); err != nil {
		t.Errorf("nothing runs: %v", err) // another check reports that
	}
}
