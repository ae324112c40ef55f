package act

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/judge/rules"
)

// How the steps of a way were tested. Tests of this package repeat it each time.
const (
	onRealThing = "run on the real thing: look, do, check, undo"
	withStandIn = "run with a stand-in for the program, which rejects what the program's source or API rejects"
	inContainer = "run on the real server, with a stand-in for the call into the container: look, do, check, undo"
	ownClient   = "run with the provider's own client and with a stand-in for its API"
	localOnly   = "run with the real kubectl on a local pod manifest, without a cluster"
	onHostOnly  = "the statements ran on a host (%s); the call into the container did not"
	notThere    = "the statements ran on a host (%s), not on this service"
	schemaOnly  = "not run: commands, options and values checked with %s"
	readOnly    = "from documentation: a shell has parsed every command, but none has run"
)

// A trial is a test that runs the steps of remedies in a place; cloud "" means any.
type trial struct {
	test, how string
	place     rules.Place
	cloud     rules.Cloud
	remedies  []string
}

// parameters are the fixes that set parameters of a provider's service.
var parameters = []string{
	"pace-checkpoint", "more-wal", "seldom-checkpoint", "background-writer", "idle-in-transaction",
	"wal-compression", "commit-delay", "log-temp-files", "slower-autovacuum", "bound-slots"}

// orders are the fixes that order more of a volume.
var orders = []string{"raise-iops", "raise-throughput", "raise-both"}

// trials lists all trials. A test compares the list with this package's tests.
var trials = []trial{
	{"TestDirtyBytesRestored", onRealThing, rules.Host, "", []string{"dirty-bytes"}},
	{"TestWritebackThrottlingRestored", onRealThing, rules.Host, "", []string{"writeback-throttling"}},
	{"TestServerSettingsRestored", onRealThing, rules.Host, "", []string{
		"pace-checkpoint", "more-wal", "background-writer", "idle-in-transaction", "wal-compression",
		"commit-delay", "log-temp-files",
		"slower-autovacuum", "bound-slots", "shared-buffers", "wal-buffers", "seldom-checkpoint",
		"end-blocker", "drop-slot"}},
	{"TestServerSettingsRestored", inContainer, rules.Docker, "", []string{
		"pace-checkpoint", "more-wal", "background-writer", "idle-in-transaction", "wal-compression",
		"commit-delay", "log-temp-files",
		"slower-autovacuum", "bound-slots", "shared-buffers", "wal-buffers", "seldom-checkpoint"}},
	{"TestServerSettingsRestored", inContainer, rules.Kubernetes, "", []string{
		"pace-checkpoint", "more-wal", "background-writer", "idle-in-transaction", "wal-compression",
		"commit-delay", "log-temp-files", "slower-autovacuum", "bound-slots", "seldom-checkpoint"}},
	{"TestParametersRestored", withStandIn, rules.RDS, "", parameters},
	{"TestParametersRestored", withStandIn, rules.Aurora, "", parameters},
	{"TestParametersRestored", withStandIn, rules.AzureDB, "", parameters},
	{"TestGcloudKeepsFlags", ownClient, rules.CloudSQL, "", []string{"more-wal"}},
	{"TestParametersRestored", withStandIn, rules.CloudSQL, "", parameters},
	{"TestClusterMaintained", onRealThing, rules.Host, "",
		[]string{"move-leader", "defragment", "disarm-no-space"}},
	{"TestNodeRestored", withStandIn, rules.Kubernetes, "", []string{"dirty-bytes", "writeback-throttling"}},
	{"TestCryptQueuesRestored", withStandIn, rules.Host, "", []string{"crypt-queues"}},
	{"TestDockerLimitsRestored", withStandIn, rules.Docker, "", []string{"cpu-limit", "memory-limit"}},
	{"TestUnitLimitsRestored", withStandIn, rules.Host, "", []string{"cpu-limit", "memory-limit"}},
	{"TestPodResizeRestored", localOnly, rules.Kubernetes, "", []string{"cpu-limit", "memory-limit"}},
	{"TestIOLimitRestored", withStandIn, rules.Host, "", []string{"io-limit"}},
	{"TestSyncSpeedRestored", withStandIn, rules.Host, "", []string{"sync-speed"}},
	// This test orders volumes in every cloud, and in one that no source identifies.
	{"TestVolumesRestored", withStandIn, rules.Host, "", orders},
	{"TestVolumesRestored", withStandIn, rules.Kubernetes, "", orders},
	{"TestVolumesRestored", withStandIn, rules.RDS, "", orders},
	{"TestVolumesRestored", withStandIn, rules.AzureDB, "", orders},
	{"TestVolumesRestored", withStandIn, rules.CloudSQL, "", orders},
	{"TestVolumesRestored", withStandIn, rules.Host, rules.AWS, []string{"gp3"}},
	{"TestVolumesRestored", withStandIn, rules.Kubernetes, rules.AWS, []string{"gp3"}},
	{"TestEvictionRestored", withStandIn, rules.Host, "",
		[]string{"eviction-earlier", "checkpoint-smaller", "eviction-fill", "cache-within"}},
	{"TestLogOfAMachine", withStandIn, rules.Host, "", []string{"journal-apart"}},
}

// tested returns how the steps of a remedy were tested in a place and, if they are specific to one,
// a cloud.
func tested(remedy string, place rules.Place, recipe *rules.Recipe) string {
	clouds := recipe.Clouds
	if recipe.Trial != "" {
		return onRealThing
	}

	// On a Docker host the lines are those of any host, if none runs in the container.
	if place == rules.Docker && slices.Contains(recipe.Places, rules.Host) &&
		!slices.ContainsFunc(slices.Concat(recipe.Look, recipe.Do, recipe.Undo), asksClient) {
		place = rules.Host
	}

	for _, x := range trials {
		if x.place == place && slices.Contains(x.remedies, remedy) &&
			(x.cloud == "" || slices.Contains(clouds, x.cloud)) {
			return x.how
		}
	}

	if !slices.ContainsFunc(recipe.Do, func(c rules.Command) bool { return !asksClient(c) }) {
		for _, x := range trials {
			// The statements for a database's client are the same everywhere.
			if !testsClient[x.test] || !slices.Contains(x.remedies, remedy) {
				continue
			}
			if place == rules.Docker || place == rules.Kubernetes {
				return fmt.Sprintf(onHostOnly, x.how)
			}
			return fmt.Sprintf(notThere, x.how)
		}
	}

	// Tests of this package compare every call of these programs with the provider's description.
	for _, c := range slices.Concat(recipe.Look, recipe.Do) {
		for _, p := range described {
			if strings.Contains(c.Text, p.program+" ") {
				return fmt.Sprintf(schemaOnly, p.by)
			}
		}
	}

	return readOnly
}

func asksClient(c rules.Command) bool { return c.By == rules.ByClient }

// described are the providers' programs, with the description of their options.
var described = []struct{ program, by string }{
	{"aws", "the API description of AWS' own clients (botocore)"},
	{"gcloud", "gcloud's own list of options"},
	{"az", "the Azure CLI's reference"},
}

// testsClient are the trials of statements for a database's client.
var testsClient = map[string]bool{
	"TestServerSettingsRestored": true, "TestEvictionRestored": true, "TestClusterMaintained": true}
