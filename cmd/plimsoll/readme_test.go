package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestReadmePrintsWhatItSays: the README's sample is the start of what its first command prints.
func TestReadmePrintsWhatItSays(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}

	_, after, ok := strings.Cut(string(readme), "## What it prints")
	if !ok {
		t.Fatal("README.md has no section \"What it prints\"")
	}

	_, after, _ = strings.Cut(after, "```\n")
	sample, _, ok := strings.Cut(after, "```")
	if !ok || len(sample) < 500 {
		t.Fatal("the section has no sample")
	}

	c := exec.Command("plimsoll", "diagnose", "examples/postgres-checkpoint", "--width", "80", "--tz", "UTC", "--ascii=false")
	c.Dir = "../.."
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}

	if !strings.HasPrefix(string(out), sample) {
		t.Errorf("README.md shows:\n%s\nThe command prints:\n%s", sample, out[:min(len(out), len(sample)+200)])
	}
}
