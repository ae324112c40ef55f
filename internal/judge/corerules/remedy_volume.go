package corerules

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/judge/rules"
)

// EBS limits and prices (Amazon EBS User Guide, "Amazon EBS volume types"). A gp3 has at most 80,000 IOPS,
// 2,000 MiB/s, and 0.25 MiB/s per IOPS; an io2 Block Express has at most 256,000 IOPS.
const (
	gp3MostIOPS    = 80_000
	gp3MostMiBs    = 2_000
	gp3FreeIOPS    = 3_000
	gp3FreeMiBs    = 125
	gp3IOPSPrice   = 0.005 // USD per month and IOPS, us-east-1
	gp3MiBsPrice   = 0.04
	gp3MiBsPerIOPS = 0.25
	io2MostIOPS    = 256_000
	stepIOPS       = 500
	stepMiBs       = 25
	// asMeasured is how far a measured plateau may exceed its limit.
	asMeasured = 0.005
)

const (
	volumeID     = `{{ask .volume "VOLUME" "the id of the volume, vol-..."}}`
	claimsVolume = `VOLUME=$(kubectl get pv "$(kubectl get pvc{{with .namespace}} -n {{q .}}{{end}} {{ask .claim "CLAIM" "the volume claim of the database"}} -o jsonpath='{.spec.volumeName}')" -o jsonpath='{.spec.csi.volumeHandle}'); echo "$VOLUME"`
	// ofClaim stops the commands in a shell in which look has not run.
	ofClaim     = `"${VOLUME:?look sets it}"`
	ownCloud    = "The commands are for EBS, because no source shows which cloud this is. In other clouds, order the same figures from the provider."
	instanceToo = "The machine has a limit, too: aws ec2 describe-instance-types shows it under EbsInfo. More than that buys nothing."
	fourADay    = "EBS accepts the next change to a volume only when this one has completed, and four in 24 hours: the undo has to wait for that, too; the volume can be slower until it has completed"
	byClass     = "The claim's class does not include this change: order new volumes the same way, through a StorageClass or a VolumeAttributesClass."
)

var onAWS = []rules.Cloud{rules.AWS}

// notes adds what there is to say about a claim's volume, if commands look it up first.
func notes(lookUp []rules.Command, all ...string) []string {
	if len(lookUp) > 0 {
		all = append(all, byClass)
	}
	return all
}

// load reads the saved state. Without it the first variable is empty, whatever an earlier command left in it.
func load(variables, saved string) []rules.Command {
	first, _, _ := strings.Cut(variables, " ")
	return rules.OnShell(first + `=; read -r ` + variables + ` < ` + saved)
}

// ordered removes the saved state once the API has accepted the order. The API may refuse the undo for hours,
// because the change before it has not completed.
func ordered(modify, saved string) []rules.Command {
	return rules.OnShell(`{ ` + modify + `; } && rm ` + saved)
}

// An order is what to order for a volume: IOPS, MiB/s, or both.
type order struct{ iops, mibs bool }

// modifyVolume returns the recipes that change a volume online, for each cloud. Look saves what the
// volume is provisioned with; Do never orders less than that; Undo orders exactly that again.
func modifyVolume(o order) []rules.Recipe {
	return []rules.Recipe{
		{Places: []rules.Place{rules.Host, rules.Docker, rules.Kubernetes}, Clouds: []rules.Cloud{rules.NoCloud},
			None: "the host is in no cloud that Plimsoll supports: set this where its storage is administered"},
		o.onEBS(volumeID, nil, onAWS, rules.Host, rules.Docker),
		o.onAzure(`{{ask .volume "DISK" "the disk's resource id, /subscriptions/..."}}`, nil, rules.Host, rules.Docker),
		o.onGoogle(nil, rules.Host, rules.Docker),
		withNotes(o.onEBS(volumeID, nil, nil, rules.Host, rules.Docker), ownCloud),
		o.onEBS(ofClaim, rules.Tool(claimsVolume), onAWS, rules.Kubernetes),
		o.onAzure(ofClaim, rules.Tool(claimsVolume), rules.Kubernetes),
		o.onGoogle(rules.Tool(claimsVolume), rules.Kubernetes),
		withNotes(o.onEBS(ofClaim, rules.Tool(claimsVolume), nil, rules.Kubernetes), ownCloud),
		o.onRDS(), {Places: []rules.Place{rules.Aurora}, None: auroraStorage}, o.onAzureDB(), o.onCloudSQL(),
		{Places: []rules.Place{rules.Managed}, None: "the provider sells its own sizes"},
	}
}

