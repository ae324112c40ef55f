package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/model/database"
)

// A choice is a flag that accepts one of a few words.
type choice struct {
	value string
	among []string
	// aliases are other words for some of them.
	aliases map[string]string
}

func (c *choice) String() string { return c.value }

// Type is the name of the value in the help.
func (c *choice) Type() string { return strings.Join(c.among, "|") }

// Set accepts one of the words.
func (c *choice) Set(word string) error {
	if to, ok := c.aliases[word]; ok {
		word = to
	}
	if !slices.Contains(c.among, word) {
		return fmt.Errorf("want one of %s", strings.Join(c.among, ", "))
	}
	c.value = word
	return nil
}

// accepts reports whether a word is one of the choice's.
func (c *choice) accepts(word string) bool {
	return slices.Contains(c.among, word) || c.aliases[word] != ""
}

// addChoice adds a choice as a flag and offers its words for shell completion.
func addChoice(cmd *cobra.Command, c *choice, name, shorthand, help string, among ...string) {
	c.among = among
	cmd.Flags().VarP(c, name, shorthand, help)
	complete(cmd, name, among...)
}

// addEngineChoice adds --engine with the engines that have a part; their aliases are accepted as well.
func addEngineChoice[P any](cmd *cobra.Command, c *choice, help string, able []database.With[P]) {
	c.aliases = map[string]string{}
	var keys []string
	for _, e := range able {
		keys = append(keys, e.Key)
		for _, alias := range e.Aliases {
			c.aliases[alias] = e.Key
		}
	}
	addChoice(cmd, c, "engine", "", help, keys...)
}

// complete offers the shell a flag's words.
func complete(cmd *cobra.Command, flag string, words ...string) {
	offer(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}
