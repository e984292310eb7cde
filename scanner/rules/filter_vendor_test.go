package rules_test

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/teammem/teammemd/scanner/rules"
	"github.com/teammem/teammemd/scanner/samples"
)

// rule returns one of our rules, as a judgement of texts.
func rule(t *testing.T, id string) func(text string) bool {
	t.Helper()
	for _, r := range rules.Ours() {
		if r.ID == id {
			pattern, after := regexp.MustCompile(r.Pattern), regexp.MustCompile(`^[\x00`+r.Alphabet+`]`)
			return func(text string) bool { return found(r, pattern, after, text) }
		}
	}
	t.Fatalf("no rule %s", id)
	return nil
}

func family(t *testing.T, id string) string {
	t.Helper()
	f, ok := samples.Find(id)
	if !ok {
		t.Fatalf("no family %s", id)
	}
	return f.Sample()
}

func TestVendorFilters(t *testing.T) {
	s := samples.NewSource(1, "filters")
	letters, random := s.Text(samples.Lower, 24), s.Text(samples.Alnum, 60)
	signature := "si" + "g=" + random[:43] + "%3D"
	address := "https://a.blob.core.windows.net/b?sv=2024&"
	bot := func(number string) string {
		return "Discord token: " + base64.RawURLEncoding.EncodeToString([]byte(number)) + "." + random[:6] + "." + random[6:44]
	}
	tests := []struct {
		name, rule, text string
		want             bool
	}{
		{"a signature with its end", "tm-azure-sas-signature", address + "se=2030&" + signature, true},
		{"a signature of something else", "tm-azure-sas-signature", "https://example.org/?" + signature, false},
		{"the end on another line", "tm-azure-sas-signature", address + signature + "\nse=2030", false},
		{"a prefix of its own", "tm-mollie-api-key", "li" + "ve_A1" + random[:28], true},
		{"the end of another prefix", "tm-mollie-api-key", "sk" + "_live_A1" + random[:28], false},
		{"random", "tm-fireworks-api-key", "f" + "w_Z9" + random[:22], true},
		{"an identifier", "tm-fireworks-api-key", "f" + "w_" + letters, false},
		{"an identifier in camel case", "tm-fireworks-api-key", "f" + "w_" + "Load" + letters[:7] + "From" + letters[7:14], false},
		{"a placeholder's word", "tm-groq-api-key", "gs" + "k_" + "EXAMPLE" + random[:45], false},
		{"one character", "tm-groq-api-key", "gs" + "k_" + random[:30] + strings.Repeat("0", 22), false},
		{"a count", "tm-groq-api-key", "gs" + "k_" + random[:42] + "0123456789", false},
		{"a common word", "tm-groq-api-key", "gs" + "k_" + random[:47] + "false", true},
		{"a number", "tm-discord-bot-token", bot("123987456123987456"), true},
		{"no number", "tm-discord-bot-token", bot("no number in here!"), false},
		{"too small a number", "tm-discord-bot-token", bot("1239874561")[:60], false},
		{"gitleaks' Anthropic key", "tm-anthropic-api-key", family(t, "anthropic-api-key"), false},
		{"a shorter Anthropic key", "tm-anthropic-api-key", family(t, "anthropic-api-key")[:80], true},
		{"gitleaks' OpenAI key", "tm-openai-api-key", family(t, "openai-api-key"), false},
		{"an OpenAI key without its middle", "tm-openai-api-key", family(t, "openai-api-key")[:80], true},
		{"gitleaks' Hugging Face token", "tm-huggingface-token", family(t, "huggingface-access-token"), false},
		{"gitleaks' Shopify token", "tm-shopify-token-other", family(t, "shopify-access-token"), false},
		{"a label", "tm-mistral-api-key", "Mistral API key is " + random[:32] + ".", true},
		{"a vendor without a label", "tm-mistral-api-key", "the Mistral model " + random[:32], false},
		{"another line's label", "tm-mistral-api-key", "Mistral\n\nThe key of the door: " + random[:32], false},
		{"part of a longer word", "tm-mistral-api-key", "MISTRAL_API_KEY=" + random[:40], false},
	}
	for _, tt := range tests {
		if got := rule(t, tt.rule)(tt.text); got != tt.want {
			t.Errorf("%s: %s finds it: %t, want %t", tt.name, tt.rule, got, tt.want)
		}
	}
}