// onEBS orders for a gp3, io1 or io2. More MiB/s on a gp3 need IOPS that carry them; other types,
// including gp2, have no MiB/s to order.
func (o order) onEBS(volume string, first []rules.Command, clouds []rules.Cloud,
	places ...rules.Place) rules.Recipe {
	saved := `~/plimsoll-volume-` + volume + `.before`
	var want []rules.Command
	if o.iops {
		want = append(want, rules.OnShell(`test "$IOPS" -ge {{.iops}} || IOPS={{.iops}}`)...)
	}

	if o.mibs {
		want = append(want,
			rules.OnShell(
				`test "$TYPE" != gp3 || { test "$MIBS" -ge {{.mibs}} || MIBS={{.mibs}}; test "$IOPS" -ge $((MIBS * 4)) || IOPS=$((MIBS * 4)); }`)...)
	}

	modify := `case "$TYPE" in gp3) aws ec2 modify-volume --volume-id ` + volume +
		` --iops "$IOPS" --throughput "$MIBS" ;; io1|io2) aws ec2 modify-volume --volume-id ` + volume +
		` --iops "$IOPS" ;; '') false ;; *) echo "$TYPE has nothing to order: change it to gp3 first" ;; esac`

	// Both Do and Undo start from the saved state, so running Do twice does not order more.
	load := load(`TYPE SIZE IOPS MIBS`, saved)
	changes := `aws ec2 describe-volumes-modifications --filters Name=volume-id,Values=` + volume +
		` --query 'VolumesModifications[0].[ModificationState,Progress,StartTime]' --output text`
	return rules.Recipe{
		Places: places, Clouds: clouds,
		Look: append(append(slices.Concat(first, rules.Tool(`aws ec2 describe-volumes --volume-ids `+volume+
			` --query 'Volumes[0].[VolumeId,AvailabilityZone,State,Attachments[0].InstanceId]' --output text`)),
			rules.SavedOnce(saved, `aws ec2 describe-volumes --volume-ids `+volume+
				` --query 'Volumes[0].[VolumeType,Size,Iops,Throughput]' --output text`)...), rules.Tool(changes)...),
		Do: slices.Concat(load, want, rules.OnShell(modify)), Check: rules.Tool(changes),
		Undo: slices.Concat(load, ordered(modify, saved)), Kept: "it lasts",
		Cost:  fourADay,
		Notes: notes(first, instanceToo),
	}
}

// onAzure orders for a Premium SSD v2 or an Ultra disk. A Premium SSD has the limits of its tier: a
// higher tier can be ordered without a restart, and lowered again once in 12 hours (Azure, "Change
// your performance tier").
func (o order) onAzure(disk string, first []rules.Command, places ...rules.Place) rules.Recipe {
	saved := `~/plimsoll-azure-disk-"$(basename ` + disk + `)".before`
	show := `az disk show --ids ` + disk +
		` --query '[sku.name,diskIOPSReadWrite,diskMBpsReadWrite,tier]' --output tsv | tr '\n' ' '`
	var want []rules.Command

	if o.iops {
		want = append(want, rules.OnShell(`test "$IOPS" -ge {{.iops}} || IOPS={{.iops}}`)...)
	}

	if o.mibs {
		want = append(want, rules.OnShell(`test "$MBPS" -ge {{.mibs}} || MBPS={{.mibs}}`)...)
	}

	modify := func(tier string) string {
		return `case "$SKU" in PremiumV2*|UltraSSD*) az disk update --ids ` + disk +
			` --disk-iops-read-write "$IOPS" --disk-mbps-read-write "$MBPS" ;; Premium_*) az disk update --ids ` + disk +
			` --set tier=` + tier + ` ;; '') false ;; *) echo "$SKU has nothing to order" ;; esac`
	}

	load := load(`SKU IOPS MBPS TIER`, saved)
	return rules.Recipe{
		Places: places, Clouds: []rules.Cloud{rules.Azure},
		Look: slices.Concat(first, rules.Tool(`az disk show --ids `+disk+` --query '[[id,managedBy,diskState]]' --output tsv`),
			rules.SavedOnce(saved, show)),
		Do: slices.Concat(load, want,
			rules.OnShell(modify(`"${HIGHER_TIER:?a tier above the present one, such as P40}"`))),
		Check: rules.Tool(show),
		Undo:  slices.Concat(load, ordered(modify(`"$TIER"`), saved)),
		Kept:  "it lasts",
		Cost:  "a tier can be lowered at most once in 12 hours, and a Premium SSD v2 changed four times in 24 hours: the undo has to wait for that, too",
		Notes: notes(first, "The machine has a limit, too: its size's \"max uncached disk throughput\". More than that buys nothing.",
			"A Standard SSD or HDD has no tier to order: change it to a Premium SSD."),
	}
}

