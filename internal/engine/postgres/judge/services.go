package judge

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/judge/rules"
)

const (
	ownGroup    = "A default parameter group cannot be changed: the server needs its own group, and a restart after it is assigned."
	sharedGroup = "the group applies to every server that uses it; look lists them"
	// refuses is printed if a parameter is missing in the service, or cannot be changed there.
	refuses     = `echo "nothing is saved, and do refuses: the call failed, or not all of these can be changed here"`
	ofProvider  = "the provider's console sets it, or its support"
	lookSetsIt  = `"${GROUP:?look sets it}"`
	aClient     = "The check uses psql, which also shows what is set for a database or a role: that outranks the server's value"
	auroraNever = "Aurora writes no pages at a checkpoint and no full-page images to its storage, which applies the WAL: there is nothing to set. " +
		"If aws rds describe-db-clusters shows an Engine that does not begin with aurora, it is a Multi-AZ DB cluster of RDS instead: set it in its cluster parameter group"
)

// byAurora are settings for tasks that Aurora's storage performs itself (Aurora User Guide, "Amazon
// Aurora storage").
var byAurora = []string{"bgwriter_delay", "bgwriter_lru_maxpages", "bgwriter_lru_multiplier",
	"checkpoint_completion_target", "checkpoint_flush_after", "checkpoint_timeout", "max_wal_size",
	"wal_compression"}

// byAzure are settings that Azure Database does not let its users change.
var byAzure = []string{"checkpoint_flush_after"}

// inServices returns the recipes for the providers' services. Only parameters that apply without a restart
// may be given.
func inServices(all []setting) []rules.Recipe {
	onAzure := slices.DeleteFunc(slices.Clone(all),
		func(s setting) bool { return slices.Contains(byAzure, s.name) })
	cluster := rules.Recipe{Places: []rules.Place{rules.Aurora}, None: auroraNever}
	if !slices.Contains(byAurora, all[0].name) {
		cluster = inGroup("db-cluster-", rules.Aurora, all)
	}
	out := []rules.Recipe{inGroup("db-", rules.RDS, all), cluster, inAzure(onAzure), inCloudSQL(all)}

	// A service reports its volume's size, and the server the space used.
	for i := range out {
		if retainsWAL(all) && out[i].None == "" {
			out[i].Look = append(out[i].Look, rules.Ask(used)...)
		}
	}
	return append(out, rules.Recipe{Places: []rules.Place{rules.Managed}, None: ofProvider})
}

// used is a query for the space that the databases and the WAL take. Users are not permitted to query the
// size of some of the service's databases.
const used = "SELECT pg_size_pretty(sum(pg_database_size(oid))) AS data, (SELECT pg_size_pretty(sum(size)) FROM pg_ls_waldir()) AS wal FROM pg_database WHERE has_database_privilege(oid, 'CONNECT')"

// keep saves a command's output in a file, once. It must have as many lines as there are parameters: a
// missing one does not exist in the service, or cannot be changed.
func keep(file, command string, lines int) string {
	return fmt.Sprintf(`F=%s; test -s "$F" || { %s > "$F.new" && test "$(grep -c . "$F.new")" -eq %d && mv "$F.new" "$F" || %s; }; cat "$F"`,
		file, command, lines, refuses)
}

// eachSaved runs commands for each saved line, and removes the file once all have succeeded. The first
// command is for a value that a user had set, the other for one that was the service's.
func eachSaved(file, fields, source, user, other string) string {
	return `test -s ` + file + ` && (while read -r ` + fields + `; do case "$s" in ` + source + `) ` + user + ` ;; *) ` +
		other + ` ;; esac </dev/null || exit 1; done <` + file + `) && rm ` + file
}

// either is a condition of JMESPath, the query language of Amazon's and Azure's clients.
func either(field string, all []setting) string {
	var out []string
	for _, s := range all {
		out = append(out, field+"=='"+s.name+"'")
	}
	return strings.Join(out, " || ")
}

