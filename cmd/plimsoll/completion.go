package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/engine"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// A completer offers the shell a flag's values, given the arguments before it.
type completer = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// oneFile completes a single argument: a file with one of these endings.
func oneFile(endings ...string) completer {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return endings, cobra.ShellCompDirectiveFilterFileExt
	}
}

// completeSources completes addresses; files are left to the shell.
func completeSources(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if typed == "" { // offering addresses would hide the files
		return nil, cobra.ShellCompDirectiveDefault
	}
	words := startingWith(typed, opener(nil).Begins())
	if len(words) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return words, cobra.ShellCompDirectiveNoSpace
}

// upTo completes the first n arguments.
func upTo(n int, with completer) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return with(cmd, args, typed)
	}
}

// sourcesOr completes addresses, and the other words that the first argument can be.
func sourcesOr(first completer) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if words, how := completeSources(cmd, args, typed); len(words) > 0 {
			return words, how
		}
		return first(cmd, args, typed)
	}
}

// flagCompletions are what the shell offers for flags, by name and, if verbs differ, with the verb before
// it. It offers nothing for the others, unless their command has words for them.
var flagCompletions = map[string]completer{
	"set":     completeSet,
	"compare": completeCompare,
	"region":  cobra.FixedCompletions([]string{catalog.Region}, cobra.ShellCompDirectiveNoFileComp),
	"tz":      cobra.FixedCompletions([]string{"UTC", "Local"}, cobra.ShellCompDirectiveNoFileComp),

	"data": folders, "images": folders, "mount": folders, "out": folders, "path": folders,
	"catalog import out": anyFile, "export out": anyFile, "discover out": scenarioFile, "fit out": scenarioFile,
	"statefulset": scenarioFile, "site": siteFile,
	"cacert": anyFile, "cert": anyFile, "in": anyFile, "key": anyFile, "kubeconfig": anyFile,
	"measured": anyFile, "perfetto": anyFile, "save": anyFile, "web.config.file": anyFile,
}

var (
	folders      = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	anyFile      = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	scenarioFile = cobra.FixedCompletions([]string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt)
	siteFile     = cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
)

// completeFlags completes the flags of every command below root. Without it, the shell offers file names
// for numbers and times.
func completeFlags(root *cobra.Command) {
	for _, c := range everyBelow(root) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if _, done := c.GetFlagCompletionFunc(f.Name); done || f.Value.Type() == "bool" {
				return
			}
			offered := flagCompletions[verb(c)+" "+f.Name]
			if offered == nil {
				offered = flagCompletions[f.Name]
			}
			if offered == nil {
				offered = cobra.NoFileCompletions
			}
			offer(c, f.Name, offered)
		})
	}
}

// offer sets what the shell offers for a flag.
func offer(cmd *cobra.Command, flag string, words completer) {
	if err := cmd.RegisterFlagCompletionFunc(flag, words); err != nil {
		panic(err) // the flag does not exist: a bug that every run would hit
	}
}

// completeSet completes a scenario's keys one level at a time, then offers values.
func completeSet(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return scenarioPaths("", typed)
}

// completeCompare does the same after a variant's name and each of its commas: 'name: a.b=c,d.e=f'.
func completeCompare(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	begin := 0
	if i := strings.Index(typed, ": "); i >= 0 {
		begin = i + len(": ")
	}
	// Only the last assignment is being typed.
	if i := strings.LastIndex(typed, ","); i >= begin {
		begin = i + 1
	}
	return scenarioPaths(typed[:begin], typed[begin:])
}

// schemaNode is the part of JSON Schema that the scenarios' schema uses.
type schemaNode struct {
	Ref         string                 `json:"$ref"`
	Properties  map[string]*schemaNode `json:"properties"`
	Additional  any                    `json:"additionalProperties"` // false, or a node
	Description string                 `json:"description"`
	Type        any                    `json:"type"`
	Enum        []any                  `json:"enum"`
	Examples    []any                  `json:"examples"`
	Defs        map[string]*schemaNode `json:"$defs"`
}

