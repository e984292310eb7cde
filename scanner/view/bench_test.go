package view_test

import (
	"strings"
	"testing"

	"github.com/teammem/teammemd/scanner/view"
)

// prose is English as notes have it, with the marks of Markdown that notes have
// but without anything that a view would change.
var prose = strings.Repeat(`## How we deploy

Push to `+"`main`"+`, wait for the *checks*, then run **make release** on the build host. It
tags, signs and uploads; see [the runbook](https://wiki.example.org/deploy/run-book.html#top).
The database is migrated by internal/migrations/2024_add_index.go before the first
request, and "old" clients keep working: they don't read the new columns.

- staging: _every_ commit on main, 4 replicas, 512 MiB each
- production: tags only, after a person said yes (docs/operate.md, section 3.2)

| service | port | owner |
|---------|------|-------|
| gateway | 8443 | platform_team |

`, 100)

// distorted is prose in which a few lines are written in another way.
var distorted = strings.Repeat(prose[:len(prose)/100]+"A\u00a0key&#58; ab\\_cd\u200bef, x \u2013 y, \"ab\" + \"cd\"\n\n", 100)

func BenchmarkNormaliseProse(b *testing.B) { benchmarkNormalise(b, prose) }

func BenchmarkNormaliseDistorted(b *testing.B) { benchmarkNormalise(b, distorted) }

func benchmarkNormalise(b *testing.B, text string) {
	b.Helper()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		view.Normalise(view.Of(text))
	}
}

func BenchmarkVariantsProse(b *testing.B) { benchmarkVariants(b, prose) }

func BenchmarkVariantsDistorted(b *testing.B) { benchmarkVariants(b, distorted) }

func benchmarkVariants(b *testing.B, text string) {
	b.Helper()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		view.Variants(view.Of(text))
	}
}

func BenchmarkDecodeProse(b *testing.B) { benchmarkDecode(b, prose) }

func BenchmarkDecodeBase64(b *testing.B) {
	benchmarkDecode(b, strings.Repeat("dGhlIHF1aWNrIGJyb3duIGZveCBqdW1wcw", len(prose)/34))
}

func benchmarkDecode(b *testing.B, text string) {
	b.Helper()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		view.Decode(view.Of(text))
	}
}
