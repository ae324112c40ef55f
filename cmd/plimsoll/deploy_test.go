package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

const deploy = "../../deploy"

// documents are the parts of a YAML file.
func documents(t *testing.T, path string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, path))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(text, []byte("\n---\n"))
}

// podMonitor has the fields of the Prometheus operator's resource that are used here (its API reference, v1).
type podMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		NamespaceSelector   struct{ Any bool }   `json:"namespaceSelector"`
		Selector            metav1.LabelSelector `json:"selector"`
		PodMetricsEndpoints []struct {
			Port, Path, Interval string
			Relabelings          []struct {
				SourceLabels []string `json:"sourceLabels"`
				TargetLabel  string   `json:"targetLabel"`
			}
		} `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

// strict decodes a document into its kind's Go type; a field that Kubernetes does not have is an
// error.
func strict(t *testing.T, text []byte) any {
	t.Helper()
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(text, &kind); err != nil {
		t.Fatal(err)
	}

	into := map[string]any{
		"v1/Namespace": &corev1.Namespace{}, "apps/v1/StatefulSet": &appsv1.StatefulSet{}, "apps/v1/DaemonSet": &appsv1.DaemonSet{},
		"networking.k8s.io/v1/NetworkPolicy": &networkingv1.NetworkPolicy{}, "monitoring.coreos.com/v1/PodMonitor": &podMonitor{},
	}[kind.APIVersion+"/"+kind.Kind]
	if into == nil {
		t.Fatalf("a %s %s was not expected", kind.APIVersion, kind.Kind)
	}

	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", kind.Kind, err)
	}

	return into
}

// watchers are the pods of the manifests; the sidecar is merged into a StatefulSet as kubectl patch
// does.
func watchers(t *testing.T) map[string]corev1.PodTemplateSpec {
	t.Helper()
	out := map[string]corev1.PodTemplateSpec{}
	for _, text := range documents(t, "kubernetes/daemonset.yaml") {
		if d, ok := strict(t, text).(*appsv1.DaemonSet); ok {
			out["daemonset"] = d.Spec.Template
		}
	}

	text := documents(t, "kubernetes/sidecar.yaml")[0]
	strict(t, text)
	patch, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}

	set := []byte(`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"mongodb"},"spec":{"serviceName":"mongodb","selector":{"matchLabels":{"app":"mongodb"}},
		"template":{"metadata":{"labels":{"app":"mongodb"}},"spec":{"containers":[{"name":"mongod","image":"mongo:8"}]}}}}`)
	merged, err := strategicpatch.StrategicMergePatch(set, patch, appsv1.StatefulSet{})
	if err != nil {
		t.Fatal(err)
	}

	patched := strict(t, merged).(*appsv1.StatefulSet)
	if got := len(patched.Spec.Template.Spec.Containers); got != 2 || patched.Spec.Template.Labels["app"] != "mongodb" {
		t.Errorf("patched, the StatefulSet has %d containers and the labels %v", got, patched.Spec.Template.Labels)
	}

	out["sidecar"] = patched.Spec.Template
	return out
}

// Manifests start existing commands of this program, with existing flags and valid values.
func TestManifestsStartThisProgram(t *testing.T) {
	for name, pod := range watchers(t) {
		c := watcher(t, pod)
		takesWatch(t, name, c.Args)
	}

	unit, err := os.ReadFile(filepath.Join(deploy, "systemd/plimsoll-watch.service"))
	if err != nil {
		t.Fatal(err)
	}

	defaults, err := os.ReadFile(filepath.Join(deploy, "systemd/plimsoll-watch.default"))
	if err != nil {
		t.Fatal(err)
	}

	line := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/plimsoll (.*)$`).FindSubmatch(unit)
	if line == nil {
		t.Fatal("the unit starts no plimsoll")
	}

	given := string(line[1])
	for _, v := range regexp.MustCompile(`(?m)^(\w+)="(.*)"$`).FindAllSubmatch(defaults, -1) {
		given = strings.ReplaceAll(given, "$"+string(v[1]), string(v[2]))
	}

	given = strings.ReplaceAll(given, "${STATE_DIRECTORY}", "/var/lib/plimsoll")
	if strings.Contains(given, "$") {
		t.Errorf("the unit leaves %q open", given)
	}

	takesWatch(t, "unit", strings.Fields(given))
}