// onGoogle orders for a Hyperdisk. A Persistent Disk's limits follow its size, which cannot shrink.
func (o order) onGoogle(first []rules.Command, places ...rules.Place) rules.Recipe {
	// On Kubernetes the volume handle contains the zone; elsewhere the reader sets it.
	disk, zone := `{{ask .volume "DISK" "the name of the disk"}}`, `"${ZONE:?the zone of the disk}"`
	if len(first) > 0 {
		first = append(first, rules.OnShell(`DISK=${VOLUME##*/}; ZONE=${VOLUME%/disks/*}; ZONE=${ZONE##*/}`)...)
		disk, zone = `"${DISK:?look sets it}"`, `"${ZONE:?look sets it}"`
	}

	saved := `~/plimsoll-google-disk-` + zone + `-` + disk + `.before` // names are unique only within a zone
	show := `gcloud compute disks describe ` + disk + ` --zone ` + zone +
		` --format 'value(type.basename(),provisionedIops,provisionedThroughput)'`
	update, options := `gcloud compute disks update `+disk+` --zone `+zone, ""
	var want []rules.Command

	if o.iops {
		want = append(want, rules.OnShell(`test "$IOPS" -ge {{.iops}} || IOPS={{.iops}}`)...)
		options += ` --provisioned-iops "$IOPS"`
	}

	if o.mibs {
		want = append(want, rules.OnShell(`test "$MIBS" -ge {{.mibs}} || MIBS={{.mibs}}`)...)
		options += ` --provisioned-throughput "$MIBS"`
	}

	modify := `case "$TYPE" in hyperdisk-*) ` + update + options +
		` ;; '') false ;; *) echo "the limits of $TYPE follow its size: a Hyperdisk has limits to order" ;; esac`
	load := load(`TYPE IOPS MIBS`, saved)
	return rules.Recipe{
		Places: places, Clouds: []rules.Cloud{rules.Google},
		// Disks in different projects may have the same name; the link contains the project.
		Look: slices.Concat(first, rules.Tool(`gcloud compute disks describe `+disk+` --zone `+zone+
			` --format 'value(selfLink,users.basename())'`), rules.SavedOnce(saved, show)),
		Do:    slices.Concat(load, want, rules.OnShell(modify)),
		Check: rules.Tool(show),
		Undo:  slices.Concat(load, ordered(modify, saved)),
		Kept:  "it lasts",
		Cost:  "a Hyperdisk's limits can be changed once in four hours: the undo has to wait for that, too",
		Notes: notes(first, "The machine has a limit, too, which depends on its type and number of vCPUs. More than that buys nothing."),
	}
}

// onRDS orders for a DB instance's gp3 of 400 GiB or more, which starts at 12,000 IOPS and 500
// MiB/s; smaller ones have only the baseline, and storage cannot shrink. IOPS are ordered together
// with the allocated storage (RDS API, ModifyDBInstance; RDS User Guide, "gp3 storage").
func (o order) onRDS() rules.Recipe {
	const (
		db    = `{{ask .instance "DB" "the identifier of the instance"}}`
		saved = `~/plimsoll-rds-` + db + `.before`
		of    = `aws rds describe-db-instances --db-instance-identifier ` + db
		show  = of +
			` --query 'DBInstances[0].[StorageType,AllocatedStorage,Iops,StorageThroughput,DBInstanceStatus]' --output text`
	)

	options := ` --iops "$IOPS"`
	want := rules.OnShell(`test "$IOPS" -ge {{.iops}} || IOPS={{.iops}}`, `test "$IOPS" -ge 12000 || IOPS=12000`)
	if o.mibs {
		options += ` --storage-throughput "$MIBS"`
		want = append(want, rules.OnShell(`test "$MIBS" -ge {{.mibs}} || MIBS={{.mibs}}`,
			`test "$MIBS" -ge 500 || MIBS=500`)...)
	}

	modify := `if [ "$TYPE" = gp3 ] && [ "${SIZE:?the API did not answer}" -ge 400 ]; then aws rds modify-db-instance --db-instance-identifier ` +
		db + ` --allocated-storage "$SIZE"` + options + ` --apply-immediately; else test -n "$TYPE" &&` +
		` echo "$TYPE of $SIZE GiB: nothing to order below 400 GiB of gp3, and storage cannot shrink again"; fi`
	// Storage autoscaling may have grown it since look. IOPS are ordered with the present size; another one
	// is rounded up to 10 % more, permanently (botocore 1.43, rds, ModifyDBInstance).
	load := append(load(`TYPE SIZE IOPS MIBS STATUS`, saved),
		rules.Tool(`SIZE=$(`+of+` --query 'DBInstances[0].AllocatedStorage' --output text)`)...)
	return rules.Recipe{Places: []rules.Place{rules.RDS},
		Look: append(rules.Tool(of+` --query 'DBInstances[0].[DBInstanceArn,Engine,EngineVersion]' --output text`),
			rules.SavedOnce(saved, show)...),
		Do:    slices.Concat(load, want, rules.OnShell(modify)),
		Check: rules.Tool(show),
		Undo:  slices.Concat(load, ordered(modify, saved)),
		Kept:  "it lasts",
		// RDS User Guide, "Modifying settings for Provisioned IOPS SSD storage" (2026); older editions state
		// a minimum interval of six hours instead of four changes a day.
		Cost:  "the instance stays in the state storage-optimization for hours and can be slower meanwhile; its storage can be changed again only after that, and four times in 24 hours: the undo has to wait for that, too, and the API may round a figure that is lowered up to 10 % above the present one: check after it; storage never shrinks",
		Notes: []string{"IOPS and throughput can be ordered only for instances with gp3 of 400 GiB or more (Oracle: 200). Growing a smaller one to 400 GiB gives 12,000 IOPS, and cannot be undone."}}
}