// inGroup returns the recipe for a parameter group of an instance or of a cluster. kind is the part of the
// commands' names that differs. A parameter's source is "user" only if it was set in the group.
func inGroup(kind string, place rules.Place, all []setting) rules.Recipe {
	group := ` --` + kind + `parameter-group-name ` + lookSetsIt
	file := `~/plimsoll-rds-` + lookSetsIt + `-` + all[0].name + `.before`

	of, list := `aws rds describe-db-instances --db-instance-identifier {{ask .instance "DB" "the identifier of the instance"}}`,
		`DBInstances[0].[DBInstanceArn,Engine,EngineVersion,DBInstanceStatus,AllocatedStorage]`
	named, users := `DBInstances[0].DBParameterGroups[0].DBParameterGroupName`,
		`aws rds describe-db-instances --query 'DBInstances[].[DBParameterGroups[0].DBParameterGroupName,DBInstanceIdentifier]'`
	if place == rules.Aurora {
		of, list = `aws rds describe-db-clusters --db-cluster-identifier {{ask .cluster "CLUSTER" "the identifier of the cluster"}}`,
			`DBClusters[0].[DBClusterArn,Engine,EngineVersion,Status]`
		named, users = `DBClusters[0].DBClusterParameterGroup`,
			`aws rds describe-db-clusters --query 'DBClusters[].[DBClusterParameterGroup,DBClusterIdentifier]'`
	}

	var set []string
	for _, s := range all {
		set = append(set, "'ParameterName="+s.name+",ParameterValue="+s.inRDS+",ApplyMethod=immediate'")
	}

	show := `aws rds describe-` + kind + `parameters` + group + ` --query "Parameters[?(` + either("ParameterName", all) +
		`) && IsModifiable].[ParameterName,ParameterValue,Source,AllowedValues]" --output text`
	r := rules.Recipe{Places: []rules.Place{place},
		Look: rules.Tool(of+` --query '`+list+`' --output text`,
			`GROUP=$(`+of+` --query '`+named+`' --output text); `+users+` --output text | grep -wF `+lookSetsIt,
			keep(file, show, len(all))),
		Do: rules.Tool(`cat ` + file + ` && aws rds modify-` + kind + `parameter-group` + group + ` --parameters ` +
			strings.Join(set, " ")),
		Check: append(rules.Tool(show), rules.Ask(showSettings(all)...)...),
		Undo: rules.Tool(eachSaved(file, "n v s x", "user",
			`aws rds modify-`+kind+`parameter-group`+group+` --parameters "ParameterName=$n,ParameterValue=$v,ApplyMethod=immediate"`,
			`aws rds reset-`+kind+`parameter-group`+group+` --parameters "ParameterName=$n,ApplyMethod=immediate"`)),
		Kept: "the parameter group persists it", Cost: sharedGroup, Notes: []string{ownGroup, aClient}}
	if place == rules.Aurora {
		r.Notes = append(r.Notes, "An instance's own parameter group outranks the cluster's: if the check shows no change, look there.")
	}
	return r
}

// inAzure returns the recipe for a flexible server of Azure Database. A parameter's source is
// "user-override" if it was set; without a value, az sets the default again (azure-cli,
// parameter_commands.py).
func inAzure(all []setting) rules.Recipe {
	const (
		server = `{{ask .server "SERVER" "the name of the server, without its domain"}}`
		of     = ` --resource-group ` + lookSetsIt + ` --server-name ` + server
		az     = `az postgres flexible-server `
	)

	file := `~/plimsoll-azure-` + server + `-` + all[0].name + `.before`
	show := func(last string) string {
		return az + `parameter list` + of + ` --query "[?` + either("name", all) + `].[name,value,source,` + last + `]" --output tsv`
	}

	do := `cat ` + file
	for _, s := range all {
		do += ` && ` + az + `parameter set` + of + ` --name ` + s.name + ` --value ` + s.inRDS
	}

	return rules.Recipe{Places: []rules.Place{rules.AzureDB},
		Look: rules.Tool(`GROUP=$(`+az+`list --query "[?name=='"`+server+`"'].resourceGroup" --output tsv); echo "$GROUP"`,
			az+`show --resource-group `+lookSetsIt+` --name `+server+` --query '[[id,version,state,location,storage.storageSizeGb]]' --output tsv`,
			keep(file, show("isReadOnly")+` | grep -i 'false$'`, len(all))),
		Do:    rules.Tool(do),
		Check: append(rules.Tool(show("isConfigPendingRestart")), rules.Ask(showSettings(all)...)...),
		Undo: rules.Tool(eachSaved(file, "n v s x", "user-override", az+`parameter set`+of+` --name "$n" --value "$v"`,
			az+`parameter set`+of+` --name "$n"`)),
		Kept: "the service persists it", Cost: "each change is an operation of seconds to minutes, during which the server takes no other",
		Notes: []string{aClient}}
}

