package corerules

import (
	"slices"

	"plimsoll/internal/judge/rules"
)

// auroraStorage says why a volume's limits cannot be raised (Aurora User Guide, "Amazon Aurora storage";
// RDS API, ModifyDBCluster: Iops and AllocatedStorage are for Multi-AZ DB clusters).
const auroraStorage = "Aurora has no volume to change: its storage grows by itself, and the instance class limits what one server gets from it. " +
	"aws rds modify-db-cluster --storage-type aurora-iopt1 changes the price of I/O, not its speed. If aws rds describe-db-clusters shows an Engine that does not begin with aurora, it is a Multi-AZ DB cluster of RDS: aws rds modify-db-cluster takes --iops and --allocated-storage, and storage cannot shrink again"

// atLeast raises the variables to what is ordered, and never lowers them.
func (o order) atLeast() (out []rules.Command) {
	if o.iops {
		out = append(out, rules.OnShell(`test "$IOPS" -ge {{.iops}} || IOPS={{.iops}}`)...)
	}
	if o.mibs {
		out = append(out, rules.OnShell(`test "$MIBS" -ge {{.mibs}} || MIBS={{.mibs}}`)...)
	}
	return out
}

// onAzureDB orders for the storage of a flexible server. A Premium SSD has the limits of its performance
// tier, and a Premium SSD v2 has IOPS and MB/s to order (azure-cli, flexible-server update).
func (o order) onAzureDB() rules.Recipe {
	const (
		server = `{{ask .server "SERVER" "the name of the server, without its domain"}}`
		group  = `"${GROUP:?look sets it}"`
		of     = ` --resource-group ` + group + ` --name ` + server
		saved  = `~/plimsoll-azure-` + server + `-storage.before`
		show   = `az {{.azure}} show` + of +
			` --query '[[storage.iops,storage.throughput,storage.tier,storage.type]]' --output tsv`
	)

	modify := func(tier string) string {
		return `case "$TYPE" in PremiumV2*) az {{.azure}} update` + of + ` --iops "$IOPS" --throughput "$MIBS" ;;` +
			` UltraSSD*) echo "$TYPE: nothing to order with az" ;; '') false ;;` +
			` *) az {{.azure}} update` + of + ` --performance-tier ` + tier + ` ;; esac`
	}

	load := load(`TYPE IOPS MIBS TIER`, saved)
	return rules.Recipe{Places: []rules.Place{rules.AzureDB},
		Look: slices.Concat(
			rules.Tool(`GROUP=$(az {{.azure}} list --query "[?name=='"`+server+`"'].resourceGroup" --output tsv); echo "$GROUP"`,
				`az {{.azure}} show`+of+` --query '[[id,fullyQualifiedDomainName,state]]' --output tsv`),
			rules.SavedOnce(saved, show+` | while read -r IOPS MIBS TIER TYPE; do echo "$TYPE $IOPS $MIBS $TIER"; done`)),
		Do:    slices.Concat(load, o.atLeast(), rules.OnShell(modify(`"${HIGHER_TIER:?a tier above the present one, such as P40}"`))),
		Check: rules.Tool(show),
		Undo:  slices.Concat(load, ordered(modify(`"$TIER"`), saved)),
		Kept:  "it lasts",
		// The service's own documentation mentions no minimum interval (Azure Database for PostgreSQL,
		// "Premium SSD v2", 2026).
		Cost:  "Azure's disks have a minimum interval between changes, which the service may have too: a tier can be lowered again only 12 hours after it was raised, and a Premium SSD v2 changed four times in 24 hours; the undo waits for that; storage never shrinks",
		Notes: []string{"The server's compute size limits IOPS, too. More than that buys nothing."}}
}

// onCloudSQL orders for an instance with a Hyperdisk. A Persistent Disk's limits follow its size, which
// cannot shrink.
func (o order) onCloudSQL() rules.Recipe {
	const (
		instance = `{{ask .instance "INSTANCE" "the name of the instance"}}`
		saved    = `~/plimsoll-cloudsql-` + instance + `-storage.before`
		show     = `gcloud sql instances describe ` + instance +
			` --format 'value(settings.dataDiskType,settings.dataDiskProvisionedIops,settings.dataDiskProvisionedThroughput)'`
	)

	options := ""
	if o.iops {
		options += ` --storage-provisioned-iops "$IOPS"`
	}
	if o.mibs {
		options += ` --storage-provisioned-throughput "$MIBS"`
	}

	modify := `case "$TYPE" in HYPERDISK_*) gcloud sql instances patch ` + instance + options +
		` ;; '') false ;; *) echo "the limits of $TYPE follow its size, which cannot shrink again" ;; esac`
	load := load(`TYPE IOPS MIBS`, saved)
	return rules.Recipe{Places: []rules.Place{rules.CloudSQL},
		// The connection name contains the project, because instances in different projects may have the same
		// name.
		Look: append(rules.Tool(`gcloud sql instances describe `+instance+
			` --format 'value(connectionName,databaseVersion,state)'`), rules.SavedOnce(saved, show)...),
		Do:    slices.Concat(load, o.atLeast(), rules.OnShell(modify)),
		Check: rules.Tool(show),
		Undo:  slices.Concat(load, ordered(modify, saved)),
		Kept:  "it lasts",
		Cost:  "Google's Hyperdisks have a minimum interval between changes, which the service may have too: their limits can be changed once in four hours; the undo waits for that",
		Notes: []string{"The instance's number of vCPUs limits IOPS, too. More than that buys nothing."}}
}
