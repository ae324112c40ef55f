package discover

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/fit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/database"
	"plimsoll/internal/record/kubeclient"
)

// Options select what to discover.
type Options struct {
	Engines   []database.With[Engine]
	At        Address
	Engine    string            // its key in scenarios; "": detected from the containers
	Container string            // "": detected
	Claims    map[string]string // claim templates by volume, if the names differ
	Name      string            // name of the scenario; "": the StatefulSet's name
	Catalog   *catalog.Catalog  // nil: without a user's imports
}

// Found is the scenario of a deployment in a cluster. Its JSON is the output of `plimsoll discover -o
// json` and a contract: fields may be added, never changed.
type Found struct {
	Version   int    `json:"version"`
	Cluster   string `json:"cluster"` // the API server's address
	Namespace string `json:"namespace"`
	// StatefulSet and Container run the engine; Engine is its key in scenarios.
	StatefulSet string `json:"statefulset"`
	Container   string `json:"container"`
	Name        string `json:"name"` // of the scenario
	Engine      string `json:"engine"`
	Members     int    `json:"members"` // number of pods
	// Templates are the claim templates of the engine's volumes, by the volumes' names.
	Templates map[string]string `json:"claims"`
	// Values are in the order of the YAML.
	Values  []fit.Value `json:"values"`
	Remarks []string    `json:"remarks"`
}

// YAML returns the scenario, with the evidence for each value in a comment above it.
func (f *Found) YAML() []byte {
	head := []string{
		fmt.Sprintf("The StatefulSet %s in namespace %s of the cluster at %s, according to its objects.",
			f.StatefulSet, f.Namespace, f.Cluster),
		"Each value names the object that declares it, or states that the cluster does not have it and what was assumed.",
	}
	return fit.Write(f.Name, head, f.Remarks, f.Values, "not in the cluster")
}

// Discover reads a StatefulSet and returns its scenario. The error is an *[InputError] or one of package
// cluster.
func Discover(ctx context.Context, c *kubeclient.Client, opt Options) (*Found, error) {
	opt.At.Namespace = cmp.Or(opt.At.Namespace, c.Namespace)
	set, err := Find(ctx, c, opt.At)
	if err != nil {
		return nil, err
	}

	objects, err := Read(ctx, c, set)
	if err != nil {
		return nil, err
	}

	e, container, by, err := recognise(opt.Engines, &set.Spec.Template.Spec, opt.Engine, opt.Container)
	if err != nil {
		return nil, err
	}

	found := &discovery{
		Objects: objects, traits: e.Traits, its: e.Part.Container, deployment: e.Part.Deployment,
		container: container, by: by, catalog: opt.Catalog,
		Found: &Found{
			Version: 1, Cluster: c.Host, Namespace: set.Namespace, StatefulSet: set.Name, Container: container.Name,
			Name: cmp.Or(opt.Name, set.Name), Engine: e.Key, Members: emit.Replicas(set),
			Templates: map[string]string{},
			Remarks:   []string{},
		},
	}

	// The claims depend on it: the command line and environment have the engine's folders.
	found.process = objects.process(opt.Catalog, container)
	if err := found.findClaims(opt.Claims); err != nil {
		return nil, err
	}

	found.host()
	if err := found.volumes(); err != nil {
		return nil, err
	}

	found.settings()
	found.workload()
	found.remarks()

	return found.Found, nil
}

// A discovery is the state of a running Discover.
type discovery struct {
	*Found
	*Objects
	traits     database.Traits
	its        Container
	deployment emit.Deployment
	container  *corev1.Container
	by         string // how the engine was recognised
	process    *Process
	catalog    *catalog.Catalog
}

func (d *discovery) add(key string, q fit.Quantity, known fit.Known, evidence string,
	args ...any) *fit.Value {
	v := fit.Value{Key: key, Known: known, Evidence: fmt.Sprintf(evidence, args...)}
	v.Set(q)
	d.Values = append(d.Values, v)
	return &d.Values[len(d.Values)-1]
}

func (d *discovery) remark(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(d.Remarks, text) {
		d.Remarks = append(d.Remarks, text)
	}
}