func takesWatch(t *testing.T, name string, args []string) {
	t.Helper()
	a, _, _ := testApp()
	c, rest, err := newRootCommand(a).Find(args)
	if err != nil || c.Name() != "watch" {
		t.Errorf("%s: %q is the command %q: %v", name, args, c.Name(), err)
		return
	}

	if err := c.ParseFlags(rest); err != nil {
		t.Errorf("%s: %q: %v", name, args, err)
	}

	if sources := c.Flags().Args(); len(sources) == 0 {
		t.Errorf("%s watches nothing", name)
	}

	if !c.Flags().Changed("dir") {
		t.Errorf("%s keeps nothing", name)
	}
}

func watcher(t *testing.T, pod corev1.PodTemplateSpec) corev1.Container {
	t.Helper()
	for _, c := range pod.Spec.Containers {
		if c.Name == "plimsoll" {
			return c
		}
	}
	t.Fatal("no container plimsoll")
	return corev1.Container{}
}

// The container gets only the privileges that it needs: no root, no capability, nothing writable but
// its data, and a limit on each resource.
func TestManifestsAskForLittle(t *testing.T) {
	for name, pod := range watchers(t) {
		c := watcher(t, pod)
		s, of := c.SecurityContext, pod.Spec.SecurityContext
		if of == nil {
			of = &corev1.PodSecurityContext{}
		}

		nonRoot := s.RunAsNonRoot != nil && *s.RunAsNonRoot || of.RunAsNonRoot != nil && *of.RunAsNonRoot
		if !nonRoot || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || len(s.Capabilities.Add) > 0 || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" {
			t.Errorf("%s: %+v", name, s)
		}

		if s.SeccompProfile == nil && of.SeccompProfile == nil {
			t.Errorf("%s runs without a seccomp profile", name)
		}

		for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
			if q := c.Resources.Limits[r]; q.IsZero() {
				t.Errorf("%s has no limit of %s", name, r)
			}
		}

		for _, v := range pod.Spec.Volumes {
			if v.HostPath != nil {
				t.Errorf("%s mounts %s of its node", name, v.HostPath.Path)
			}
		}

		if pod.Spec.HostPID || pod.Spec.HostIPC || pod.Spec.HostNetwork {
			t.Errorf("%s shares its node's namespaces", name)
		}
	}
}

// The monitor finds the pods and their port.
func TestMonitorFindsPods(t *testing.T) {
	m := strict(t, documents(t, "kubernetes/podmonitor.yaml")[0]).(*podMonitor)
	for name, pod := range watchers(t) {
		for label, value := range m.Spec.Selector.MatchLabels {
			if pod.Labels[label] != value {
				t.Errorf("%s has no label %s=%s", name, label, value)
			}
		}

		c := watcher(t, pod)
		if len(c.Ports) != 1 || c.Ports[0].Name != m.Spec.PodMetricsEndpoints[0].Port {
			t.Errorf("%s has ports %v, the monitor wants %q", name, c.Ports, m.Spec.PodMetricsEndpoints[0].Port)
		}

		for _, probe := range []*corev1.Probe{c.ReadinessProbe, c.LivenessProbe} {
			if probe.HTTPGet.Port.String() != c.Ports[0].Name {
				t.Errorf("%s is probed at %s", name, probe.HTTPGet.Port.String())
			}
		}
	}
}

// Kubernetes' own schemas, by kubectl-validate.
func TestManifestsByKubectlValidate(t *testing.T) {
	tool, err := filepath.Abs("../../bin/kubectl-validate")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tool); err != nil {
		t.Skip("kubectl-validate is not built: make kubectl-validate, which takes minutes")
	}
	out, err := exec.CommandContext(context.Background(), tool, "--version", "1.30", filepath.Join(deploy, "kubernetes/daemonset.yaml")).CombinedOutput()
	if err != nil {
		t.Errorf("kubectl-validate: %v\n%s", err, out)
	}
}

// systemd accepts the unit. Its warnings that the program or its page is missing are correct: the
// package installs them.
func TestUnitIsSystemds(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	out, _ := exec.CommandContext(context.Background(), "systemd-analyze", "verify", filepath.Join(deploy, "systemd/plimsoll-watch.service")).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "plimsoll-watch.service") && !strings.Contains(line, "is not executable") && !strings.Contains(line, "man ") {
			t.Error(line)
		}
	}
}
