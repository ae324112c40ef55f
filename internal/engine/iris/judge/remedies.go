package judge

import (
	"time"

	"plimsoll/internal/judge/rules"
)

const inPortal = "the Management Portal sets the directories, and the files have to be where it says at the next start: see the rule's page"

// remedies are IRIS' ways. The databases are read and written directly, past the page cache.
var remedies = map[*rules.Remedy]*rules.Remedy{
	rules.LogApart: {Name: "wij-apart", Title: "Put WIJ and journal on volumes of their own",
		Relieves: []rules.Resource{rules.OwnVolume},
		Recipes:  []rules.Recipe{{None: inPortal}}, Money: "two more volumes", Wait: 10 * time.Minute,
		Until: "some cycles of the write daemon have passed"},
}
