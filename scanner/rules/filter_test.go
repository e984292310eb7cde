package rules_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/teammem/teammemd/scanner/rules"
	"github.com/teammem/teammemd/scanner/samples"
)

// alone is the match of a value that is the whole text.
func alone(value string) rules.Match {
	return rules.Match{Text: value, End: len(value), SecretEnd: len(value)}
}

// judge compares a filter's judgement of values that are the whole text.
func judge(t *testing.T, filter rules.Filter, want bool, values ...string) {
	t.Helper()
	for _, value := range values {
		if got := filter.Keep(alone(value)); got != want {
			t.Errorf("%s keeps %q: %t, want %t", filter.Name, value, got, want)
		}
	}
}

// drawn returns a text of a seed, too regular for no judgement.
func drawn(name, alphabet string, length int) string {
	return samples.NewSource(1, name).Text(alphabet, length)
}

func TestNotPlaceholder(t *testing.T) {
	judge(
		t, rules.NotPlaceholder, false,
		"", "<token>", "{{ token }}", "${TOKEN}", "${TOKEN:-none}", "$TOKEN", "%TOKEN%", "%s", "%(token)s", "[PASSWORD]", "#{token}", "__TOKEN__", "$(pass show x)",
		"YOUR_API_KEY", "your-token-here", "my-secret-key", "mySecretPassword", "example-key", "xxxxxxxx", "XXXX-XXXX", "********", "........", "sk-...abcd", "ghp_****", "00000000",
		"1234567890", "abcdefghijkl", "0123456789abcdef", "qwerty123", "changeme", "change-me-please", "redacted", "REPLACE_ME", "TODO", "null", "none", "true",
		"passw0rd", "P@ssw0rd!", "s3cr3t", "password123", "hunter2", "supersecret", "postgres",
		"os.environ['KEY']", "process.env.KEY", "getenv('KEY')", "secrets.KEY", "vault:secret/data/x#y", "op://vault/item", "ref+vault://x", "ENC[AES256,data]", "!vault", "file:/run/x",
		"config.get('key')", "arn:aws:secretsmanager:eu:1:secret:x", "getSecret(name)", "urn:k8s:secret:a:b",
		"AKIA"+"IOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY"+"EXAMPLEKEY", "JBSWY3DP"+"EHPK3PXP",
		base64.StdEncoding.EncodeToString([]byte("secure-password")),
	)
	judge(
		t, rules.NotPlaceholder, true,
		drawn("a", samples.Alnum, 20)+"test"+drawn("b", samples.Alnum, 16), drawn("c", samples.Alnum, 18)+"example"+drawn("d", samples.Alnum, 15),
		drawn("e", samples.Hex, 32), drawn("f", samples.Alnum, 40), drawn("g", samples.Alnum, 24)+"...", "Tr0ub4dor&3", "Velvet-cobalt!8842Zk",
	)
}

func TestRandom(t *testing.T) {
	judge(t, rules.Random, true, drawn("a", samples.Hex, 32), drawn("b", samples.Alnum, 20), drawn("c", samples.Base64, 43)+"=", drawn("d", samples.Word, 64))
	judge(
		t, rules.Random, false,
		"short1A", "550e8400-e29b-41d4-a716-446655440000", "someIdentifierInCamelCase2", "snake_case_name_of_a_thing_3", "a.dotted.name.of.something.4", "/etc/kubernetes/admin1.conf",
		"https://acme.io/a1b2c3d4e5f6", "projects/my-project/secrets/x1", "v1.20.3-rc.4+build.5", "2024-01-02T03:04:05", "bill.smith42@acme-corp.io", "sha256:"+strings.Repeat("a1b2", 16),
	)
}

