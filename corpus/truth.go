package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/goccy/go-yaml"
)

// A Truth is a case's truth.yaml: what was wrong, where, and what a tool must not say. Every word in
// it follows from the case's source and can be checked there.
type Truth struct {
	Title   string `yaml:"title"`
	Product string `yaml:"product"` // the database or service that stored its data there
	Storage string `yaml:"storage"` // the kind of storage
	Kind    string `yaml:"kind"`    // one of kinds, for the table
	Form    string `yaml:"form"`    // one of forms: what the inputs are
	// Healthy marks a system whose storage is not at fault: idle, bursty, quick or bound by its CPUs.
	Healthy bool `yaml:"healthy"`
	// Causes are the accepted answers, as words of vocabulary. Also are further true claims: they
	// neither count nor harm. Never are claims that the source rules out.
	Causes []string `yaml:"causes"`
	Also   []string `yaml:"also"`
	Never  []string `yaml:"never"`
	// Subject occurs in the name of the culprit, such as sdb; empty if there is only one candidate.
	Subject  string `yaml:"subject"`
	Severity string `yaml:"severity"` // info, warning or critical: the least that the answer must have
	// Criterion holds answers to "is this storage good enough for X": yes, no, probably or unclear.
	Criterion     map[string]string `yaml:"criterion"`
	Conclusion    string            `yaml:"conclusion"` // the thread's own, in our words
	Source        string            `yaml:"source"`
	Date          string            `yaml:"date"`
	Reconstructed string            `yaml:"reconstructed"` // which part of the inputs is not the published text
}

// Kinds of cases, in the order of the table.
var kinds = []string{
	"a limit binds", "a sync is slow", "the device is slow or saturated", "checkpoints and flushes",
	"memory, CPU, locks or another program", "is this storage good enough", "healthy",
}

// forms are the kinds of inputs.
var forms = []string{"iostat", "sar", "metrics page", "metrics series", "fio", "log", "cloud",
	"benchmark", "other"}

// severities, the mildest first.
var severities = []string{"info", "warning", "critical"}

// vocabulary contains the words for causes. They are an operator's words, not those of any tool.
var vocabulary = map[string]string{
	"iops-cap":         "the volume's limit of requests binds",
	"throughput-cap":   "the volume's limit of bytes binds",
	"burst-credits":    "a volume or machine has used up its burst credits",
	"machine-cap":      "the machine's or instance's storage limit binds, not the volume's",
	"container-limit":  "a container's I/O or CPU limit binds",
	"slow-device":      "the device or volume is slow at a load that it should carry",
	"saturated":        "the device is always busy with requests waiting: more load than the medium carries",
	"slow-layer":       "a layer above the disk (LVM, encryption, a network file system) makes requests wait",
	"sync-latency":     "each durable write waits for one slow sync; IOPS do not matter",
	"sync-tail":        "few syncs are very slow, most are quick",
	"slow-member":      "one member's storage is slower than its peers'",
	"checkpoint":       "a checkpoint, flush, compaction or merge writes so much that other I/O waits",
	"writeback":        "the page cache's backlog is flushed in one go",
	"memory":           "memory is short: swapping, reclaim",
	"cache-pressure":   "the database's cache is full, and operations wait for room or for pages",
	"cpu":              "the CPUs are saturated",
	"cpu-steal":        "the hypervisor withholds CPU time",
	"locks":            "operations wait for locks or latches",
	"queries":          "queries read or write far more than their result",
	"other-program":    "another program on the same device or machine",
	"replication":      "a write waits for another member, or a member falls behind",
	"no-space":         "the database's space or quota is used up",
	"background-work":  "the database's own maintenance (vacuum, defragmentation, index builds)",
	"device-in-limits": "the limits of the volume are not reached: buying more changes nothing",
}

// A Case is one folder of the corpus.
type Case struct {
	Name   string
	Truth  Truth
	Inputs []string
}

// Unread reports whether the case belongs to the half that is not looked at while rules are tuned.
func (c Case) Unread() bool { return sha256.Sum256([]byte(c.Name))[0]&1 == 1 }

// load reads all cases below the folder, by name.
func load(dir string) ([]Case, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*", "truth.yaml"))
	if err != nil {
		return nil, err
	}

	var out []Case
	for _, path := range found {
		c, err := loadCase(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, c)
	}

	return out, nil
}

func loadCase(path string) (Case, error) {
	folder := filepath.Dir(path)
	c := Case{Name: filepath.Base(folder)}

	text, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := yaml.UnmarshalWithOptions(text, &c.Truth, yaml.Strict()); err != nil {
		return c, err
	}

	files, err := os.ReadDir(folder)
	if err != nil {
		return c, err
	}
	// Every other file of the folder is an input, so a case needs no list of them.
	for _, f := range files {
		if f.Name() != "truth.yaml" {
			c.Inputs = append(c.Inputs, filepath.Join(folder, f.Name()))
		}
	}

	if len(c.Inputs) == 0 {
		return c, fmt.Errorf("case without inputs")
	}
	return c, c.Truth.check()
}

// check reports what is missing or unknown in a truth.
func (t Truth) check() error {
	for name, value := range map[string]string{
		"title": t.Title, "product": t.Product, "storage": t.Storage, "conclusion": t.Conclusion,
		"source": t.Source, "date": t.Date, "reconstructed": t.Reconstructed,
	} {
		if value == "" {
			return fmt.Errorf("no %s", name)
		}
	}

	if !slices.Contains(kinds, t.Kind) {
		return fmt.Errorf("unknown kind %q", t.Kind)
	}
	if !slices.Contains(forms, t.Form) {
		return fmt.Errorf("unknown form %q", t.Form)
	}
	if t.Severity != "" && !slices.Contains(severities, t.Severity) {
		return fmt.Errorf("unknown severity %q", t.Severity)
	}

	for _, words := range [][]string{t.Causes, t.Also, t.Never} {
		for _, w := range words {
			if vocabulary[w] == "" {
				return fmt.Errorf("unknown cause %q", w)
			}
		}
	}

	// A case asks exactly one question: is it healthy, what is the cause, or is it good enough.
	asked := 0
	for _, is := range []bool{t.Healthy, len(t.Causes) > 0, len(t.Criterion) > 0} {
		if is {
			asked++
		}
	}
	if asked != 1 {
		return fmt.Errorf("want exactly one of healthy, causes and criterion")
	}
	if t.Healthy != (t.Kind == "healthy") {
		return fmt.Errorf("healthy and kind disagree")
	}

	return nil
}
