package corerules

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	thePod       = `{{ask .pod "POD" "the pod of the database"}}`
	theContainer = `{{ask .container "CONTAINER" "the container of the database in its pod"}}`
	inNamespace  = `{{with .namespace}} -n {{q .}}{{end}}`
	theUnit      = `{{ask .unit "UNIT" "the unit of the service"}}`
	theName      = `{{ask .name "CONTAINER" "the name of the container"}}`
	theGroup     = `/sys/fs/cgroup{{ask .cgroup "CGROUP" "the group of the container, /system.slice/... of /proc/PID/cgroup"}}`
)

// resizePod changes a running container's limit in place, without a restart: Kubernetes' pod resize
// (KEP-1287), on by default from 1.33 on and stable in 1.35. `kubectl set resources` on the owner
// would restart every pod, and do nothing for a pod whose owner is a ReplicaSet of an older
// revision. The request is raised only if it equalled the limit: otherwise a Guaranteed pod would
// become Burstable, which the API rejects.
func resizePod(resource, amount string) rules.Recipe {
	saved := `~/plimsoll-` + resource + `-` + thePod + `.before`
	own := func(of, field string) string {
		return `{.` + of + `[?(@.name=="'` + theContainer + `'")].resources` + field + `}`
	}
	get := `kubectl get pod` + inNamespace + ` ` + thePod + ` -o jsonpath='`
	patch := `kubectl patch pod` + inNamespace + ` ` + thePod +
		` --subresource resize -p '{"spec":{"containers":[{"name":"'` + theContainer + `'","resources":`

	return rules.Recipe{Places: []rules.Place{rules.Kubernetes},
		Look: rules.SavedOnce(saved, get+own("spec.containers", "")+`'`),
		Do: rules.Tool(
			`BOTH=$(`+get+own("spec.containers", ".requests."+resource)+`='`+`'`+
				own("spec.containers", ".limits."+resource)+`')`,
			`REQUEST=; test "${BOTH%=*}" != "${BOTH#*=}" || REQUEST=',"requests":{"`+resource+`":"`+amount+`"}'`,
			`cat `+saved+` && `+patch+`{"limits":{"`+resource+`":"`+amount+`"}'"$REQUEST"'}}]}}'`),
		Check: rules.Tool(get+own("status.containerStatuses", "")+`'; echo`,
			`kubectl get pod`+inNamespace+` `+thePod+
				` -o jsonpath='{.status.conditions[?(@.type=="PodResizePending")].message}'; echo`),
		Undo: rules.Tool(patch + `'"$(cat ` + saved + `)"'}]}}' && rm ` + saved),
		Kept: "also change it where the pod is declared (manifest, chart or the operator's resource): a new pod starts with the old limit",
		Cost: "a container whose resizePolicy is RestartContainer is restarted; before 1.34 a memory limit cannot be lowered in place, so the undo is rejected there",
		Notes: []string{
			"It needs Kubernetes 1.33 and kubectl 1.32. With older versions, change the limit in the owner's template, which restarts the pods."}}
}

var providersLimit = rules.Recipe{Places: rules.Services, None: "the limit comes with the instance's size"}

// setProperty changes properties of a systemd unit until the next boot, and permanently with Keep,
// through drop-ins named 50-PROPERTY.conf (systemd, src/core/unit.c, unit_write_setting). Undo
// removes them and restores those that were there before, because a property set back to its old
// value would override the unit file from then on.
func setProperty(resource, show string, properties ...string) rules.Recipe {
	saved := `~/plimsoll-` + resource + `-` + theUnit + `.before.tar`
	var names []string
	for _, p := range properties {
		name, _, _ := strings.Cut(p, "=")
		for _, root := range []string{"/etc", "/run"} {
			names = append(names, root+`/systemd/system.control/`+theUnit+`.d/50-`+name+`.conf`)
		}
	}

	set := theUnit + ` ` + strings.Join(properties, " ")
	return rules.Recipe{Places: []rules.Place{rules.Host},
		Look: rules.OnShell(`systemctl show -p `+show+` `+theUnit+`; free -m`,
			// Without drop-ins, the list and the archive are empty.
			`F=`+saved+`; test -e "$F" || { ls -d /etc/systemd/system.control/`+theUnit+`.d /run/systemd/system.control/`+
				theUnit+`.d 2>/dev/null | tar -PT - -cf "$F.new" && mv "$F.new" "$F"; }`),
		Do:    rules.OnShell(`ls ` + saved + ` && sudo systemctl set-property --runtime ` + set),
		Keep:  rules.OnShell(`sudo systemctl set-property ` + set),
		Check: rules.OnShell(`systemctl show -p ` + show + ` ` + theUnit),
		Undo: rules.OnShell(`test -e ` + saved + ` && sudo rm -f ` + strings.Join(names, " ") +
			` && sudo tar -C / -Pxf ` + saved + ` && sudo systemctl daemon-reload && rm ` + saved)}
}