// inCloudSQL returns the recipe for an instance of Cloud SQL. gcloud replaces all of its flags: those that
// are not listed return to their defaults. So look saves all of them, and do and undo give all that are set
// at that time: a flag that someone changed in between stays. The unit separator, which no value contains,
// is between them (gcloud topic escaping).
func inCloudSQL(all []setting) rules.Recipe {
	const (
		instance = `{{ask .instance "INSTANCE" "the name of the instance"}}`
		file     = `~/plimsoll-cloudsql-` + instance
		patch    = `gcloud sql instances patch ` + instance
		describe = `gcloud sql instances describe ` + instance
		flags    = describe + ` --flatten 'settings.databaseFlags[]' --format 'value[separator="="](settings.databaseFlags.name,settings.databaseFlags.value)'`
		// now stops unless all flags could be read.
		now  = `NOW=$(` + flags + `)`
		join = ` | paste -sd "$(printf '\037')" -)`
		with = ` --database-flags "^$(printf '\037')^$ALL"`
	)

	saved := file + `-` + all[0].name + `.before`
	var names, ours, set []string
	for _, s := range all {
		names = append(names, s.name)
		ours = append(ours, `-e '^`+s.name+`='`)
		set = append(set, s.name+"="+s.inRDS)
	}
	rest := `printf '%s\n' "$NOW" | grep -v -e '^=*$' ` + strings.Join(ours, " ")

	return rules.Recipe{Places: []rules.Place{rules.CloudSQL},
		Look: rules.Tool(describe+` --format 'value(connectionName,databaseVersion,state,settings.availabilityType,settings.dataDiskSizeGb,settings.storageAutoResize)'`,
			`gcloud sql flags list --database-version "$(`+describe+` --format 'value(databaseVersion)')" --filter 'name=(`+
				strings.Join(names, " ")+`)' --format 'table(name,requiresRestart,minValue,maxValue,allowedStringValues)'`,
			`F=`+saved+`; test -s "$F" || { { echo "# flags" && `+flags+`; } > "$F.new" && mv "$F.new" "$F"; }; cat "$F"`),
		Do: rules.Tool(`cat ` + saved + ` && ` + now + ` && ALL=$({ ` + rest + `; printf '%s\n' ` + strings.Join(set, " ") + `; }` +
			join + ` && ` + patch + with),
		Check: append(rules.Tool(flags), rules.Ask(showSettings(all)...)...),
		Undo: rules.Tool(`test -s ` + saved + ` && ` + now + ` && ALL=$({ ` + rest + `; grep ` + strings.Join(ours, " ") + ` ` + saved + `; }` +
			join + ` && if [ -n "$ALL" ]; then ` + patch + with + `; else ` + patch + ` --clear-database-flags; fi && rm ` + saved),
		Kept: "the service persists it",
		Cost: "a flag for which look shows requiresRestart restarts the instance, after the change and after the undo; one that look does not list cannot be set there: change nothing",
		Notes: []string{"gcloud asks before it changes flags. Its --database-flags replaces all flags, so the command passes those that are set, too.",
			aClient}}
}
