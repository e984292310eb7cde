package api_test

import (
	"testing"

	"github.com/teammem/teammemd/api"
)

func BenchmarkParseKey(b *testing.B) {
	for name, key := range map[string]string{"ascii": "notes/deploy/how-to-roll-back.md", "unicode": "notes/déploiement/漢字.md"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := api.ParseKey(key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