const dockerCPU = `~/plimsoll-cpu-` + theName + `.before`

// In Docker, raiseCPU depends on how the limit was set: --cpus is rejected if --cpu-quota set it
// (moby, daemon/daemon_unix.go, verifyPlatformContainerResources).
var raiseCPU = &rules.Remedy{
	Name: "cpu-limit", Title: "Raise the container's CPU limit",
	Recipes: []rules.Recipe{
		resizePod("cpu", "{{.cpus}}"),
		{Places: []rules.Place{rules.Docker},
			Look: rules.SavedOnce(dockerCPU,
				`docker inspect -f '{{"{{"}}.HostConfig.NanoCpus{{"}}"}} {{"{{"}}.HostConfig.CpuQuota{{"}}"}} {{"{{"}}.HostConfig.CpuPeriod{{"}}"}}' `+
					theName),
			Do: rules.OnShell(`read -r NANO QUOTA PERIOD < ` + dockerCPU +
				` && if [ "$QUOTA" -gt 0 ]; then docker update --cpu-period 100000 --cpu-quota {{.percent}}000 ` + theName +
				`; else docker update --cpus {{.cpus}} ` + theName + `; fi`),
			Check: rules.OnShell(
				`docker inspect -f '{{"{{"}}.HostConfig.NanoCpus{{"}}"}} {{"{{"}}.HostConfig.CpuQuota{{"}}"}} {{"{{"}}.HostConfig.CpuPeriod{{"}}"}}' `+
					theName, `docker stats --no-stream `+theName),
			Undo: rules.OnShell(`read -r NANO QUOTA PERIOD < ` + dockerCPU +
				` && if [ "$QUOTA" -gt 0 ]; then docker update --cpu-period "$PERIOD" --cpu-quota "$QUOTA" ` + theName +
				`; else docker update --cpus "$(awk -v n="$NANO" 'BEGIN { print n / 1e9 }')" ` + theName +
				`; fi && rm ` + dockerCPU),
			Kept: "also set it where the container is created: docker run --cpus, or compose's cpus"},
		setProperty("cpu", "CPUQuotaPerSecUSec", "CPUQuota={{.percent}}%"),
		providersLimit,
	},
	Cost: "its neighbours may get less CPU when the node is full",
	Wait: 2 * time.Minute, Until: "the new quota has applied for some of its periods",
	Size: sizeCPU, Example: rules.Values{"cpus": "4", "percent": "400"},
}

// sizeCPU is twice the quota: how much the container would use is unknown while it is limited. It
// is a whole number of percent, as systemd and the quota for a period of 100 ms require.
func sizeCPU(c *rules.Case, f *rules.Finding) rules.Values {
	quota := timeline.Max(ofSubject(c, rules.ContainerCPUQuota, f))
	if !(quota > 0) {
		return rules.Values{"cpus": "4", "percent": "400"}
	}
	percent := math.Ceil(200 * quota)
	return rules.Values{
		"cpus":    rules.Value(strconv.FormatFloat(percent/100, 'f', -1, 64)),
		"percent": rules.Value(strconv.FormatFloat(percent, 'f', -1, 64)),
	}
}

const dockerMemory = `~/plimsoll-memory-` + theName + `.before`

var raiseMemory = &rules.Remedy{
	Name: "memory-limit", Title: "Raise the container's memory limit",
	Recipes: []rules.Recipe{
		resizePod("memory", "{{.mib}}Mi"),
		{Places: []rules.Place{rules.Docker},
			Look: append(rules.SavedOnce(dockerMemory,
				`docker inspect -f '{{"{{"}}.HostConfig.Memory{{"}}"}} {{"{{"}}.HostConfig.MemorySwap{{"}}"}}' `+theName),
				rules.OnShell(`free -m`)...),
			// MemorySwap is memory plus swap; -1 is unlimited. The swap part must not change.
			Do: rules.OnShell(`read -r MEMORY SWAP < ` + dockerMemory +
				` && { test "$SWAP" -le 0 || SWAP=$(({{.mib}} * 1048576 + SWAP - MEMORY)); }` +
				` && docker update --memory {{.mib}}m --memory-swap "$SWAP" ` + theName),
			Check: rules.OnShell(`docker stats --no-stream ` + theName),
			Undo: rules.OnShell(`read -r MEMORY SWAP < ` + dockerMemory +
				` && docker update --memory "$MEMORY" --memory-swap "$SWAP" ` + theName + ` && rm ` + dockerMemory),
			Kept: "also set it where the container is created: docker run --memory, or compose's mem_limit",
			Cost: lowerMemory},
		withCost(setProperty("memory", "MemoryMax,MemoryHigh,MemoryCurrent", "MemoryHigh=infinity",
			"MemoryMax={{.mib}}M"), lowerMemory),
		providersLimit,
	},
	Cost: "memory of the node: check that it is free",
	Wait: 5 * time.Minute, Until: "the page cache has grown into it",
	Raises: []string{"page_cache_dirty"},
	Size: func(c *rules.Case, f *rules.Finding) rules.Values {
		out := rules.Values{"mib": "12288"}
		if limit := timeline.Max(ofSubject(c, rules.ContainerMemoryLimit, f)); limit > 0 {
			out["mib"] = rules.Value(fmt.Sprintf("%.0f", 1.5*limit/rules.MiB))
		}
		return out
	},
	Example: rules.Values{"mib": "12288"},
}