// findClaims assigns claim templates to volumes: as specified, by their mount points in the container, or by
// their names.
func (d *discovery) findClaims(given map[string]string) error {
	mounts := map[string]string{} // of the templates that the container mounts
	for i := range d.Set.Spec.VolumeClaimTemplates {
		name := d.Set.Spec.VolumeClaimTemplates[i].Name
		for _, m := range d.container.VolumeMounts {
			if m.Name == name {
				mounts[name] = path.Clean(m.MountPath)
			}
		}
	}

	// A database without claims has no volume that a plan could change.
	if len(mounts) == 0 {
		return inputf("use the StatefulSet that has the claims, or another --container",
			"container %s of the StatefulSet %s mounts no claim template", d.container.Name, d.Set.Name)
	}

	for _, role := range d.traits.Volumes {
		if name, ok := given[role.Name]; ok {
			if mounts[name] == "" {
				return inputf("it mounts "+strings.Join(slices.Sorted(maps.Keys(mounts)), ", "),
					"--claim %s=%s: container %s mounts no claim template of that name", role.Name, name, d.container.Name)
			}
			d.Templates[role.Name] = name
		}
	}

	// Report a typo in a volume's name instead of ignoring the flag.
	for volume := range given {
		if d.Templates[volume] == "" {
			return inputf("", "--claim %s: %s has no volume of that name", volume, d.traits.Product)
		}
	}

	// Folders are the best evidence; names are only a fallback.
	d.byFolder(mounts)
	for _, role := range d.traits.Volumes {
		if d.Templates[role.Name] == "" {
			d.Templates[role.Name] = likely(role.Name, mounts, d.Templates)
		}
		// Volumes without a claim do not exist in the deployment.
		if d.Templates[role.Name] == "" {
			delete(d.Templates, role.Name)
		}
	}

	if len(d.Templates) == 0 {
		return inputf("name it: --claim "+d.traits.Volumes[0].Name+"=NAME",
			"cannot assign the claim templates of %s to volumes: container %s mounts %s", d.Set.Name,
			d.container.Name, strings.Join(slices.Sorted(maps.Keys(mounts)), ", "))
	}

	return nil
}

// byFolder finds the claims of the data and the log by the engine's folders.
func (d *discovery) byFolder(mounts map[string]string) {
	log := d.traits.Log()
	if d.deployment.Log == nil || log == "" {
		return
	}

	data, logDir := d.deployment.Log.Dir("", d.process.Args, d.process.Getenv)
	on := holding(data, mounts)

	// The only claim must have the data, even if the default folder is elsewhere.
	if on == "" && len(mounts) == 1 {
		on = slices.Collect(maps.Keys(mounts))[0]
		_, logDir = d.deployment.Log.Dir(mounts[on], d.process.Args, d.process.Getenv)
	}

	if on != "" && d.Templates["data"] == "" && slices.ContainsFunc(d.traits.Volumes,
		func(r database.Role) bool { return r.Name == "data" }) {
		d.Templates["data"] = on
	}

	// An explicit setting overrides the default location.
	if d.its.LogFolder != nil {
		logDir = cmp.Or(d.its.LogFolder(d.process), logDir)
	}

	logOn := holding(logDir, mounts)
	if moved := holding(d.deployment.Log.Mount, mounts); moved != "" && mounts[moved] == d.deployment.Log.Mount {
		logOn = moved // mounted by emit or rollout, with a link to it
	}

	if logOn != "" && logOn != d.Templates["data"] && d.Templates[log] == "" {
		d.Templates[log] = logOn
	}
}

// holding returns the template with the innermost mount that contains a folder.
func holding(folder string, mounts map[string]string) string {
	best := ""
	for name, at := range mounts {
		if (folder == at || strings.HasPrefix(folder, strings.TrimSuffix(at, "/")+"/")) &&
			(best == "" || len(at) > len(mounts[best])) {
			best = name
		}
	}
	return best
}

// likely returns the unassigned template that is named like a volume.
func likely(volume string, mounts map[string]string, taken map[string]string) string {
	used := slices.Collect(maps.Values(taken))
	for _, name := range slices.Sorted(maps.Keys(mounts)) {
		if !slices.Contains(used, name) && (name == volume || strings.HasPrefix(name, volume+"-") ||
			strings.HasSuffix(name, "-"+volume)) {
			return name
		}
	}
	return ""
}