// theVolume is what all of these remedies change: EBS accepts one change at a time, and no source
// reports the setting.
var theVolume = []string{"volume"}

const (
	volumeMoney = "{{if and .dollars (not .elsewhere)}}about USD {{.dollars}} a month if it is a gp3 (us-east-1)" +
		"{{else}}the added amount, at the price of the volume's type{{end}}"
	volumeChanged = "the change is in the state optimizing or completed"
)

var raiseIOPS = &rules.Remedy{
	Name: "raise-iops", Title: "Raise the volume's IOPS",
	Relieves: []rules.Resource{rules.VolumeIOPS},
	Recipes:  modifyVolume(order{iops: true}),
	Money:    volumeMoney, Wait: 30 * time.Minute, Until: volumeChanged,
	Raises: []string{"iops", "throughput"}, Settings: theVolume, Size: sizeVolume, Needed: raises,
	Example: rules.Values{"iops": "6000", "dollars": "15"},
}

var raiseThroughput = &rules.Remedy{
	Name: "raise-throughput", Title: "Raise the volume's throughput",
	Relieves: []rules.Resource{rules.VolumeThroughput},
	Recipes:  modifyVolume(order{mibs: true}),
	Money:    volumeMoney, Wait: 30 * time.Minute, Until: volumeChanged,
	Raises: []string{"iops", "throughput"}, Settings: theVolume, Size: sizeVolume, Needed: raises,
	Example: rules.Values{"mibs": "250", "iops": "3000", "dollars": "5.00"},
}

var raiseBoth = &rules.Remedy{
	Name: "raise-both", Title: "Raise the volume's IOPS and throughput together",
	Relieves: []rules.Resource{rules.VolumeIOPS, rules.VolumeThroughput},
	Recipes:  modifyVolume(order{iops: true, mibs: true}),
	Money:    volumeMoney, Wait: 30 * time.Minute, Until: volumeChanged,
	Raises: []string{"iops", "throughput"}, Settings: theVolume, Size: sizeVolume, Needed: raises,
	Example: rules.Values{"iops": "6000", "mibs": "250", "dollars": "20"},
}

// raises reports whether the order exceeds the limit that binds: beyond the largest volume there is
// nothing to order.
func raises(_ *rules.Case, v rules.Values) bool { return v["less"] == "" }

