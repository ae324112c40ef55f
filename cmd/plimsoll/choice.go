package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// A choice is a flag that takes one of a few words.
type choice struct {
	value string
	among []string
}

func (c *choice) String() string { return c.value }

// Type is what help calls the flag's value.
func (c *choice) Type() string { return strings.Join(c.among, "|") }

// Set takes a word.
func (c *choice) Set(word string) error {
	if !slices.Contains(c.among, word) {
		return fmt.Errorf("want one of %s", strings.Join(c.among, ", "))
	}
	c.value = word
	return nil
}

// addChoice adds a choice as a flag, with its words for the shell's completion.
func addChoice(cmd *cobra.Command, c *choice, name, shorthand, help string, among ...string) {
	c.among = among
	cmd.Flags().VarP(c, name, shorthand, help)
	complete(cmd, name, among...)
}

// complete gives the shell the words a flag takes; without any, what flags of this name take
// everywhere, or nothing instead of file names.
func complete(cmd *cobra.Command, flag string, words ...string) {
	offer := sharedCompletions[flag]
	if offer == nil || len(words) > 0 {
		offer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return words, cobra.ShellCompDirectiveNoFileComp
		}
	}
	err := cmd.RegisterFlagCompletionFunc(flag, offer)
	if err != nil {
		panic(err) // the flag is not there: a mistake of this program, met by every run
	}
}