// host adds the machine and the container's limits.
func (d *discovery) host() {
	name, node := d.instanceName()
	i := d.instance(d.catalog)
	switch {
	case name == "":
		d.add("host.instance", fit.Quantity{}, fit.Assumed,
			"type of the machine: no node of the pods is readable, or none has the label %s; no machine limits are set",
			corev1.LabelInstanceTypeStable).
			AsDefault().ToKnow("kubectl get nodes -L " + corev1.LabelInstanceTypeStable)
	// The type is known but its limits are not, so set none rather than wrong ones.
	case i == nil:
		d.add("host.instance", fit.Quantity{}, fit.Assumed,
			"node %s is a %s, which is not in the catalogue; no machine limits are set", node,
			name).AsDefault().ToKnow("plimsoll catalog import")
	default:
		d.add("host.instance", fit.Word(i.Name), fit.Declared, "node %s, label %s", node,
			corev1.LabelInstanceTypeStable)
	}

	if limit, ok := d.container.Resources.Limits[corev1.ResourceMemory]; ok {
		d.add("host.memory", fit.Exactly(float64(limit.Value())), fit.Declared,
			"container %s, resources.limits.memory: %s", d.container.Name, limit.String())
	} else if i == nil {
		d.add("host.memory", fit.Quantity{},
			fit.Assumed, "memory: container %s has no limit, and the machine is unknown",
			d.container.Name).AsDefault()
	}

	if limit, ok := d.container.Resources.Limits[corev1.ResourceCPU]; ok {
		d.add("host.cpu_quota", fit.Ratio(limit.AsApproximateFloat64()), fit.Declared,
			"container %s, resources.limits.cpu: %s", d.container.Name, limit.String())
	}
}

// settings adds the engine's settings.
func (d *discovery) settings() {
	key := "engine." + d.traits.Key + "."
	before := len(d.Values)
	if members := d.deployment.Members; members != "" {
		d.add(key+members, fit.Count(float64(d.Members)), fit.Declared, "StatefulSet %s, replicas", d.Set.Name)
	}

	if d.its.Settings != nil {
		for _, s := range d.its.Settings(d.process) {
			known := fit.Declared
			if s.Derived {
				known = fit.Inferred
			}
			d.add(key+s.Key, s.Value, known, "container %s: %s", d.container.Name, s.From)
		}
	}

	// A scenario must name its engine even without any setting.
	if len(d.Values) == before {
		d.add("engine."+d.traits.Key, fit.Word("{}"), fit.Declared,
			"container %s: %s; no setting was found, so the engine's defaults apply", d.container.Name, d.by)
	}
}

// workload adds a placeholder for the real load, which is not recorded in the cluster.
func (d *discovery) workload() {
	const measure = "plimsoll fit SOURCE, with the database's metrics"
	d.add("workload.arrivals.poisson", fit.Word("100/s"), fit.Assumed,
		"load: 100 writes per second assumed").ToKnow(measure)
	d.add("workload.mix.insert", fit.Word("100%"), fit.Assumed,
		"share of reads: none assumed").ToKnow(measure)
	d.add("workload.document.size", fit.Exactly(float64(units.KiB)), fit.Assumed,
		"size of documents: 1 KiB assumed").ToKnow(measure)
}

// remarks adds caveats.
func (d *discovery) remarks() {
	for _, denied := range d.Denied {
		d.remark("%s: its values are assumed", denied)
	}

	if owner := owner(d.Set); owner != "" {
		d.remark("%s owns the StatefulSet and may revert changes to it: change that instead", owner)
	}

	missing := 0
	types := map[string]bool{}
	for _, p := range d.Pods {
		if !Ready(p) {
			missing++
			continue
		}
		if n := d.Nodes[p.Spec.NodeName]; n != nil {
			types[n.Labels[corev1.LabelInstanceTypeStable]] = true
		}
	}

	if missing > 0 {
		d.remark("%d of %d pods are not ready", missing, len(d.Pods))
	}

	if len(types) > 1 {
		d.remark("the pods run on machines of different types: %s; the scenario uses the first pod's",
			strings.Join(slices.Sorted(maps.Keys(types)), ", "))
	}
}

// knownType reports whether the catalogue has a product.
func knownType(name string) bool {
	_, err := catalog.Type(name)
	return err == nil
}