const lowerMemory = "lowering it again below what is in use can trigger the OOM killer: undo it when the load is low"

func withCost(r rules.Recipe, cost string) rules.Recipe {
	r.Cost = cost
	return r
}

func withNotes(r rules.Recipe, notes ...string) rules.Recipe {
	r.Notes = append(r.Notes, notes...)
	return r
}

const groupLimits = `~/plimsoll-io-limit-"$(basename ` + theGroup + `)".before`

// liftIO removes an I/O limit at the cgroup. Whatever created the container also set the limit, and
// sets it again at the next start.
var liftIO = &rules.Remedy{
	Name: "io-limit", Title: "Lift the container's I/O limit on the device",
	Recipes: []rules.Recipe{
		{Places: []rules.Place{rules.Host, rules.Docker},
			Look: rules.SavedOnce(groupLimits, `cat `+theGroup+`/io.max`),
			Do: rules.IfSaved(groupLimits,
				`echo "$(lsblk -dno MAJ:MIN {{ask .device "DEVICE" "the device, /dev/..."}} | tr -d ' ') {{.lift}}" | sudo tee `+
					theGroup+`/io.max`),
			Check: rules.OnShell(`cat ` + theGroup + `/io.max ` + theGroup + `/io.pressure`),
			// The kernel takes one device with its limits at a time (Documentation/admin-guide/cgroup-v2.rst).
			Undo: rules.OnShell(`(while read -r LIMIT; do echo "$LIMIT" | sudo tee ` + theGroup +
				`/io.max || exit 1; done < ` + groupLimits + `) && rm ` + groupLimits),
			Kept:  "also lift it where it was set (systemd's IOWriteIOPSMax=, docker run --device-write-iops), or it comes back at the next start",
			Notes: []string{"With cgroup v1, use the blkio.throttle files; see the rule's page."}},
		{Places: []rules.Place{rules.Kubernetes},
			None: "Kubernetes has no I/O limits: lift it where it was set (the runtime's blockio class, an operator, a daemon on the node)"},
		providersLimit,
	},
	Cost: "neighbours on the same volume notice this container's bursts",
	Wait: 2 * time.Minute, Until: "a checkpoint has passed without the limit",
	Raises:  []string{"iops", "throughput", "utilisation"},
	Size:    sizeLift,
	Example: rules.Values{"lift": "wiops=max wbps=max"},
}

// sizeLift lifts the limits that were measured; all of them if none was.
func sizeLift(c *rules.Case, f *rules.Finding) rules.Values {
	out := rules.Values{"lift": "riops=max rbps=max wiops=max wbps=max", "device": ""}
	if _, dev, ok := strings.Cut(f.Subject, " on "); ok {
		out["device"] = rules.Called("/dev/" + dev)
	}

	var lift []string
	for _, l := range rules.IOLimits {
		if timeline.Max(ofSubject(c, l.Limit, f)) > 0 {
			lift = append(lift, l.Key+"=max")
		}
	}

	if len(lift) > 0 {
		out["lift"] = rules.Value(strings.Join(lift, " "))
	}

	return out
}

// ofSubject is a signal of the container, and of the device if any, that a finding's subject names.
func ofSubject(c *rules.Case, signal *rules.Signal, f *rules.Finding) []float64 {
	name, dev, _ := strings.Cut(f.Subject, " on ")
	for _, t := range c.Signal(signal) {
		if rules.ContainerName(t.Labels) == name && (dev == "" || t.Labels.Get("device") == dev) {
			return t.Values
		}
	}
	return nil
}
