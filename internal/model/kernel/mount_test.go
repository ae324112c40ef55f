package kernel

import (
	"strings"
	"testing"
)

// A mount for one run accepts options that affect what is written, or when, and no others.
func TestMountOptions(t *testing.T) {
	for options, bad := range map[MountOptions]string{
		"":                                     "",
		"noatime,logbsize=256k":                "",
		"lazytime,wsync":                       "",
		"commit=1":                             "commit=1", // ext4's
		"errors=panic":                         "errors=panic",
		"noatime,":                             `""`,
		"logbsize=":                            "logbsize=",
		"logbsize=1/../etc":                    "logbsize=1/",
		"noatime=1":                            "noatime=1",
		MountOptions(strings.Repeat("x", 999)): "too long",
	} {
		c := Defaults()
		c.MountOptions = options
		problems := c.Check()
		switch {
		case bad == "" && len(problems) > 0:
			t.Errorf("%q: %v", options, problems)
		case bad != "" && (len(problems) == 0 || !strings.Contains(problems[0].Text, bad)):
			t.Errorf("%q: %v, want one about %s", options, problems, bad)
		}
	}

	ext4 := Defaults()
	ext4.FileSystem, ext4.MountOptions, ext4.Scheduler = Ext4, "data=writeback,commit=1,noatime", MQDeadline
	if problems := ext4.Check(); len(problems) > 0 {
		t.Error(problems)
	}

	if got := ext4.Unmodelled(); len(got) != 2 {
		t.Errorf("the model does not know scheduler and mount options: %v", got)
	}

	ext4.Scheduler = "cfq"
	if problems := ext4.Check(); len(problems) != 1 || problems[0].Nearest != "none" {
		t.Error(problems)
	}
}
