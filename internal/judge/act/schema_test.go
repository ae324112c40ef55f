package act_test

import (
	"compress/gzip"
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

	"plimsoll/internal/judge/act"
	"plimsoll/internal/testkit"
)

// An argv is a call of a provider's command line: its words without quotes.
type argv struct {
	where string
	words []string
}

// callsOf returns the calls of a program in all printed lines, in each place.
func callsOf(program string) (out []argv) {
	for _, e := range testkit.Pack().Engines() {
		for _, m := range remediesOf(e.Database) {
			for _, w := range act.Describe(testkit.Pack(), e.Database, m, nil).Ways {
				for _, line := range slices.Concat(w.Look, w.Do, w.Keep, w.Check, w.Undo) {
					for _, words := range callsIn(line, program) {
						out = append(out, argv{m.Name + " in " + w.Place, words})
					}
				}
			}
		}
	}
	return out
}

// asked matches a variable with the prompt for its value.
var asked = regexp.MustCompile(`\$\{([A-Z_]+):\?[^}]*\}`)

// callsIn returns the calls of a program in a line. A word ends at a space outside quotes, and a call
// ends where its command does.
func callsIn(line, program string) (out [][]string) {
	line = asked.ReplaceAllString(line, "$$$1")
	for _, at := range regexp.MustCompile(`(^|[ (]) *`+program+` `).FindAllStringIndex(line, -1) {
		begin := at[1]
		var words []string
		word, quote, depth := "", byte(0), 0
		end := func() {
			if word != "" {
				words = append(words, word)
			}
			word = ""
		}

	call:
		for i := begin; i < len(line); i++ {
			c := line[i]
			switch {
			case quote == 0 && depth == 0 && strings.IndexByte(";|&)<>", c) >= 0:
				break call
			case quote == 0 && depth == 0 && c == ' ':
				end()
			case quote == 0 && (c == '\'' || c == '"'):
				quote = c
			case c == quote && depth == 0:
				quote = 0
			default:
				if c == '{' && i > 0 && line[i-1] == '$' || c == '(' && i > 0 && line[i-1] == '$' {
					depth++
				}
				if depth > 0 && (c == '}' || c == ')') {
					depth--
				}
				word += string(c)
			}
		}
		end()
		out = append(out, words)
	}
	return out
}

// A service is the part of a botocore model that the checks use.
type service struct {
	Operations map[string]struct{ Input, Output struct{ Shape string } }
	Shapes     map[string]shape
}

type shape struct {
	Type     string
	Members  map[string]struct{ Shape string }
	Required []string
	Member   struct{ Shape string }
	Enum     []string
}

// serviceModel reads the API description that AWS' own clients use.
func serviceModel(t *testing.T, name string) *service {
	t.Helper()
	files, err := filepath.Glob("../../../bin/moto/lib/python*/site-packages/botocore/data/" + name + "/service-2.json.gz")
	if err != nil || len(files) == 0 {
		t.Skip("no API description of AWS: make moto")
	}

	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}

	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}

	var s service
	if err := json.NewDecoder(z).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// flat strips the notation from the name of an option or a member: db-instance-identifier and
// DBInstanceIdentifier give the same.
func flat(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "")) }

// check returns what the API would reject in a call: an unknown operation or parameter, a missing
// required one, a list entry with unknown keys, or a query for a member that the response does not
// have.
func (s *service) check(words []string) error {
	op := ""
	for name := range s.Operations {
		if flat(name) == flat(words[0]) {
			op = name
		}
	}

	if op == "" {
		return fmt.Errorf("there is no operation %s", words[0])
	}

	input, given := s.Shapes[s.Operations[op].Input.Shape], map[string]bool{}
	for i := 1; i < len(words); i++ {
		option, ok := strings.CutPrefix(words[i], "--")
		if !ok {
			return fmt.Errorf("%q is not an option", words[i])
		}

		value := ""
		for i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
			i++
			value += words[i] + "\n"
		}

		switch option {
		case "output":
			continue
		case "query":
			if err := s.query(s.Operations[op].Output.Shape, strings.TrimSpace(value)); err != nil {
				return err
			}
			continue
		}

		member := ""
		for name := range input.Members {
			if flat(name) == flat(option) {
				member = name
			}
		}

		if member == "" {
			return fmt.Errorf("%s has no parameter --%s", op, option)
		}

		given[member] = true
		if err := s.value(input.Members[member].Shape, strings.Fields(value)); err != nil {
			return fmt.Errorf("--%s: %w", option, err)
		}
	}

	for _, name := range input.Required {
		if !given[name] {
			return fmt.Errorf("%s needs %s", op, name)
		}
	}
	return nil
}

var figure = regexp.MustCompile(`^([0-9]+|\$.*)$`)

// value checks the values of one option.
func (s *service) value(name string, values []string) error {
	is := s.Shapes[name]
	switch is.Type {
	case "boolean":
		if len(values) > 0 {
			return fmt.Errorf("takes no value, got %q", values)
		}
		return nil
	case "integer", "long":
		if len(values) == 0 || !figure.MatchString(values[0]) {
			return fmt.Errorf("want a figure, got %q", values)
		}
		return nil
	}

	if len(values) == 0 {
		return fmt.Errorf("has no value")
	}

	entry := s.Shapes[is.Member.Shape]
	if is.Type != "list" || entry.Type != "structure" {
		if len(is.Enum) > 0 && !strings.HasPrefix(values[0], "$") && !slices.Contains(is.Enum, values[0]) {
			return fmt.Errorf("%q is none of %q", values[0], is.Enum)
		}
		return nil
	}

	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			key, text, _ := strings.Cut(part, "=")
			field, ok := entry.Members[key]
			if !ok {
				return fmt.Errorf("%s has no key %q", is.Member.Shape, key)
			}
			if enum := s.Shapes[field.Shape].Enum; len(enum) > 0 && !slices.Contains(enum, text) {
				return fmt.Errorf("%s=%s: want one of %q", key, text, enum)
			}
		}
	}
	return nil
}

var (
	index    = regexp.MustCompile(`^([A-Za-z]+)\[([^\]]*)\]\.?(.*)$`)
	names    = regexp.MustCompile(`[A-Za-z]+`)
	paths    = regexp.MustCompile(`[A-Za-z]+(\[0\]\.[A-Za-z]+)*`)
	literals = regexp.MustCompile(`'[^']*'`)
)

// query checks that a response has the members of a query such as Volumes[0].[Size,Iops].
func (s *service) query(output, query string) error {
	found := index.FindStringSubmatch(query)
	if found == nil {
		return fmt.Errorf("cannot read the query %s", query)
	}

	entry, err := s.entry(output, found[1])
	if err != nil {
		return err
	}

	conditions := names.FindAllString(literals.ReplaceAllString(found[2], ""), -1)
	for _, path := range append(conditions, paths.FindAllString(found[3], -1)...) {
		at := entry
		for {
			first, rest, nested := strings.Cut(path, "[0].")
			if !nested {
				break
			}
			if at, err = s.entry(at, first); err != nil {
				return err
			}
			path = rest
		}
		if _, ok := s.Shapes[at].Members[path]; !ok {
			return fmt.Errorf("%s has no member %s", at, path)
		}
	}
	return nil
}

// entry returns the shape of the entries of a list.
func (s *service) entry(of, list string) (string, error) {
	member, ok := s.Shapes[of].Members[list]
	if !ok {
		return "", fmt.Errorf("%s has no member %s", of, list)
	}
	return s.Shapes[member.Shape].Member.Shape, nil
}

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
