package emit_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/check/kubeschema"
)

// code matches the commands in a README: a block of indented lines, or a command in a sentence.
var code = regexp.MustCompile("(?m)((?:^        \\S.*\n(?:^ {8}.*\n)*)|`kubectl[^`]*`)")

// commands returns the commands of a section that change the API server. There are no pods to recreate.
func commands(readme, section string) (out []string) {
	_, text, _ := strings.Cut(readme, "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, c := range code.FindAllString(text, -1) {
		c = strings.Trim(c, "`")
		if !strings.Contains(c, "delete pod") && !strings.Contains(c, "currentVolumeAttributesClassName") {
			out = append(out, c)
		}
	}
	return out
}

// Kubernetes' own schemas accept claims and the StatefulSet after each patch in a README, forward and
// back.
func TestReadmePatchesFitTheSchemas(t *testing.T) {
	needs(t, "bash")
	set, err := os.ReadFile("testdata/mongo.yaml")
	if err != nil {
		t.Fatal(err)
	}

	for name, sets := range map[string][]string{
		"claims":               {"volumes.data.iops=6000"},
		"log":                  {"volumes.journal={type: gp3, size: 10GiB}"},
		"template":             {"host.memory=14GiB", "engine.mongodb.cache=6GiB"},
		"several and the rest": {"volumes.data.iops=6000", "volumes.journal={type: gp3, size: 10GiB}", "host.memory=14GiB"},
	} {
		for _, given := range []bool{true, false} {
			if !given && name != "claims" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				o := emit.Options{}
				if given {
					o = emit.Options{StatefulSet: set, StatefulSetFile: "mongo.yaml"}
				}
				files, dir := filesOf(t, layoutOf(t, "telemetry.yaml", sets...), o, "kubernetes"), t.TempDir()
				for path, text := range files {
					path = filepath.Join(dir, path)
					if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}

				var all []string
				for _, section := range []string{"Apply", "Verify", "Go back"} {
					for _, text := range commands(files["README.md"], section) {
						if !strings.HasPrefix(text, "kubectl get statefulset NAME") {
							all = append(all, text)
						}
					}
				}

				patches := kubeschema.Patches(t, dir, string(set), all, []string{"NAMESPACE=db", "CLAIM=data-mongo-0", "CLAIMS=data-mongo-1 data-mongo-2"})
				kinds := ""
				for _, p := range patches {
					kinds += " " + p.Kind
				}
				if want := map[string]string{"claims": map[bool]string{true: " statefulset"}[given] + " pvc pvc pvc pvc pvc pvc", "log": " statefulset statefulset statefulset",
					"template": " statefulset", "several and the rest": " pvc pvc pvc statefulset statefulset pvc pvc pvc statefulset"}[name]; !slices.Equal(sorted(kinds), sorted(want)) {
					t.Errorf("the patches are of%s, want%s", kinds, want)
				}
				kubeschema.Check(t, "mongod", patches)
			})
		}
	}
}

func sorted(words string) []string { return slices.Sorted(strings.FieldsSeq(words)) }
