package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// A krewPlugin is krew's manifest (its documentation, "Writing krew plugin manifests", v1alpha2).
type krewPlugin struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Platforms        []struct {
			Selector *metav1.LabelSelector `json:"selector"`
			URI      string                `json:"uri"`
			Sha256   string                `json:"sha256"`
			Files    []struct {
				From string `json:"from"`
				To   string `json:"to"`
			} `json:"files"`
			Bin string `json:"bin"`
		} `json:"platforms"`
	} `json:"spec"`
}

// The manifest follows Krew's rules: only known fields, a safe name, a semantic version with its v,
// for each platform an address, a checksum, files, and a program among them (validate.go and
// cmd/validate-krew-manifest of sigs.k8s.io/krew).
func TestKrewManifest(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}

	dist := t.TempDir()
	sum := strings.Repeat("0123456789abcdef", 4)

	var sums strings.Builder
	for _, name := range []string{"plimsoll_1.4.0-next_linux_amd64.tar.gz", "plimsoll_1.4.0-next_darwin_arm64.tar.gz", "plimsoll_1.4.0-next_linux_arm64.tar.gz", "plimsoll_1.4.0-next_darwin_amd64.tar.gz", "plimsoll_1.4.0~next_amd64.deb"} {
		sums.WriteString(sum + "  " + name + "\n")
	}

	if err := os.WriteFile(filepath.Join(dist, "checksums.txt"), []byte(sums.String()), 0o600); err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command("bash", filepath.Join(deploy, "build/krew"), dist)
	cmd.Env = append(os.Environ(), "PLIMSOLL_RELEASES=https://example.org/plimsoll")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}

	var p krewPlugin
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}

	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || p.Name != "plimsoll" {
		t.Errorf("it is %s %s %s", p.APIVersion, p.Kind, p.Name)
	}

	if s := p.Spec; !regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9a-z.-]+)?$`).MatchString(s.Version) || s.ShortDescription == "" || len(s.ShortDescription) > 50 || strings.ContainsAny(s.ShortDescription, "\r\n") || s.Description == "" {
		t.Errorf("version %q, in short %q", s.Version, s.ShortDescription)
	}

	// krew's validate-krew-manifest warns of longer lines.
	for _, text := range []string{p.Spec.Description, p.Spec.Caveats} {
		for line := range strings.Lines(text) {
			if len(line) > 80 {
				t.Errorf("a line of %d characters: %s", len(line), line)
			}
		}
	}

	var on []string
	for _, pl := range p.Spec.Platforms {
		labels := pl.Selector.MatchLabels
		on = append(on, labels["os"]+"/"+labels["arch"])
		archive := "plimsoll_1.4.0-next_" + labels["os"] + "_" + labels["arch"]
		if pl.URI != "https://example.org/plimsoll/v1.4.0-next/"+archive+".tar.gz" || pl.Sha256 != sum || pl.Bin != "plimsoll" {
			t.Errorf("%v: %s %s %s", labels, pl.URI, pl.Sha256, pl.Bin)
		}

		if len(labels) != 2 || len(pl.Selector.MatchExpressions) > 0 || !regexp.MustCompile(`^[a-f0-9]{64}$`).MatchString(pl.Sha256) {
			t.Errorf("the selector is %v, the checksum %s", pl.Selector, pl.Sha256)
		}

		program := false
		for _, f := range pl.Files {
			program = program || f.From == archive+"/plimsoll" && f.To == "."
		}

		if !program {
			t.Errorf("%v: the program is not among %v", labels, pl.Files)
		}
	}

	slices.Sort(on)
	if got := strings.Join(on, " "); got != "darwin/amd64 darwin/arm64 linux/amd64 linux/arm64" {
		t.Errorf("platforms are %s", got)
	}
}

// As a plugin the program is called kubectl plimsoll, in its help and its hints.
func TestKubectlPlugin(t *testing.T) {
	a, stdout, stderr := testApp("discover", "--help")
	a.plugin = true
	if code := a.run(t.Context()); code != exitFine || !strings.Contains(stdout.String(), "kubectl plimsoll discover k8s://NAMESPACE/NAME") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}

	a, stdout, stderr = testApp("discover", "nonsense")
	a.plugin = true
	if code := a.run(t.Context()); code != exitUsage || !strings.Contains(stderr.String(), `"nonsense" is not the address`) {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}

	for path, want := range map[string]bool{"/usr/bin/kubectl-plimsoll": true, "kubectl-plimsoll": true, "kubectl-plimsoll.exe": true, "plimsoll": false, "kubectl-plimsoll/plimsoll": false} {
		if isPlugin(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
