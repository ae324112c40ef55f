package judge

import (
	"time"

	"plimsoll/internal/judge/rules"
)

const inPortal = "the Management Portal sets the directories, and at the next start the files must be in them: see the rule's page"

// remedies are IRIS' versions of the generic remedies. IRIS reads and writes databases directly,
// without the page cache.
var remedies = map[*rules.Remedy]*rules.Remedy{
	rules.LogApart: {Name: "wij-apart", Title: "Put WIJ and journal on their own volumes",
		Relieves: []rules.Resource{rules.OwnVolume},
		Recipes:  []rules.Recipe{{None: inPortal}}, Money: "two more volumes", Wait: 10 * time.Minute,
		Until: "a few cycles of the write daemon have passed"},
}
