package tests

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/rules"
	"github.com/teammem/teammemd/scanner/samples"
	"github.com/teammem/teammemd/tests/chaos"
)

// percentOf writes every byte as a percent escape.
func percentOf(value string) string {
	var b strings.Builder
	for _, c := range []byte(value) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// plantEverywhere plants a sample of every family in a text, and values where a
// scanner may overlook them: in names, in frontmatter, as keys, and encoded.
func plantEverywhere(t *testing.T, seed uint64) []planted {
	t.Helper()
	all := plantAll(t, seed)
	places := []struct{ rule, key, text string }{
		{"github-pat", "names/VALUE.md", "the name says it all\n"},
		{"stripe-access-token", "names/VALUE/inside.md", "the folder says it all\n"},
		{"gitlab-pat", "kinds/frontmatter.md", "---\nname: deploy\ntoken: VALUE\n---\n\ntext\n"},
		{"npm-access-token", "kinds/frontmatter-key.md", "---\nVALUE: \"yes\"\n---\n\ntext\n"},
		{"slack-bot-token", "kinds/key.md", "```json\n{\"VALUE\": true}\n```\n"},
		{"github-oauth", "kinds/base64.md", "it is BASE64 in a manifest\n"},
		{"sendgrid-api-token", "kinds/hex.md", "it is HEX in a dump\n"},
		{"digitalocean-pat", "kinds/percent.md", "see https://ci.acme.dev/?t=PERCENT\n"},
	}
	for i, place := range places {
		family, ok := samples.Find(place.rule)
		if !ok {
			t.Fatalf("there is no family %s", place.rule)
		}
		value := family.SampleFrom(seed + uint64(i) + 1)
		filled := strings.NewReplacer("VALUE", value, "BASE64", base64.StdEncoding.EncodeToString([]byte(value)),
			"HEX", hex.EncodeToString([]byte(value)), "PERCENT", percentOf(value))
		all = append(all, planted{rule: place.rule, key: filled.Replace(place.key), value: value, text: filled.Replace(place.text)})
	}
	return append(all, plantOurs(t, seed)...)
}

// plantOurs plants what some of our own rules find, of every list.
func plantOurs(t *testing.T, seed uint64) []planted {
	t.Helper()
	const (
		step     = 7  // more than 36 of them in all
		shortest = 12 // bytes of a value that stands nowhere by chance
	)
	s := scanner.New(scanner.Options{})
	var all []planted
	for i, rule := range rules.Ours() {
		if i%step != 0 || !rule.Tier.Holds() || rule.Hits == nil {
			continue
		}
		hits := rule.Hits(samples.NewSource(seed, rule.ID))
		text := "What was found:\n\n" + hits[0] + "\n"
		found, err := s.Scan(t.Context(), "note.md", text)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if start, end := f.Span(); f.Rule == rule.ID && end-start >= shortest {
				all = append(all, planted{rule: rule.ID, key: "ours/" + rule.ID + ".md", value: text[start:end], text: text})
				break
			}
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d of our own rules are planted", len(all))
	}
	return all
}

// TestNothingLeaks plants values in every place, drives every verb and every door
// with the logs at their loudest, crashes both sides, and looks for the values in
// every byte that was written, printed or sent.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	l := newLeaks(t)
	l.driveAlone()
	l.driveDaemon()
	l.driveTeam()
	l.driveServer()
	l.checkDriven()
	l.driveDoors()
	l.crashBoth()
	l.search()
}

// leaks is a machine full of values, a server behind a wire that is kept, and
// all that they said.
type leaks struct {
	t      *testing.T
	server *companion
	proxy  *chaos.Proxy
	m      *machine
	all    []planted
	token  string
	driven map[string]bool
	places searched
	others []*machine // with their own copies of the values
}

