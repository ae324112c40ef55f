// Package release holds the tool that makes releases, and checks of its configuration.
package release

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

const root = "../.."

// made is where deploy/build/extras puts the parts of a release other than the program.
const made = "build/extras/"

// goreleaser's own reader accepts the file, with unknown keys as errors, and the files it names exist.
// (`goreleaser check` takes three minutes to build, this a tenth of it.)
func TestGoreleaserTakesTheConfiguration(t *testing.T) {
	project, err := config.Load(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	if len(project.Builds) != 1 || len(project.Archives) != 1 || len(project.NFPMs) != 1 {
		t.Fatalf("%d builds, %d archives, %d packages: one of each is checked here", len(project.Builds), len(project.Archives), len(project.NFPMs))
	}

	var sources []string
	for _, f := range project.Archives[0].Files {
		sources = append(sources, f.Source)
	}

	for _, c := range project.NFPMs[0].Contents {
		sources = append(sources, c.Source)
	}

	for _, name := range sources {
		if strings.HasPrefix(name, made) {
			continue // deploy/build/extras, which the container's check runs
		}
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Errorf("the release lacks %v", err)
		}
	}

	for _, want := range []string{"LICENSE", "NOTICE", made + "man/*.1", made + "man.gz/*.1.gz"} {
		if !slices.Contains(sources, want) {
			t.Errorf("no package has %s", want)
		}
	}

	if got := project.Builds[0].Env; !slices.Contains(got, "CGO_ENABLED=0") {
		t.Errorf("built with %q: the program must be one static file", got)
	}
}
