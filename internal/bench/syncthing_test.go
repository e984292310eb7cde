package bench

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSyncthingKeepsToItself reads the configuration that Syncthing is given.
func TestSyncthingKeepsToItself(t *testing.T) {
	s := &syncthing{delay: 1}
	for i, id := range []string{"ONE", "TWO"} {
		s.sides[i] = syncthingSide{host: host{dir: t.TempDir()}, id: id, port: 1000 + i}
		if err := os.MkdirAll(s.sides[i].home(), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.configure(&s.sides[1]); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.sides[1].home(), "config.xml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(text, &stConfig{}); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"<listenAddress>tcp://127.0.0.1:1001</listenAddress>", "<address>tcp://127.0.0.1:1000</address>",
		"<globalAnnounceEnabled>false<", "<localAnnounceEnabled>false<", "<relaysEnabled>false<", "<natEnabled>false<",
		"<stunKeepaliveStartS>0<", "<urAccepted>-1<", "<crashReportingEnabled>false<", "<autoUpgradeIntervalH>0<",
		"<startBrowser>false<", `<gui enabled="false">`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}