func newLeaks(t *testing.T) *leaks {
	t.Helper()
	l := &leaks{t: t, all: plantEverywhere(t, 23), driven: make(map[string]bool), places: make(searched)}
	l.server = &companion{machine: newMachine(t, "server")}
	l.server.extra = []string{"GOTRACEBACK=all", "TEAMMEMD_SERVER_LOG_LEVEL=debug", "TEAMMEMD_SERVER_ACCESS_LOG=true"}
	l.server.data = filepath.Join(l.server.machine.home, "data")
	l.server.up("127.0.0.1:0", "-v")
	l.driven["server"] = true
	l.proxy = chaos.Start(t, chaos.Options{Target: l.server.url})
	l.token = l.server.token("ada", "acme/*", "maintainer")
	l.m = newFastMachine(t, "ada")
	l.m.extra = []string{"TEAMMEMD_LOG=debug", "GOTRACEBACK=all"}
	l.m.enroll(l.proxy.URL(), l.token, team)
	l.driven["init"] = true
	for _, p := range l.all {
		l.m.write(p.key, p.text)
	}
	return l
}

// run runs a verb loudly, as text and as JSON. How it ends is not the question
// here, only what it says.
func (l *leaks) run(verb string, args ...string) {
	l.t.Helper()
	l.runIn(l.m, l.m.work(), verb, args...)
}

func (l *leaks) runIn(m *machine, dir, verb string, args ...string) {
	l.t.Helper()
	l.driven[verb] = true
	args = append(strings.Fields(verb), args...)
	m.runIn(dir, append(slices.Clone(args), "-v")...)
	m.runIn(dir, append(slices.Clone(args), "-v", "--json")...)
}

// driveAlone drives the client's verbs while no daemon runs.
func (l *leaks) driveAlone() {
	l.t.Helper()
	m := l.m
	m.write("note.md", "one\n")
	if r := m.sync(3, "-v"); len(r.Held) != len(l.all) || r.Sent != 1 {
		l.t.Errorf("%d held and %d sent, want %d and 1", len(r.Held), r.Sent, len(l.all))
	}
	m.write("note.md", "two\n")
	l.run("sync")
	l.run("sync", "--dry-run")
	l.run("status")
	l.run("scan")
	l.run("scan", m.team)
	for i, p := range l.all {
		if i%4 == 0 {
			m.run("explain", "-v", filepath.Join(m.team, filepath.FromSlash(p.key)))
		}
	}
	l.run("explain", filepath.Join(m.team, l.all[0].key))
	l.run("scan", "--sarif", m.team)
	l.run("allow", fmt.Sprintf("%s:%d", filepath.Join(m.team, l.all[0].key), l.all[0].line))
	l.run("allow", "--team", l.all[0].value, "--reason", l.all[0].value, "--key", l.all[0].value)
	l.run("allow list")
	l.run("allow revoke", l.all[0].value)
	l.run("search", "note")
	l.run("search", l.all[0].value)
	l.run("search", "where is "+l.all[1].value+" used")
	l.run("history", "note.md")
	l.run("diff", "note.md", "1")
	l.run("restore", "note.md@1")
	l.run("forget", "note.md", "--yes")
	l.run("restore", "note.md@2")
	l.run("redact", l.all[0].value+"@1")
	l.run("redact", "note.md@1")
	l.run("redact", "--reports")
	l.run("redact", "--report", "1")
	l.driveNamed()
	l.saveCopies()
	l.run("config")
	l.run("config check")
	l.run("config show")
	l.run("version")
	l.run("help", "scan")
	l.run("completion")
	for _, shell := range []string{"bash", "fish", "powershell", "zsh"} {
		l.run("completion " + shell)
	}
	l.run("bench")
	l.run("bench latency", "--trials", "1", "--debounce", "100ms")
	l.run("bench survive", "--files", "2", "--debounce", "100ms")
	scrubbed := m.write("scrub.md", l.all[0].text)
	m.want(3, "sync", "-v")
	l.run("scrub", fmt.Sprintf("%s:%d", scrubbed, l.all[0].line))
}

// driveNamed names files whose names are values. Only 'forget' may ask the server
// about one: it is how such a name is taken from there.
func (l *leaks) driveNamed() {
	l.t.Helper()
	for _, p := range l.all {
		if !strings.Contains(p.key, p.value) {
			continue
		}
		name := filepath.Join(l.m.team, filepath.FromSlash(p.key))
		for _, key := range []string{p.key, name, name + ".gone"} {
			for _, verb := range []string{"explain", "scan", "history", "sync", "conflicts show"} {
				l.run(verb, key)
			}
			l.run("restore", key+"@1")
			l.run("scrub", key+":1")
		}
		for _, verb := range []string{"init", "up", "pause", "resume", "join", "login", "logout", "whoami", "signins", "signins end", "server admin user signins", "server admin user signout", "status", "conflicts restore", "server token revoke"} {
			l.run(verb, name)
		}
	}
}

