package corpus

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// brokenContexts break, escape or encode the value.
var brokenContexts = []Context{
	inserted("mid-word bold", "**", "**"),
	inserted("mid-word italics", "*", "*"),
	inserted("zero-width space", "\u200b", "\u200b"),
	inserted("zero-width joiner", "\u200d", ""),
	inserted("soft hyphen", "\u00ad", "\u00ad"),
	inserted("word joiner", "\u2060", ""),
	inserted("word break", "<wbr>", "<wbr>"),
	inserted("HTML comment inside", "<!-- -->", ""),
	inserted("HTML bold inside", "<b>", "</b>"),
	inserted("hard wrap", "\n", ""),
	inserted("hard wrap with CRLF", "\r\n", ""),
	inserted("hard wrap in an item", "\n  ", ""),
	inserted("hard wrap in a quotation", "\n> ", ""),
	inserted("Markdown line break", "\\\n", ""),
	inserted("ANSI colours", "\x1b[31m", "\x1b[0m"),
	written("string concatenation", func(value string) string { return "token = \"" + spread(value, "\" + \"", "\" + \"") + "\"" }),
	written("concatenation over lines", func(value string) string { return "token = (\"" + spread(value, "\"\n         \"", "") + "\")" }),
	written("concatenation with dots", func(value string) string { return "$token = '" + spread(value, "' . '", "") + "';" }),
	written("backslash and newline", func(value string) string { return "deploy --token \\\n  " + spread(value, "\\\n", "") }),
	written("Markdown backslashes", func(value string) string {
		return "It is " + strings.NewReplacer("_", `\_`, "-", `\-`, ".", `\.`, "*", `\*`, "~", `\~`).Replace(value) + " there."
	}),
	written("HTML entities", func(value string) string {
		return "It is " + strings.NewReplacer("_", "&#95;", "-", "&#x2D;", ".", "&period;", "~", "&#126;", "=", "&equals;", "A", "&#65;").Replace(value) + " there."
	}),
	written("full width", func(value string) string {
		return "令牌：" + strings.Map(func(r rune) rune {
			if r > ' ' && r < 0x7f {
				return r + 0xfee0
			}
			return r
		}, value)
	}),
	encoded("base64", base64.StdEncoding.EncodeToString),
	encoded("base64 without padding", base64.RawStdEncoding.EncodeToString),
	encoded("base64url", base64.RawURLEncoding.EncodeToString),
	encoded("base64 twice", func(value []byte) string {
		return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString(value)))
	}),
	encoded("base64 of an assignment", func(value []byte) string {
		return base64.StdEncoding.EncodeToString(append([]byte("user=deploy\ntoken="), value...))
	}),
	encoded("hex", hex.EncodeToString),
	encoded("hex in capitals", func(value []byte) string { return strings.ToUpper(hex.EncodeToString(value)) }),
	encoded("percent", each("%%%02X")),
	encoded("backslash u", each(`\u%04x`)),
	encoded("backslash x", each(`\x%02x`)),
}

// inserted breaks the value at a third and at two thirds.
func inserted(name, first, second string) Context {
	return written(name, func(value string) string { return "The token is " + spread(value, first, second) + " for now." })
}

// spread puts first after a third of value and second after two thirds.
func spread(value, first, second string) string {
	a, b := len(value)/3, 2*len(value)/3
	return value[:a] + first + value[a:b] + second + value[b:]
}

// written is a context of one line that changes the value.
func written(name string, write func(string) string) Context {
	return Context{Name: name, OneLine: true, Wrap: func(value string) string { return "# Deploy\n\n" + write(value) + "\n\nAsk Ada.\n" }}
}

// encoded writes the value in another alphabet.
func encoded(name string, encode func([]byte) string) Context {
	return Context{Name: name, Wrap: func(value string) string { return "Deploy:\n\ndata: " + encode([]byte(value)) + "\n" }}
}

// each writes every byte by a format.
func each(format string) func([]byte) string {
	return func(value []byte) string {
		var made strings.Builder
		for _, b := range value {
			fmt.Fprintf(&made, format, b)
		}
		return made.String()
	}
}
