package rules

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/record/timeline"
)

const (
	podsOwner = `$(kubectl get pod{{with .namespace}} -n {{q .}}{{end}} {{ask .pod "POD" "the pod of the database"}} -o jsonpath='{.metadata.ownerReferences[0].kind}/{.metadata.ownerReferences[0].name}')`
	setOwner  = `OWNER=` + podsOwner + `; echo "$OWNER"`
	ofOwner   = `{{with .namespace}} -n {{q .}}{{end}} "$OWNER"`
	theUnit   = `{{ask .unit "UNIT" "the unit of the service"}}`
	theName   = `{{ask .name "CONTAINER" "the name of the container"}}`
	theGroup  = `/sys/fs/cgroup{{ask .cgroup "CGROUP" "the group of the container, /system.slice/... of /proc/PID/cgroup"}}`
	rollsPods = "the pods, one after the other, if their owner rolls them"
	operator  = "If an operator owns the pods, it puts its own figure back: set it in the operator's resource."
)

// setResources are the ways to change a container's limit in Kubernetes, where pods are made anew for
// it.
func setResources(limit string) Recipe {
	return Recipe{Places: []Place{Kubernetes},
		Look:    Tool(setOwner, `kubectl get`+ofOwner+` -o jsonpath='{.spec.template.spec.containers[*].resources}'; echo`),
		Do:      Tool(`kubectl set resources` + ofOwner + `{{with .container}} -c {{q .}}{{end}} --limits=` + limit),
		Check:   Tool(`kubectl rollout status` + ofOwner),
		Undo:    Tool(`kubectl rollout undo` + ofOwner),
		Kept:    "it lasts until the manifest is applied again: change it there, too",
		Restart: rollsPods, Notes: []string{operator}}
}

var providersLimit = Recipe{Places: []Place{RDS, Managed}, None: "the limit is that of the instance's size"}

var raiseCPU = &Remedy{
	Name: "cpu-limit", Title: "Raise the container's CPU limit",
	Recipes: []Recipe{
		setResources(`cpu={{.cpus}}`),
		{Places: []Place{Docker},
			Look: OnShell(`docker inspect -f '{{"{{"}}.HostConfig.NanoCpus{{"}}"}} {{"{{"}}.HostConfig.CpuQuota{{"}}"}}' ` + theName),
			Do:   OnShell(`docker update --cpus {{.cpus}} ` + theName), Check: OnShell(`docker stats --no-stream ` + theName),
			Undo: OnShell(`docker update --cpus {{ask .was "OLD_CPUS" "the CPUs it had"}} ` + theName), Kept: "set it where the container is made: docker run --cpus, or compose's cpus"},
		{Places: []Place{Host},
			Look: OnShell(`systemctl show -p CPUQuotaPerSecUSec ` + theUnit), Do: OnShell(`sudo systemctl set-property --runtime ` + theUnit + ` CPUQuota={{.percent}}%`),
			Keep:  OnShell(`sudo systemctl set-property ` + theUnit + ` CPUQuota={{.percent}}%`),
			Check: OnShell(`systemctl show -p CPUQuotaPerSecUSec ` + theUnit),
			Undo:  OnShell(`sudo systemctl set-property ` + theUnit + ` CPUQuota={{with .wasPercent}}{{.}}{{else}}"${OLD_PERCENT:?the quota it had, in percent of a CPU}"{{end}}%`)},
		providersLimit,
	},
	Cost: "its neighbours can be crowded when the node is full",
	Wait: 2 * time.Minute, Until: "the new quota has held for some of its periods",
	Size: sizeCPU, Example: Values{"cpus": "4", "percent": "400"},
}

// sizeCPU is twice the quota: how much more the container would use is not known while it is held.
func sizeCPU(c *Case, f *Finding) Values {
	out := Values{"cpus": "4", "percent": "400", "was": "", "wasPercent": ""}
	if quota := timeline.Max(c.ofSubject(ContainerCPUQuota, f)); quota > 0 {
		text := func(x float64) Value { return Value(strconv.FormatFloat(x, 'f', -1, 64)) }
		out = Values{"cpus": text(2 * quota), "percent": text(200 * quota), "was": text(quota), "wasPercent": text(100 * quota)}
	}
	return out
}