// saveCopies makes conflicts, and drives the verbs about saved copies.
func (l *leaks) saveCopies() {
	l.t.Helper()
	m := l.m
	l.run("conflicts")
	for i, verb := range []string{"show", "diff", "merge", "restore", "drop"} {
		key := fmt.Sprintf("twice-%d.md", i)
		m.write(key, "first\n")
		m.run("sync")
		if a := l.server.push(l.token, team, map[string]string{key: "theirs\n"}); a.status/100 != 2 {
			l.t.Errorf("the other text of %s: status %d", key, a.status)
		}
		m.write(key, "mine\n")
		m.run("sync", "-v")
		list := decode[struct{ Conflicts []conflict }](l.t, m.ok("conflicts", "list", "--json").stdout)
		at := slices.IndexFunc(list.Conflicts, func(c conflict) bool { return c.Key == key })
		if at < 0 {
			l.t.Errorf("no saved copy of %s", key)
			continue
		}
		l.run("conflicts "+verb, list.Conflicts[at].ID)
	}
	l.run("conflicts list")
}

// driveDaemon drives the daemon, and verbs that ask it.
func (l *leaks) driveDaemon() {
	l.t.Helper()
	m := l.m
	daemon := m.daemon("-v")
	l.driven["daemon"] = true
	m.write("later/again.md", l.all[1].text)
	await(l.t, time.Minute, "the daemon to hold the new file", func() bool {
		_, held := m.status().heldFor("later/again.md")
		return held
	})
	for _, verb := range []string{"status", "sync", "pause", "resume", "logs"} {
		l.run(verb)
	}
	l.run("explain", filepath.Join(m.team, l.all[2].key))
	if code := daemon.stop(); code != 0 {
		l.t.Errorf("the daemon ended with %d", code)
	}
}

