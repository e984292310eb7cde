package corpus

import (
	"strings"

	"github.com/teammem/teammemd/scanner/samples"
)

// labelFrames are notes around any token, whose label stands next to it: VARIABLE,
// NAME and TOKEN are put in.
var labelFrames = []struct{ name, text string }{
	{"env file in a runbook", "# Runbook\n\nBefore the first start, `.env` needs\n\n```\nLOG_LEVEL=info\nVARIABLE=TOKEN\nREGION=eu-central-1\n```\n\nand a restart.\n"},
	{"label and code", "## Access\n\n- Owner: Ada\n- NAME: `TOKEN`\n- Renewed: every quarter\n"},
	{"export in a session", "How I got it to run on the new laptop:\n\n    export VARIABLE=TOKEN\n    make dev\n"},
	{"sentence", "Ben gave us a new account last week. The NAME is TOKEN, and it may read everything.\n"},
	{"bold label in a list", "---\nname: integrations\ndescription: who talks to whom\n---\n\n* **NAME**: TOKEN\n* dashboard: see the wiki\n"},
	{"compose file", "The override that works:\n\n```yaml\nservices:\n  worker:\n    image: kestrel/worker:2.3\n    environment:\n      VARIABLE: \"TOKEN\"\n      TZ: UTC\n```\n"},
	{"table of variables", "| Variable | Value | Where |\n|---|---|---|\n| LOG_LEVEL | info | all |\n| VARIABLE | TOKEN | production |\n"},
	{"docker run", "Locally: `docker run -p 8080:8080 -e VARIABLE=TOKEN kestrel/app`, then open the page.\n"},
	{"Python", "Works only with the key in the call:\n\n```python\nimport os\nos.environ[\"VARIABLE\"] = \"TOKEN\"\nmain()\n```\n"},
	{"agent memory", "# MEMORY\n\n## Facts\n- The user prefers pnpm\n- VARIABLE = TOKEN (user gave it on 3 March, use it for the import script)\n- Tests run with `make check`\n"},
	{"settings of an agent", "{\n  \"mcpServers\": {\n    \"kestrel\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"kestrel-mcp\"],\n      \"env\": {\"VARIABLE\": \"TOKEN\"}\n    }\n  }\n}\n"},
	{"frontmatter", "---\ntitle: Integrations\nVARIABLE: TOKEN\nowner: ada\n---\n\nWhat we use and why.\n"},
}

// freeFrames name the token from afar, if at all.
var freeFrames = []struct{ name, text string }{
	{"sentence end", "I asked Ben for the NAME and he sent TOKEN. It expires in June.\n"},
	{"parenthesis", "The nightly import uses Ben's account (TOKEN) until we have our own.\n"},
	{"chat", "ada: do you have the NAME?\nben: sure\nben: TOKEN\nada: thanks, deleting this later\n"},
	{"bold", "## 3 March\n\nTried again with **TOKEN**, still 403. Support says to wait.\n"},
	{"tight table", "|what|value|\n|-|-|\n|NAME|TOKEN|\n"},
	{"quotation", "> we will revoke TOKEN, please confirm\n\nThat mail came on Friday; nobody answered.\n"},
	{"command line", "```sh\n$ kestrel login --with TOKEN\nlogged in as deploy\n```\n"},
	{"URL query", "The old webhook still answers: https://hooks.kestrel.dev/in?auth=TOKEN&format=json\n"},
	{"nested list", "- Vendors\n  - billing: ask Ada\n  - NAME\n    - TOKEN\n- Clients\n"},
	{"German", "Der Zugang läuft bis Ende Juni („TOKEN“), danach bitte neu beantragen.\n"},
	{"Japanese", "本番環境ではTOKENを使っています。来月更新します。\n"},
	{"Chinese", "部署时请使用「TOKEN」，不要提交到仓库。\n"},
	{"diff", "```diff\n-VARIABLE=\n+VARIABLE=TOKEN\n```\n"},
	{"log line", "It failed with\n\n    level=error msg=\"request failed\" auth=TOKEN status=401 took=12ms\n\nand I do not know why.\n"},
	{"JSON", "What the API wants:\n\n```json\n{\"account\":\"kestrel\",\"credential\":\"TOKEN\",\"dry_run\":false}\n```\n"},
	{"link", "Dashboard: [TOKEN](https://console.kestrel.dev)\n"},
	{"checklist", "- [x] create account\n- [x] store TOKEN\n- [ ] rotate it\n"},
	{"HTML comment", "# Setup\n\nSee the wiki.\n\n<!-- temporary: TOKEN -->\n"},
	{"heading", "# NAME\n\n### TOKEN\n\nOnly for the demo.\n"},
}

// framed returns the vendors' tokens, each in two frames, and the families that
// must always be stopped, each in one.
func framed() []Note {
	var notes []Note
	add := func(v vendor, frame struct{ name, text string }) {
		text := strings.NewReplacer("VARIABLE", v.variable, "NAME", v.name, "TOKEN", openSecret+v.token+closeSecret).Replace(frame.text)
		notes = append(notes, Note{v.category, v.name + ", " + frame.name, Template(text)})
	}
	for i, v := range shaped {
		add(v, freeFrames[i%len(freeFrames)])
		add(v, labelFrames[i%len(labelFrames)])
	}
	for i, v := range labelled {
		add(v, labelFrames[i%len(labelFrames)])
		add(v, labelFrames[(i+5)%len(labelFrames)])
	}
	for i, family := range samples.Families() {
		if frame := freeFrames[(i*7)%len(freeFrames)]; family.Rule != "private-key" {
			add(vendor{family.Rule, "SERVICE_TOKEN", "new token", openMade + "fam:" + family.Rule + closeMade}, frame)
		}
	}
	return notes
}