var raiseMemory = &Remedy{
	Name: "memory-limit", Title: "Raise the container's memory limit",
	Recipes: []Recipe{
		setResources(`memory={{.mib}}Mi`),
		{Places: []Place{Docker},
			Look:  OnShell(`docker inspect -f '{{"{{"}}.HostConfig.Memory{{"}}"}} {{"{{"}}.HostConfig.MemorySwap{{"}}"}}' ` + theName + `; free -m`),
			Do:    OnShell(`docker update --memory {{.mib}}m --memory-swap {{.mib}}m ` + theName),
			Check: OnShell(`docker stats --no-stream ` + theName),
			Undo:  OnShell(`docker update --memory {{ask .was "OLD_MEMORY" "the memory it had, in bytes"}} --memory-swap {{ask .was "OLD_MEMORY" "the memory it had, in bytes"}} ` + theName),
			Kept:  "set it where the container is made: docker run --memory, or compose's mem_limit",
			Notes: []string{"To lower it again under what is in use can end in the OOM killer: undo it when the load is low."}},
		{Places: []Place{Host},
			Look: OnShell(`systemctl show -p MemoryMax,MemoryHigh,MemoryCurrent ` + theUnit + `; free -m`), Do: OnShell(`sudo systemctl set-property --runtime ` + theUnit + ` MemoryHigh=infinity MemoryMax={{.mib}}M`),
			Keep: OnShell(`sudo systemctl set-property ` + theUnit + ` MemoryHigh=infinity MemoryMax={{.mib}}M`), Check: OnShell(`systemctl show -p MemoryMax,MemoryHigh,MemoryCurrent ` + theUnit),
			Undo:  OnShell(`sudo systemctl set-property ` + theUnit + ` MemoryMax={{ask .was "OLD_MEMORY" "the limit that the first command showed"}}`),
			Notes: []string{"To lower it again under what is in use can end in the OOM killer: undo it when the load is low."}},
		providersLimit,
	},
	Cost: "memory of the node: look that it is free",
	Wait: 5 * time.Minute, Until: "the page cache has grown into it",
	Raises: []string{"page_cache_dirty"},
	Size: func(c *Case, f *Finding) Values {
		out := Values{"mib": "12288", "was": ""}
		if limit := timeline.Max(c.ofSubject(ContainerMemoryLimit, f)); limit > 0 {
			out = Values{"mib": Value(fmt.Sprintf("%.0f", 1.5*limit/mib)), "was": Value(fmt.Sprintf("%.0f", limit))}
		}
		return out
	},
	Example: Values{"mib": "12288"},
}

// liftIO removes an I/O limit where the kernel keeps it; whoever made the container made the limit,
// and makes it again.
var liftIO = &Remedy{
	Name: "io-limit", Title: "Lift the container's I/O limit on the device",
	Recipes: []Recipe{
		{Places: []Place{Host, Docker},
			Look:  OnShell(`cat ` + theGroup + `/io.max`),
			Do:    OnShell(`echo "$(lsblk -dno MAJ:MIN {{ask .device "DEVICE" "the device, /dev/..."}} | tr -d ' ') {{.lift}}" | sudo tee ` + theGroup + `/io.max`),
			Check: OnShell(`cat ` + theGroup + `/io.max ` + theGroup + `/io.pressure`),
			Undo:  OnShell(`echo "$(lsblk -dno MAJ:MIN {{ask .device "DEVICE" "the device, /dev/..."}} | tr -d ' ') {{with .back}}{{.}}{{else}}${OLD_LIMIT:?what io.max said, such as wiops=3000}{{end}}" | sudo tee ` + theGroup + `/io.max`),
			Kept:  "lift it where it was set (systemd's IOWriteIOPSMax=, docker run --device-write-iops), or it comes back with the next start",
			Notes: []string{"With cgroup v1 the files are those of blkio.throttle; see the rule's page."}},
		{Places: []Place{Kubernetes}, None: "Kubernetes has no limit of I/O of its own: what set this one (the runtime's blockio class, an operator, a daemon on the node) has to lift it"},
		providersLimit,
	},
	Cost: "neighbours on the same volume feel this container's bursts",
	Wait: 2 * time.Minute, Until: "a checkpoint has passed without the limit",
	Raises:  []string{"iops", "throughput", "utilisation"},
	Size:    sizeLift,
	Example: Values{"lift": "wiops=max wbps=max", "back": ""},
}

func sizeLift(c *Case, f *Finding) Values {
	out := Values{"lift": "riops=max rbps=max wiops=max wbps=max", "back": "", "device": ""}
	if _, dev, ok := strings.Cut(f.Subject, " on "); ok {
		out["device"] = Called("/dev/" + dev)
	}
	var lift, back []string
	for _, l := range ioLimits {
		if limit := timeline.Max(c.ofSubject(l.limit, f)); limit > 0 {
			lift = append(lift, l.key+"=max")
			back = append(back, fmt.Sprintf("%s=%.0f", l.key, limit))
		}
	}
	if len(lift) > 0 {
		out["lift"], out["back"] = Value(strings.Join(lift, " ")), Value(strings.Join(back, " "))
	}
	return out
}

// ofSubject is a container's signal where a finding is about that container, and the device that it
// names, if any.
func (c *Case) ofSubject(signal *Signal, f *Finding) []float64 {
	name, dev, _ := strings.Cut(f.Subject, " on ")
	for _, t := range c.Signal(signal) {
		if containerName(t.Labels) == name && (dev == "" || t.Labels.Get("device") == dev) {
			return t.Values
		}
	}
	return nil
}

// ContainerOf is what identifies the container that a finding is about, or else the database's own
// where only one was measured.
func (c *Case) ContainerOf(f *Finding) map[string]string {
	name, _, _ := strings.Cut(f.Subject, " on ")
	found := map[string]map[string]string{}
	for _, s := range []*Signal{ContainerCPUUsed, ContainerMemoryUsed, ContainerCPUQuota, ContainerMemoryLimit, ContainerWrites, ContainerWritesLimit, ContainerWrittenLimit} {
		for _, t := range c.Signal(s) {
			l := map[string]string{}
			for _, k := range []string{"namespace", "pod", "container", "name", "id"} {
				if v := t.Labels.Get(k); v != "" {
					l[k] = v
				}
			}
			if containerName(t.Labels) == name {
				return l
			}
			found[containerName(t.Labels)] = l
		}
	}
	if len(found) == 1 {
		for _, l := range found {
			return l
		}
	}
	return nil
}
