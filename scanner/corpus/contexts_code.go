package corpus

import (
	"encoding/json"
	"strings"
)

// codeContexts are the syntaxes in which a value stands.
var codeContexts = []Context{
	bare(KeyValue, "key=%\n"),
	inline("key: value", "key: %"),
	inline("key : value", "Key : %"),
	inline("key is value", "Key is %"),
	inline("key value", "key %"),
	inline("quoted value", "key: \"%\""),
	inline("value in a label", "**Key:** %"),
	inline("value in a bold key", "**Key**: `%`"),
	inline("URL query first", "https://api.kestrel.dev/v1/jobs?key=%"),
	inline("URL query middle", "https://api.kestrel.dev/v1/jobs?a=1&key=%&page=2"),
	inline("URL query with entity", "https://api.kestrel.dev/v1/jobs?key=%&amp;page=2"),
	inline("URL path", "https://api.kestrel.dev/hooks/%/run"),
	inline("URL path end", "https://api.kestrel.dev/hooks/%"),
	inline("URL fragment", "https://app.kestrel.dev/#key=%"),
	inline("user information", "https://%@git.kestrel.dev/app.git"),
	inline("password in user information", "https://deploy:%@git.kestrel.dev/app.git"),
	bare("git remote", "origin\thttps://x-access-token:%@git.kestrel.dev/kestrel/app.git (fetch)\n"),
	jsonLines, jsonTight, jsonInJSON,
	bare("YAML", "deploy:\n  token: %\n  region: eu\n"),
	bare("quoted YAML", "deploy:\n  token: '%' # staging\n"),
	bare("YAML flow", "deploy: {token: %, region: eu}\n"),
	bare("TOML", "[deploy]\ntoken = \"%\"\n"),
	bare("INI", "[deploy]\ntoken=%\nregion=eu\n"),
	bare("XML element", "<deploy><token>%</token></deploy>\n"),
	bare("XML attribute", "<add key=\"token\" value=\"%\" />\n"),
	bare(".env", "REGION=eu\nTOKEN=%\nDEBUG=0\n"),
	bare("quoted .env", "TOKEN=\"%\"\n"),
	bare("export", "export TOKEN=%\n"),
	bare("export with quotes", "export TOKEN='%' REGION=eu\n"),
	bare("environment before a command", "TOKEN=% ./deploy.sh\n"),
	bare("shell flag", "deploy --token=% --yes\n"),
	bare("shell flag with a space", "deploy -t % -y\n"),
	bare("shell default", "TOKEN=${TOKEN:-%}\n"),
	bare("PowerShell", "$env:TOKEN = \"%\"\n"),
	bare("Windows set", "set TOKEN=%\r\n"),
	bare("HTTP header", "GET /v1/jobs HTTP/1.1\nX-Api-Key: %\nHost: api.kestrel.dev\n"),
	bare("bearer header", "Authorization: Bearer %\n"),
	bare("curl", "curl -s -H \"X-Key: %\" https://api.kestrel.dev/v1/jobs\n"),
	bare("curl with data", "curl -d 'token=%&a=1' https://api.kestrel.dev\n"),
	bare("Python", "client = Client(token=\"%\", timeout=3)\n"),
	bare("Python with prefix", "TOKEN = f'%'\n"),
	bare("Python dictionary", "cfg = {'token':'%','region':'eu'}\n"),
	bare("JavaScript", "const token = '%';\n"),
	bare("JavaScript template", "const auth = `Bearer %`;\n"),
	bare("Go", "token := \"%\"\n"),
	bare("Go struct", "Config{Token: \"%\", Region: \"eu\"}\n"),
	bare("Java", "private static final String TOKEN = \"%\";\n"),
	bare("comment", "// token: %\n"),
	bare("comment of a block", "/* % */\n"),
	bare("Lisp", "(setq token \"%\")\n"),
	bare("docker run", "docker run --rm -e TOKEN=% kestrel/app:1.4\n"),
	bare("docker compose", "services:\n  app:\n    environment:\n      - TOKEN=%\n"),
	bare("Dockerfile", "ENV TOKEN=%\n"),
	bare("Terraform", "provider \"kestrel\" {\n  token = \"%\"\n}\n"),
	bare("Kubernetes", "stringData:\n  token: %\n"),
	bare("GitHub workflow", "        env:\n          TOKEN: %\n"),
	bare("SQL", "INSERT INTO tokens (name, value) VALUES ('deploy', '%');\n"),
	bare("CSV", "name,token,region\ndeploy,%,eu\n"),
	bare("quoted CSV", "\"deploy\",\"%\",\"eu\"\n"),
	bare("TSV", "deploy\t%\teu\n"),
	block("diff", "@@ -1,2 +1,3 @@\n region=eu\n", "+%", " debug=0\n"),
	bare("diff of an assignment", "-TOKEN=\n+TOKEN=%\n"),
	block("here document", "cat > token <<EOF\n", "%", "EOF\n"),
	bare("MCP configuration", "{\"mcpServers\":{\"kestrel\":{\"command\":\"npx\",\"args\":[\"--key\",\"%\"]}}}\n"),
}

var (
	jsonLines = Context{Name: "JSON", Whole: true, Wrap: func(value string) string {
		return "{\n  \"region\": \"eu\",\n  \"token\": " + quote(value) + "\n}\n"
	}}
	jsonTight = Context{Name: "JSON in one line", Whole: true, Wrap: func(value string) string {
		return "{\"token\":" + quote(value) + ",\"region\":\"eu\"}\n"
	}}
	jsonInJSON = Context{Name: "JSON in JSON", Whole: true, Wrap: func(value string) string {
		return "{\"body\":" + quote("{\"token\":"+quote(value)+"}") + "}\n"
	}}
)

// quote returns value as a string of JSON, without escapes that only HTML needs.
func quote(value string) string {
	var made strings.Builder
	encoder := json.NewEncoder(&made)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(made.String(), "\n")
}
