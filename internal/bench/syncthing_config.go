package bench

import (
	"encoding/xml"
)

// The parts of Syncthing's configuration that are not its defaults. A later
// release reads an earlier version.
type (
	stConfig struct {
		XMLName xml.Name   `xml:"configuration"`
		Version int        `xml:"version,attr"`
		Folder  stFolder   `xml:"folder"`
		Devices []stDevice `xml:"device"`
		GUI     stGUI      `xml:"gui"`
		Options stOptions  `xml:"options"`
	}
	stFolder struct {
		ID      string     `xml:"id,attr"`
		Path    string     `xml:"path,attr"`
		Type    string     `xml:"type,attr"`
		Rescan  int        `xml:"rescanIntervalS,attr"`
		Watch   bool       `xml:"fsWatcherEnabled,attr"`
		Delay   int        `xml:"fsWatcherDelayS,attr"`
		Devices []stMember `xml:"device"`
		Free    struct {
			Unit  string  `xml:"unit,attr"`
			Value float64 `xml:",chardata"`
		} `xml:"minDiskFree"`
		Conflicts int `xml:"maxConflicts"`
	}
	stMember struct {
		ID string `xml:"id,attr"`
	}
	stDevice struct {
		ID      string `xml:"id,attr"`
		Name    string `xml:"name,attr"`
		Address string `xml:"address"`
	}
	stGUI struct {
		Enabled bool   `xml:"enabled,attr"`
		Address string `xml:"address"`
	}
	stOptions struct {
		Listen      string `xml:"listenAddress"`
		GlobalAnn   bool   `xml:"globalAnnounceEnabled"`
		LocalAnn    bool   `xml:"localAnnounceEnabled"`
		Relays      bool   `xml:"relaysEnabled"`
		NAT         bool   `xml:"natEnabled"`
		Stun        int    `xml:"stunKeepaliveStartS"`
		Reports     int    `xml:"urAccepted"`
		Crashes     bool   `xml:"crashReportingEnabled"`
		Upgrade     int    `xml:"autoUpgradeIntervalH"`
		Browser     bool   `xml:"startBrowser"`
		Reconnect   int    `xml:"reconnectionIntervalS"`
		AnnounceLAN bool   `xml:"announceLANAddresses"`
	}
)
