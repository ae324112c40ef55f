package act_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/judge/act"
	"plimsoll/internal/testkit"
)

// looks are the prefixes of commands that change nothing.
var looks = []string{
	"az postgres flexible-server list ", "az postgres flexible-server show ", "az postgres flexible-server parameter list ",
	"gcloud sql instances describe ", "gcloud sql flags list ", "while read ", "do echo ", "done",
	"az disk show ", "gcloud compute disks describe ", "tr ", "aws ec2 describe-", "aws rds describe-", "cat ", "cryptsetup status ", "df ", "docker inspect ", "docker ps", "docker stats --no-stream ", "du ", "echo", "etcdctl --endpoints=X alarm list", "etcdctl --endpoints=X endpoint ", "findmnt ", "free ",
	"grep ", "kubectl get ", "kubectl describe ", "kubectl rollout status ", "ls ", "lsblk ", "mongosh ", "mongo ", "nproc", "psql ", "sysctl vm.", "systemctl is-active ",
	"systemctl show ", "systemctl cat ", "uname ", "plimsoll record ", "plimsoll prove ", "tee ~/plimsoll-", "test ", "plimsoll emit --move-log ", "~/plimsoll-move-log-X/log.sh look", "~/plimsoll-move-log-X/log.sh check", "tar -PT - -cf $F.new ", "F=~/plimsoll-", "head ", "sort ",
}

var (
	quoted = regexp.MustCompile(`'[^']*'|\$\{[^}]*\}`)
	// wraps matches prefixes that run another command: as another user, in a container, or on a node
	// through a pod that Kubernetes creates for it.
	wraps = regexp.MustCompile(`^(sudo( -u \w+)?|docker exec( -\w+)* \S+|kubectl exec( -\w+)*( \S+)+? --|kubectl debug node/\S+ -it( --\w+=\S+)* -- chroot /host|sh -c|env( \w+=\S+)+|nsenter( \S+)+? --|ETCDCTL_API=3|[A-Z_]+=\$\(|\(|\{ ) ?`)
	cuts  = regexp.MustCompile(`;|\||&&|\$\(`)
	saves = regexp.MustCompile(`> ?\$F\.(new|out)$`)
	kept  = regexp.MustCompile(`(grep '\^ \*ALTER SYSTEM'|mv "\$F\.new" "\$F"|rm "\$F\.out")`)
	// baseName matches the last component of a path, in a file name.
	baseName = regexp.MustCompile(`\$\(basename [^()|;&>]*\)`)
	// query matches the query given to a provider's client, which may contain shell operators.
	query = regexp.MustCompile(`--query "[^"$]*"`)
	// reads matches a query in a database's shell, whose text may contain the statement that undoes something.
	reads = regexp.MustCompile(`"(WITH s AS \(SELECT [^()]* \([^()]*\)\) )?SELECT [^"]*"`)
	// sets matches words that change something in a database's own shell.
	sets = regexp.MustCompile(`(?i)\b(alter|set|update|insert|delete|drop|create|vacuum|checkpoint|setParameter|pg_reload_conf)\b`)
)

// changes returns the first part of a line that may change something, or "" if the line only reads.
func changes(line string) string {
	if !strings.Contains(line, "pg_reload_conf") {
		line = reads.ReplaceAllString(line, "X")
	}

	line = query.ReplaceAllString(line, "X")

	// In a container, psql finds its user by itself.
	line = strings.ReplaceAll(line, `sh -c 'exec psql -X -U "${POSTGRES_USER:-postgres}" -d postgres "$@"' psql`, "psql")

	// The saved state is filtered and renamed within the home folder.
	line = kept.ReplaceAllString(line, "cat X")
	for _, statement := range quoted.FindAllString(line, -1) {
		if sets.MatchString(statement) && strings.HasPrefix(statement, "'") {
			return statement
		}
	}

	bare := baseName.ReplaceAllString(quoted.ReplaceAllString(strings.ReplaceAll(line, `"`, ""), "X"), "X")
	if sets.MatchString(bare) && regexp.MustCompile(`psql|mongo`).MatchString(bare) {
		return bare
	}

	for _, part := range cuts.Split(bare, -1) {
		part = strings.TrimSpace(strings.Trim(strings.TrimSpace(part), ")"))
		for was := ""; was != part; {
			was, part = part, strings.TrimSpace(wraps.ReplaceAllString(part, ""))
		}

		if part == "" || part == "}" || regexp.MustCompile(`^[A-Z_]+=$`).MatchString(part) {
			continue
		}
		if regexp.MustCompile(`^[A-Z_]+=\$\{[A-Z_]+|^[A-Z_]+=X$`).MatchString(part) {
			continue // a variable from a variable
		}

		// Saving the state for undo is not a change.
		only := saves.ReplaceAllString(strings.ReplaceAll(strings.ReplaceAll(part, "2>/dev/null", ""), "2>&1", ""), "")
		if strings.TrimSpace(only) == "}" {
			continue
		}
		if strings.Contains(only, ">") || !slices.ContainsFunc(looks, func(l string) bool { return strings.HasPrefix(part+" ", l) }) {
			return part
		}
	}

	return ""
}

// Look and Check change nothing, in any place. Every change has its check, and its undo or the reason
// why there is none.
func TestLookingChangesNothing(t *testing.T) {
	seen := 0
	for _, e := range testkit.Pack().Engines() {
		for _, m := range remediesOf(e.Database) {
			for _, w := range act.Describe(testkit.Pack(), e.Database, m, nil).Ways {
				for _, l := range slices.Concat(w.Look, w.Check) {
					if seen++; changes(l) != "" {
						t.Errorf("%s in %s: %q may change something: %s", m.Name, w.Place, changes(l), l)
					}
				}
				if len(w.Do) > 0 && (len(w.Check) == 0 || len(w.Undo) == 0 && w.NoUndo == "") {
					t.Errorf("%s in %s: no check, or no undo", m.Name, w.Place)
				}
			}
		}
	}

	if seen < 50 {
		t.Errorf("%d lines that look: the pack has lost some", seen)
	}

	for _, l := range []string{"sudo sysctl -w vm.dirty_bytes=1", "echo 1 > /sys/x", "cat x | sudo tee /etc/y", "aws ec2 modify-volume --iops 5", "docker exec db mongosh --eval 'db.adminCommand({setParameter: 1})'",
		`sudo -u postgres psql -X -c 'ALTER SYSTEM RESET ALL'`, "kubectl delete pod x", "df -h; reboot"} {
		if changes(l) == "" {
			t.Errorf("%q passes as harmless", l)
		}
	}
}