// driveTeam drives the verbs that set a team up, in checkouts of their own.
func (l *leaks) driveTeam() {
	l.t.Helper()
	ada, ben := newFastMachine(l.t, "cleo"), newFastMachine(l.t, "dora")
	l.others = []*machine{ada, ben}
	for _, m := range l.others {
		m.extra = []string{"TEAMMEMD_LOG=debug"}
		m.team = m.claudeTeam(m.checkout("api", "git@github.com:acme/api.git"))
		for _, p := range l.all {
			m.write(p.key, p.text)
		}
		m.write("fine.md", "fine\n")
	}
	dir := filepath.Join(ada.home, "src", "api")
	l.t.Cleanup(ada.endDetached)
	o := ada.runIn(dir, "up", "--detach", "--listen", "127.0.0.1:0", "-v")
	if o.code != 3 {
		l.t.Fatalf("up: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	l.runIn(ada, dir, "up")
	url, code := invited(l.t, ada.runIn(dir, "up").stdout)
	his := filepath.Join(ben.home, "src", "api")
	if o := ben.runIn(his, "join", url, "--code", code, "-v"); o.code != 3 {
		l.t.Errorf("join: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	l.runIn(ben, his, "join", url, "--code", "AAAA-AAAA")
	l.runIn(ben, his, "sync")
	l.runIn(ada, dir, "logs")
}

// driveServer drives the server's verbs while it runs.
func (l *leaks) driveServer() {
	l.t.Helper()
	c, data := l.server.machine, l.server.data
	l.runIn(c, c.work(), "server token", "--data", data)
	l.runIn(c, c.work(), "server token create", "--name", "more", "--repo", team, "--role", "reader", "--data", data)
	l.runIn(c, c.work(), "server token list", "--data", data)
	l.runIn(c, c.work(), "server token revoke", "no-such-id", "--data", data)
	l.runIn(c, c.work(), "server healthcheck", "--url", l.server.url)
	l.runIn(c, c.work(), "server fsck", "--data", data)
	l.runIn(c, c.work(), "server migrate", "--from", "sqlite:"+data, "--to", "postgres://nobody@127.0.0.1:1/none")
	l.runIn(c, c.work(), "server backup", filepath.Join(c.home, "one.backup"), "--data", data)
	l.runIn(c, c.work(), "server restore", filepath.Join(c.home, "one.backup"), "--data", data)
	l.runIn(c, c.work(), "server restore", filepath.Join(c.home, "one.backup"), "--data", filepath.Join(c.home, "restored"))
	l.runIn(c, c.work(), "server prune", "--keep-versions", "1", "--data", data)
	l.runIn(c, c.work(), "server admin", "--data", data)
	l.runIn(c, c.work(), "server admin user", "--data", data)
	l.runIn(c, c.work(), "server admin user list", "--data", data)
	l.runIn(c, c.work(), "server admin user signins", "--data", data)
	l.runIn(c, c.work(), "server admin user signout", "nobody", "--data", data)
	l.runIn(c, c.work(), "server audit", "--data", data)
	l.runIn(c, c.work(), "server admin user export", "--person", "ada", "--data", data)
	l.runIn(c, c.work(), "server admin user erase", "--person", "ada", "--yes", "--data", data)
	l.runIn(c, c.work(), "server export", filepath.Join(c.home, "exported"), "--data", data)
	l.runIn(c, c.work(), "server export", filepath.Join(c.home, "exported.tar"), "--format", "tar", "--data", data)
}

// checkDriven fails for a verb that was not driven: a new one belongs above.
func (l *leaks) checkDriven() {
	l.t.Helper()
	for _, verb := range l.verbs("") {
		if !l.driven[verb] {
			l.t.Errorf("the verb %q is driven by no part of this test", verb)
		}
		delete(l.driven, verb)
	}
	for verb := range l.driven {
		l.t.Errorf("the test drives %q, which is no verb", verb)
	}
}

// verbs lists the verbs below one, by what help says of it.
func (l *leaks) verbs(above string) []string {
	l.t.Helper()
	help := l.m.ok(append(strings.Fields(above), "--help")...).stdout
	_, list, _ := strings.Cut(help, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	var found []string
	for _, line := range regexp.MustCompile(`(?m)^  (\S+) `).FindAllStringSubmatch(list, -1) {
		verb := strings.TrimSpace(above + " " + line[1])
		found = append(found, verb)
		if verb != "help" {
			found = append(found, l.verbs(verb)...)
		}
	}
	if above == "" && len(found) < 20 {
		l.t.Fatalf("only %d verbs are found: %q", len(found), found)
	}
	return found
}

// crashBoth ends server and daemon by what makes the Go runtime print all it
// knows, while they hold values.
func (l *leaks) crashBoth() {
	l.t.Helper()
	if runtime.GOOS == "windows" {
		return // no such signals
	}
	for _, signal := range []os.Signal{syscall.SIGQUIT, syscall.SIGABRT} {
		daemon := l.m.daemon("-v")
		l.m.write("crash.md", l.all[3].text)
		l.m.run("sync", "-v")
		hangUp := l.halfSent()
		for _, p := range []*process{daemon, l.server.process} {
			if told := p.crash(signal); !traces.MatchString(told) {
				l.t.Errorf("%q tells nothing of its end by %s", p.cmd.Args[1:], signal)
			}
		}
		hangUp()
		l.server.up(strings.TrimPrefix(l.server.url, "http://"), "-v")
	}
	l.server.stop()
}

// search looks for every value in all that there is.
func (l *leaks) search() {
	l.t.Helper()
	l.places["the wire"] = l.proxy.Wire()
	for _, m := range append([]*machine{l.m, l.server.machine}, l.others...) {
		l.places["what "+filepath.Base(m.home)+" printed"] = m.spoken()
		own := ""
		if m != l.server.machine {
			own = m.team
		}
		l.places.addFiles(l.t, m.home, own)
		noCores(l.t, m.home)
	}
	l.places.mustLack(l.t, l.all)
}

// noCores fails for a file that a crash left behind.
func noCores(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if bytes.HasPrefix(text, []byte("\x7fELF")) || strings.HasPrefix(entry.Name(), "core") {
			t.Errorf("%s: a core file", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