func TestStrong(t *testing.T) {
	judge(t, rules.Strong, true, "Tr0ub4dor&3", "Winter2031!", drawn("a", samples.Alnum, 16)+"1", "Velvet-cobalt!8842Zk")
	judge(t, rules.Strong, false, "hunter2", "password", "required", "P@ssw0rd1!", "user.password", "authentication-method", "1234-5678-90", "v1.2.3", "$apr1$"+drawn("b", samples.Alnum, 8)+"$"+drawn("c", samples.Alnum, 22))
	judge(t, rules.StrongWord, false, "fmt.Sprintf(\"%1\",", ":min(8)->letters()", "{user.Pass1}", `\S+1A!xyz`, "$Passw1!rd")
	judge(t, rules.StrongWord, true, "Tr0ub4dor&3.", "Winter2031!")
}

func TestBasicPair(t *testing.T) {
	encode := func(pair string) string { return base64.StdEncoding.EncodeToString([]byte(pair)) }
	judge(t, rules.BasicPair, true, encode("bill:"+drawn("a", samples.Alnum, 14)+"1"), encode(drawn("b", samples.Alnum, 30)+"12:"))
	judge(t, rules.BasicPair, false, encode("user:pass"+"word"), encode("admin:admin"), encode("no colon here"), encode("bill:${PASS}"), "oauthTokenProvider", encode("Aladdin:open "+"sesame"))
}

func TestOpensHost(t *testing.T) {
	secret := "Kt" + drawn("a", samples.Alnum, 10) + "!4"
	for rest, want := range map[string]bool{
		"db.prod.acme.io:5432/x": true, "10.1.2.3/x": true, "[2001:db8::1]:6379": true, "db/x": true,
		"localhost/x": false, "127.0.0.1:80": false, "[::1]/x": false, "db.example.com": false, "a.test": false, "x.invalid": false, "db.example": false, "host.docker.internal": false,
		"sha256:0123": false,
	} {
		text := "postgres://app:" + secret + "@" + rest
		m := rules.Match{Text: text, Start: 8, End: len(text), SecretStart: 15, SecretEnd: 15 + len(secret)}
		if got := rules.OpensHost.Keep(m); got != want {
			t.Errorf("host %q opens: %t, want %t", rest, got, want)
		}
	}
}

func TestSeedPhrase(t *testing.T) {
	judge(t, rules.SeedPhrase, true, "lobe dusk gate fuel mule nope rude tofu bulk deft gorm luna")
	judge(
		t, rules.SeedPhrase, false,
		strings.Repeat("test ", 11)+"junk", "lobe dusk gate", "this seed fills the table with rows that all tests will share", strings.TrimSpace(strings.Repeat("lobe dusk gate fuel ", 4)),
	)
}

func TestRecoveryCodes(t *testing.T) {
	judge(t, rules.RecoveryCodes, true, "- 4f7d2-9c1b8\n- 8b3e1-7a2d6\n- 1c9f4-5e8a3\n")
	judge(t, rules.RecoveryCodes, false, "- 2024-01-02\n- 2024-01-03\n- 2024-01-04\n", "- first-thing\n- second-thing\n- third-thing\n")
}

func TestTokenLabel(t *testing.T) {
	secret := drawn("a", samples.Alnum, 32)
	for label, want := range map[string]bool{
		"api key: ": true, "API_KEY=": true, "the signing key is ": true, "token: ": true, "client secret = ": true,
		"public key: ": false, "cache key: ": false, "primary key: ": false, "page token: ": false, "key: ": false, "idempotency key: ": false,
	} {
		text := label + secret
		from := strings.LastIndexAny(label, " _") // the word before the sign
		for _, word := range []string{"key", "token", "secret"} {
			if at := strings.Index(strings.ToLower(label), word); at >= 0 {
				from = at
			}
		}
		m := rules.Match{Text: text, Start: from, End: len(text), SecretStart: len(label), SecretEnd: len(text)}
		if got := rules.TokenLabel.Keep(m); got != want {
			t.Errorf("label %q: %t, want %t", label, got, want)
		}
	}
}