// sizeVolume doubles the cap that binds. How much a burst needs is unknown until it is served. The
// price is that of a gp3, and is left out if only other types reach that much.
func sizeVolume(_ *rules.Case, finding *rules.Finding) rules.Values {
	values := rules.Values{"iops": "6000", "mibs": "250", "dollars": "", "less": "", "volume": volumeOf(finding)}
	if strings.HasSuffix(finding.Subject, rules.RDSLogVolume) {
		values["less"] = "yes" // its limits are fixed, and a command would change the data's volume
		return values
	}

	if finding.Cap == nil {
		return values
	}

	dollars, priced := 0.0, true

	// Only what exceeds the free baseline costs money.
	iops, mibs := float64(gp3FreeIOPS), float64(gp3FreeMiBs)
	if limit := finding.Cap.IOPS; limit > 0 {
		most := float64(gp3MostIOPS)
		if limit*(1-asMeasured) >= gp3MostIOPS {
			most, priced = io2MostIOPS, false
		}
		iops = max(gp3FreeIOPS, min(most, math.Ceil(2*limit*(1-asMeasured)/stepIOPS)*stepIOPS))
		dollars += (iops - max(gp3FreeIOPS, limit)) * gp3IOPSPrice
		if iops <= limit {
			values["less"] = "yes"
		}
	}

	if limit := finding.Cap.Throughput / rules.MiB; limit > 0 {
		mibs = max(gp3FreeMiBs, min(gp3MostMiBs, math.Ceil(2*limit*(1-asMeasured)/stepMiBs)*stepMiBs))
		// A gp3's throughput needs enough IOPS to carry it.
		if need := mibs / gp3MiBsPerIOPS; need > iops {
			dollars += (need - max(gp3FreeIOPS, iops)) * gp3IOPSPrice
			iops = need
		}
		dollars += (mibs - max(gp3FreeMiBs, limit)) * gp3MiBsPrice
		if mibs <= limit {
			values["less"] = "yes"
		}
	}

	values["iops"], values["mibs"] = rules.Value(fmt.Sprintf("%.0f", iops)),
		rules.Value(fmt.Sprintf("%.0f", mibs))
	if priced && dollars > 0 {
		values["dollars"] = rules.Number(dollars)
	}

	return values
}

// volumeOf is the ID of the EBS volume that a finding is about; "" if it is about a device.
func volumeOf(f *rules.Finding) rules.Value {
	if len(f.Subject) > 4 && f.Subject[:4] == "vol-" {
		return rules.Called(f.Subject)
	}
	return ""
}

// toGP3 replaces a volume that has credits, if it is one: a ceiling that fell may be the
// instance's. A gp3 without options has 3,000 IOPS and 125 MiB/s, less than a gp2 of more than
// 1,000 GiB or 170 GiB respectively, so both are ordered as the gp2 had them.
var toGP3 = &rules.Remedy{
	Name: "gp3", Title: "Change a gp2 volume to gp3, which has no credits",
	Relieves: []rules.Resource{rules.VolumeIOPS, rules.VolumeThroughput},
	Recipes: []rules.Recipe{
		gp3Of(volumeID, nil, rules.Host, rules.Docker), gp3Of(ofClaim, rules.Tool(claimsVolume), rules.Kubernetes),
		{
			Places: []rules.Place{rules.Host, rules.Docker, rules.Kubernetes},
			Clouds: []rules.Cloud{rules.Azure, rules.Google, rules.NoCloud},
			None:   "gp2 and gp3 are Amazon's",
		},
		{Places: []rules.Place{rules.RDS},
			None: "on RDS this depends on the storage type: change that in a maintenance window"},
		{Places: []rules.Place{rules.Aurora}, None: auroraStorage},
		{Places: []rules.Place{rules.AzureDB, rules.CloudSQL}, None: "gp2 and gp3 are Amazon's"},
		{Places: []rules.Place{rules.Managed}, None: "the provider sells its own sizes"},
	},
	Money: "less than gp2: USD 0.08 instead of 0.10 per GB and month, plus USD 5 for 250 MiB/s (us-east-1)",
	Saves: true,
	Wait:  30 * time.Minute, Until: volumeChanged,
	Raises: []string{"iops", "throughput"}, Settings: theVolume,
	Size: func(_ *rules.Case, f *rules.Finding) rules.Values { return rules.Values{"volume": volumeOf(f)} },
}

func gp3Of(volume string, first []rules.Command, places ...rules.Place) rules.Recipe {
	r := order{}.onEBS(volume, first, onAWS, places...)
	saved := `~/plimsoll-volume-` + volume + `.before`
	load := load(`TYPE SIZE IOPS MIBS`, saved)
	r.Do = slices.Concat(load, rules.OnShell(`test "$TYPE" != gp2 || aws ec2 modify-volume --volume-id `+volume+
		` --volume-type gp3 --iops "$((SIZE * 3 > 16000 ? 16000 : SIZE * 3 > 3000 ? SIZE * 3 : 3000))" --throughput "$((SIZE > 170 ? 250 : 125))"`))
	r.Undo = slices.Concat(load, ordered(`test "$TYPE" != gp2 || aws ec2 modify-volume --volume-id `+volume+
		` --volume-type gp2`, saved))
	r.Notes = notes(first)
	return r
}
