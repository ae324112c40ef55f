package act_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every printed operation, parameter and member of a response is in AWS' own description of its API.
func TestSchemaAWS(t *testing.T) {
	models := map[string]*service{"ec2": serviceModel(t, "ec2/2016-11-15"), "rds": serviceModel(t, "rds/2014-10-31")}
	seen := map[string]bool{}
	for _, c := range callsOf("aws") {
		if len(c.words) < 2 || models[c.words[0]] == nil {
			t.Errorf("%s: %q is not a call that this test knows", c.where, c.words)
			continue
		}
		seen[c.words[0]+" "+c.words[1]] = true
		if err := models[c.words[0]].check(c.words[1:]); err != nil {
			t.Errorf("%s: aws %s: %v", c.where, strings.Join(c.words, " "), err)
		}
	}

	if len(seen) < 8 {
		t.Errorf("only %v are printed", slices.Sorted(maps.Keys(seen)))
	}

	// The check finds each kind of mistake.
	for _, bad := range []string{
		`ec2 modify-volumes --volume-id v`, `ec2 modify-volume --volume-id v --throughputs 5`, `ec2 modify-volume --iops 6000`,
		`ec2 modify-volume --volume-id v --iops many`, `ec2 modify-volume --volume-id v --volume-type gp9`,
		`rds modify-db-instance --db-instance-identifier d --apply-immediately yes`,
		`rds modify-db-parameter-group --db-parameter-group-name g --parameters ParameterName=a,Value=b`,
		`rds modify-db-parameter-group --db-parameter-group-name g --parameters ParameterName=a,ApplyMethod=now`,
		`ec2 describe-volumes --volume-ids v --query Volumes[0].[Size,Ios]`,
		`rds describe-db-instances --query DBInstances[0].DBParameterGroups[0].Name`,
		`rds describe-db-parameters --db-parameter-group-name g --query Parameters[?Changeable].[ParameterName]`,
	} {
		words := strings.Fields(bad)
		if models[words[0]].check(words[1:]) == nil {
			t.Errorf("not caught: aws %s", bad)
		}
	}
}

// Every printed command and option is in gcloud's own list.
func TestSchemaGoogle(t *testing.T) {
	path, err := exec.LookPath("gcloud")
	if err != nil {
		t.Skip("gcloud is not installed")
	}

	if path, err = filepath.EvalSymlinks(path); err != nil {
		t.Fatal(err)
	}

	tree := filepath.Join(filepath.Dir(path), "../data/cli/gcloud_completions.py")
	if _, err := os.Stat(tree); err != nil {
		t.Skip("gcloud has no list of its commands here")
	}

	// The options of each printed command, and the program's own.
	const options = `import json, runpy, sys
tree = runpy.run_path(sys.argv[1])["STATIC_COMPLETION_CLI_TREE"]
out = {}
for command in sys.argv[2:]:
    at, flags = tree, dict(tree["flags"])
    for word in command.split():
        at = at["commands"][word]
        flags.update(at["flags"])
    out[command] = flags
print(json.dumps(out))`
	commands := []string{"compute disks update", "compute disks describe", "sql instances describe", "sql instances patch", "sql flags list"}
	text, err := exec.CommandContext(t.Context(), "python3", slices.Concat([]string{"-c", options, tree}, commands)...).Output()
	if err != nil {
		t.Skipf("cannot read gcloud's list of commands: %v", err)
	}

	var flags map[string]map[string]any
	if err := json.Unmarshal(text, &flags); err != nil {
		t.Fatal(err)
	}

	check(t, "gcloud", 8, func(words []string) error {
		of := flags[strings.Join(words[:min(3, len(words))], " ")]
		if of == nil {
			return fmt.Errorf("an unknown command")
		}
		for _, w := range words[3:] {
			if strings.HasPrefix(w, "--") && of[w] == nil {
				return fmt.Errorf("no option %s", w)
			}
		}
		return nil
	})
}

