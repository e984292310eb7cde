package corpus_test

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/teammem/teammemd/scanner/corpus"
)

func TestTemplate(t *testing.T) {
	tests := []struct {
		template    corpus.Template
		want        string
		first, last int
	}{
		{"a ⟪b⟨H8⟩⟫ c", `^a b[0-9a-f]{8} c$`, 1, 1},
		{"one\n⟪gh¦p_⟨A36⟩⟫", `^one\ngh` + `p_[0-9A-Za-z]{36}$`, 2, 2},
		{"one\n⟪two\n⟨D3⟩⟫\nfour", `^one\ntwo\n\d{3}\nfour$`, 2, 3},
		{"⟪⟨b64 user:⟨L10⟩⟩⟫", `^dXNlcjp[0-9A-Za-z+/]{13}$`, 1, 1},
		{"⟪⟨hex ab⟩⟨url a/b⟩⟫", `^6162a%2Fb$`, 1, 1},
		{"⟪⟨uuid⟩⟫", `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, 1, 1},
		{"⟪⟨seed12⟩⟫", `^([a-z]+ ){11}[a-z]+$`, 1, 1},
		{"⟪⟨seed24⟩⟫", `^([a-z]+ ){23}[a-z]+$`, 1, 1},
		{"⟪⟨fam:twilio-api-key⟩⟫", `^SK[0-9a-f]{32}$`, 1, 1},
		{"⟪⟨pw⟩⟫", `^[0-9A-Za-z][!#%^*_+~$0-9A-Za-z]{14,18}[0-9A-Za-z]$`, 1, 1},
		{"⟪⟨key64⟩⟫", `^MII(.{61})\n(.{64}\n){5}.{30}==$`, 1, 7},
	}
	for _, test := range tests {
		made := test.template.Make(source("template", 1))
		first, last := made.Lines()
		if !regexp.MustCompile(test.want).MatchString(made.Text) || first != test.first || last != test.last {
			t.Errorf("%s: %q on lines %d to %d", test.template, made.Text, first, last)
		}
	}
}

func TestTemplateKnowsItsSigns(t *testing.T) {
	for _, template := range []corpus.Template{"⟨H8", "⟨nothing⟩", "⟨Z8⟩", "⟨Hx⟩", "⟨fam:none⟩", "⟪a", "⟪a⟫ ⟪b⟫"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is taken for a template", template)
				}
			}()
			template.Make(source("template", 1))
		}()
	}
}

func TestTokensAreSigned(t *testing.T) {
	parts := strings.Split(corpus.Template("⟪⟨jwt⟩⟫").Make(source("jwt", 1)).Secret(), ".")
	if len(parts) != 3 {
		t.Fatalf("%d parts", len(parts))
	}
	for _, part := range parts[:2] {
		text, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || !json.Valid(text) {
			t.Errorf("%s: %q, %v", part, text, err)
		}
	}
	if signature, err := base64.RawURLEncoding.DecodeString(parts[2]); err != nil || len(signature) != 32 {
		t.Errorf("a signature of %d bytes, %v", len(signature), err)
	}
}
