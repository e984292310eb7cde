package launchd_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/teammem/teammemd/etc/launchd"
)

// node is one element of a property list.
type node struct {
	XMLName xml.Name
	Text    string `xml:",chardata"`
	Nodes   []node `xml:",any"`
}

// dict returns the values of a <dict> by key, and fails on a malformed one.
func (n node) dict(t *testing.T) map[string]node {
	t.Helper()
	if n.XMLName.Local != "dict" || len(n.Nodes)%2 != 0 {
		t.Fatalf("<%s> with %d children is no dict", n.XMLName.Local, len(n.Nodes))
	}
	values := make(map[string]node)
	for i := 0; i < len(n.Nodes); i += 2 {
		key := n.Nodes[i]
		if _, twice := values[key.Text]; key.XMLName.Local != "key" || twice {
			t.Fatalf("<%s> %q is no key, or stands twice", key.XMLName.Local, key.Text)
		}
		values[key.Text] = n.Nodes[i+1]
	}
	return values
}

func agent(t *testing.T) map[string]node {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(launchd.Agent))
	var root node
	if err := decoder.Decode(&root); err != nil {
		t.Fatal(err)
	}
	if _, err := decoder.Token(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("after the list: %v", err)
	}
	if root.XMLName.Local != "plist" || len(root.Nodes) != 1 {
		t.Fatalf("<%s> with %d children is no property list", root.XMLName.Local, len(root.Nodes))
	}
	return root.Nodes[0].dict(t)
}

func TestAgent(t *testing.T) {
	values := agent(t)
	for key, want := range map[string]string{
		"Label":            strings.TrimSuffix(launchd.AgentName, ".plist"),
		"ProcessType":      "Background",
		"ThrottleInterval": "10",
		"Umask":            "63", // 077
	} {
		if got := values[key].Text; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if got := values["RunAtLoad"].XMLName.Local; got != "true" {
		t.Errorf("RunAtLoad is %q, want true", got)
	}
	if got := values["KeepAlive"].dict(t)["SuccessfulExit"].XMLName.Local; got != "false" {
		t.Errorf("KeepAlive on success is %q, want false", got)
	}
}

func TestAgentIsAPropertyList(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIP: python3 is missing; install python3")
	}
	command := exec.CommandContext(t.Context(), python, "-c", "import plistlib,sys; print(plistlib.loads(sys.stdin.buffer.read())['Label'])")
	command.Stdin = strings.NewReader(launchd.Agent)
	said, err := command.CombinedOutput()
	if err != nil || strings.TrimSpace(string(said)) != "io.teammem.teammemd" {
		t.Errorf("%v\n%s", err, said)
	}
}