// azure lists the options that the printed commands accept, from the Azure CLI reference
// (learn.microsoft.com/cli/azure/disk and /postgres/flexible-server; azure-cli 2.91.0,
// postgresql/_params.py) and, for --set, its generic update arguments. properties are those of
// Microsoft.Compute/disks, API version 2024-03-02, and of Microsoft.DBforPostgreSQL/flexibleServers and
// their configurations, 2025-08-01.
var azure = struct {
	options    map[string][]string
	properties []string
}{
	map[string][]string{
		"disk show":                     {"--ids", "--query", "--output"},
		"disk update":                   {"--ids", "--disk-iops-read-write", "--disk-mbps-read-write", "--set"},
		"postgres flexible-server list": {"--query", "--output"},
		"postgres flexible-server show": {"--resource-group", "--name", "--query", "--output"},
		"postgres flexible-server update": {
			"--resource-group", "--name", "--iops", "--throughput", "--performance-tier"},
		"postgres flexible-server parameter list": {"--resource-group", "--server-name", "--query", "--output"},
		"postgres flexible-server parameter set":  {"--resource-group", "--server-name", "--name", "--value"},
	},
	[]string{"id", "managedBy", "diskState", "fullyQualifiedDomainName", "sku.name", "diskIOPSReadWrite", "diskMBpsReadWrite", "tier",
		"name", "value", "source", "isReadOnly", "isConfigPendingRestart", "resourceGroup", "version", "state", "location",
		"storage.storageSizeGb", "storage.iops", "storage.throughput", "storage.tier", "storage.type"},
}

// column matches a property that is selected from a response, outside quotes.
var column = regexp.MustCompile(`[A-Za-z][A-Za-z.]*`)

// Every printed command, option and property is in the Azure CLI's reference.
func TestSchemaAzure(t *testing.T) {
	literal := regexp.MustCompile(`'[^']*'|\$\{?[A-Z_]+[^}\]]*`)
	check(t, "az", 8, func(words []string) error {
		named := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "--") })
		options := azure.options[strings.Join(words[:max(named, 0)], " ")]
		if options == nil {
			return fmt.Errorf("an unknown command")
		}
		for i := named; i < len(words); i++ {
			if strings.HasPrefix(words[i], "--") && !slices.Contains(options, words[i]) {
				return fmt.Errorf("no option %s", words[i])
			}
			var properties []string
			switch words[i-1] {
			case "--query":
				properties = column.FindAllString(literal.ReplaceAllString(words[i], ""), -1)
			case "--set":
				name, _, _ := strings.Cut(words[i], "=")
				properties = []string{name}
			}
			for _, p := range properties {
				if !slices.Contains(azure.properties, p) {
					return fmt.Errorf("no property %s", p)
				}
			}
		}
		return nil
	})
}

// Every printed option is in docker's or kubectl's own list for the command.
func TestSchemaContainers(t *testing.T) {
	for program, least := range map[string]int{"docker": 5, "kubectl": 5} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Logf("%s is not installed", program)
			continue
		}

		help := map[string]string{}
		check(t, program, least, func(words []string) error {
			command := words[0]
			if help[command] == "" {
				text, err := exec.CommandContext(t.Context(), path, command, "--help").CombinedOutput()
				if err != nil {
					return fmt.Errorf("an unknown command: %s", text)
				}
				help[command] = string(text)
			}
			for _, w := range words[1:] {
				if w == "--" || command == "exec" && !strings.HasPrefix(w, "-") && program == "docker" {
					break // what follows runs in the container
				}
				option, _, _ := strings.Cut(w, "=")
				if strings.HasPrefix(w, "--") && !regexp.MustCompile(option+"[ =,]").MatchString(help[command]) {
					return fmt.Errorf("no option %s", option)
				}
			}
			return nil
		})
	}
}

// check applies a check to each call of a program.
func check(t *testing.T, program string, least int, of func(words []string) error) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range callsOf(program) {
		seen[strings.Join(c.words, " ")] = true
		if err := of(c.words); err != nil {
			t.Errorf("%s: %s %s: %v", c.where, program, strings.Join(c.words, " "), err)
		}
	}
	if len(seen) < least {
		t.Errorf("only %d calls of %s are printed", len(seen), program)
	}
}