// scenarioPaths completes an assignment over a scenario; before is prepended to each word.
func scenarioPaths(before, typed string) ([]string, cobra.ShellCompDirective) {
	const noFiles = cobra.ShellCompDirectiveNoFileComp
	var root schemaNode
	if err := json.Unmarshal(scenario.NewLanguage(engine.All().Models(), nil).Schema(), &root); err != nil {
		return nil, noFiles // the schema is built in and tested
	}

	node, path := &root, typed
	if p, _, ok := strings.Cut(typed, "="); ok {
		path = p
	}

	keys := strings.Split(path, ".")
	// All keys but the last are complete; the last one is what the user is typing.
	for _, key := range keys[:len(keys)-1] {
		if node = root.enter(node, key); node == nil {
			return nil, noFiles
		}
	}

	if path != typed {
		leaf := root.enter(node, keys[len(keys)-1])
		if leaf == nil {
			return nil, noFiles
		}
		return startingWith(before+typed, under(before+path+"=", leaf.values(keys))), noFiles
	}

	// Capped, because append must not overwrite the last key.
	stem := strings.Join(append(keys[:len(keys)-1:len(keys)-1], ""), ".")
	var words []string
	for _, key := range root.keys(node) {
		child := root.enter(node, key)
		word := before + stem + key
		if root.isMapping(child) {
			word += "."
		} else {
			word += "="
		}
		if about, _, _ := strings.Cut(child.Description, ". "); about != "" {
			word += "\t" + strings.TrimSuffix(about, ".")
		}
		words = append(words, word)
	}

	return startingWith(before+typed, words), noFiles | cobra.ShellCompDirectiveNoSpace
}

func under(before string, words []string) []string {
	for i := range words {
		words[i] = before + words[i]
	}
	return words
}

// startingWith drops words that do not continue what was typed: there are a thousand instances.
func startingWith(typed string, words []string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, typed) })
}

// enter returns the node of a key, nil if there is none.
func (s *schemaNode) enter(at *schemaNode, key string) *schemaNode {
	at = s.resolve(at)
	if p := at.Properties[key]; p != nil {
		if p.Ref == "" {
			return p
		}
		// Copied, because several keys share a definition but have their own descriptions.
		to := *s.resolve(p)
		to.Description = p.Description
		return &to
	}
	return s.additional(at)
}

// additional returns the schema of the values in a mapping with free keys.
func (s *schemaNode) additional(at *schemaNode) *schemaNode {
	m, ok := at.Additional.(map[string]any)
	if !ok {
		return nil
	}
	if ref, ok := m["$ref"].(string); ok {
		return s.resolve(&schemaNode{Ref: ref})
	}
	return nil
}

func (s *schemaNode) resolve(at *schemaNode) *schemaNode {
	if to := s.Defs[strings.TrimPrefix(at.Ref, "#/$defs/")]; at.Ref != "" && to != nil {
		return to
	}
	return at
}

func (s *schemaNode) isMapping(at *schemaNode) bool {
	at = s.resolve(at)
	return len(at.Properties) > 0 || s.additional(at) != nil
}

// keys are a mapping's keys; volumes have the names that the engines use.
func (s *schemaNode) keys(at *schemaNode) []string {
	at = s.resolve(at)
	if len(at.Properties) > 0 {
		return slices.Sorted(maps.Keys(at.Properties))
	}

	if s.additional(at) == nil {
		return nil
	}

	var names []string
	for _, e := range engine.All() {
		for _, v := range e.Traits.Volumes {
			if !slices.Contains(names, v.Name) {
				names = append(names, v.Name)
			}
		}
	}

	return names
}

// values are the words that a leaf accepts, or examples of its quantity.
func (s *schemaNode) values(keys []string) []string {
	switch last := keys[len(keys)-1]; {
	case last == "type" && keys[0] == "volumes":
		return catalog.TypeNames()
	case last == "instance" && keys[0] == "host":
		return catalog.Embedded().InstanceNames()
	}

	given := s.Enum
	if len(given) == 0 {
		given = s.Examples
	}

	var out []string
	for _, v := range given {
		if word, ok := v.(string); ok {
			out = append(out, word)
		}
	}

	if s.Type == "boolean" {
		out = []string{"true", "false"}
	}

	return out
}
