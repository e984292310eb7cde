package search_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/server/search"
)

// TestRelevance asks the corpus, each query with what it must give first, in this
// order; "only" says that there is nothing else.
func TestRelevance(t *testing.T) {
	t.Parallel()
	x := build(t, corpus())
	tests := []struct {
		query string
		only  bool
		want  []string
	}{
		{"deploy runbook", true, []string{"ops/deploy.md"}},
		{"deploy", true, []string{"ops/deploy.md", "zh/deploy.md", "MEMORY.md", "ops/incident-2026-03.md"}},
		{"DEPLOY GateWay", true, []string{"ops/deploy.md", "ops/incident-2026-03.md"}},
		{`"blue green"`, true, []string{"ops/deploy.md"}},
		{`"green blue"`, true, nil},
		{"deploy -canary", true, []string{"zh/deploy.md", "MEMORY.md"}},
		{`gateway -"canary step"`, true, []string{"ops/incident-2026-03.md"}},
		{"gateway -rollb* -roll", true, []string{"ops/incident-2026-03.md"}},
		{"incid*", true, []string{"ops/incident-2026-03.md"}},
		{"key:ops/** deploy", true, []string{"ops/deploy.md", "ops/incident-2026-03.md"}},
		{"key:ops/ -key:*incident* deploy", true, []string{"ops/deploy.md"}},
		{"key:deploy.md", true, []string{"ops/deploy.md", "zh/deploy.md"}},
		{"key:OPS/*", true, []string{"ops/deploy.md", "ops/incident-2026-03.md", "ops/postgres.md"}},
		{"postgresql", true, []string{"ops/postgres.md"}},
		{"colour", true, []string{"notes/colour-blindness.md"}}, // in the key alone
		{"unicode name", true, []string{"notes/Ünïcode Name.md"}},

		// names
		{"MaxEntryBytes", true, []string{"code/limits.md"}},
		{"maxentrybytes", true, []string{"code/limits.md"}},
		{"max_entry_bytes", true, []string{"code/limits.md"}},
		{"max-entry", true, []string{"code/limits.md"}},
		{"entry bytes", true, []string{"code/limits.md"}},
		{"--max-entry-bytes", true, []string{"code/limits.md"}},
		{"api.MaxEntryBytes", true, []string{"code/limits.md"}},
		{"maxEntry*", true, []string{"code/limits.md"}},
		{"parse http", true, []string{"testing/flaky.md"}},
		{"TestParseHTTPRequest", true, []string{"testing/flaky.md"}},
		{"HTTPReq*", true, []string{"testing/flaky.md"}},
		{"server/core/decide_test.go", true, []string{"testing/flaky.md"}},
		{"core/decide", true, []string{"testing/flaky.md"}},
		{"decide_test", true, []string{"testing/flaky.md"}},
		{"#4711", true, []string{"testing/flaky.md"}},
		{`"github actions"`, true, []string{"code/style.md"}},
		{"git hub", true, []string{"code/style.md"}},
		{"readonly", true, []string{"code/style.md"}},
		{"read-only", true, []string{"code/style.md"}},
		{"email", true, []string{"code/errors.md"}},
		{"errors.Is", true, []string{"code/errors.md"}},
		{"kubectl rollout undo deploy/gateway", true, []string{"ops/deploy.md"}},
		{"max_wal_size", true, []string{"ops/postgres.md"}},
		{"servercon*", true, []string{"ja/search.md"}},

		// case and accents
		{"grosse uebertragung", false, nil},
		{"größe", true, []string{"de/umlaute.md"}},
		{"GROSSE", true, []string{"de/umlaute.md"}},
		{"ubertragung", true, []string{"de/umlaute.md"}},
		{"strasse", true, []string{"de/umlaute.md"}},
		{"ete", true, []string{"fr/ete.md"}},
		{"ecole", true, []string{"fr/ete.md"}},
		{"l'école", true, []string{"fr/ete.md"}},
		{"coeur", true, []string{"fr/ete.md"}},
		{"lodz", true, []string{"pl/lodz.md"}},
		{"развертывание", true, []string{"ru/razvertyvanie.md"}},
		{"ΘΑΛΑΣΣΑ", true, []string{"el/thalassa.md"}},
		{"λογοσ", true, []string{"el/thalassa.md"}},
		{"ملاحظة", true, []string{"ar/note.md"}},
		{"เซิร์ฟเวอร์", true, []string{"th/note.md"}},
		{"ＰｏｓｔｇｒｅＳＱＬ", true, []string{"ops/postgres.md"}},

		// scripts without spaces
		{"検索", true, []string{"ja/search.md"}},
		{"日本語", true, []string{"ja/search.md"}},
		{"全文検索", true, []string{"ja/search.md"}},
		{"日本語 ServerConfig", true, []string{"ja/search.md"}},
		{"設定はServerConfig", true, []string{"ja/search.md"}},
		{"データ", true, []string{"ja/kana.md"}},
		{"ﾃﾞｰﾀﾍﾞｰｽ", true, []string{"ja/kana.md"}},
		{"猫", true, []string{"zh/cat.md"}},
		{"猫。", true, []string{"zh/cat.md"}},
		{"部署", true, []string{"zh/deploy.md"}},
		{"支付网关", true, []string{"zh/deploy.md"}},
		{`"部署 支付网关"`, true, []string{"zh/deploy.md"}},
		{"데이터베이스", true, []string{"ko/build.md"}},
		{"빌드 CI", true, []string{"ko/build.md"}},
		{"ci에서", true, []string{"ko/build.md"}},
		{"billing 서비스", false, nil},

		{"zebra", true, []string{"crlf.md"}},
		{"needle", true, []string{"long/one.md", "long/two.md"}},
	}
	for _, tt := range tests {
		got := keys(find(t, x, tt.query))
		if tt.only && !slices.Equal(got, tt.want) && len(got)+len(tt.want) > 0 {
			t.Errorf("%s gives %q, want %q alone", tt.query, got[:min(8, len(got))], tt.want)
		}
		if !slices.Equal(got[:min(len(got), len(tt.want))], tt.want) {
			t.Errorf("%s gives %q first, want %q", tt.query, got[:min(8, len(got))], tt.want)
		}
	}
}

// TestFallback asks for words that no entry has together.
func TestFallback(t *testing.T) {
	t.Parallel()
	x := build(t, corpus())
	tests := []struct {
		query string
		match search.Match
		first string // "" for none
	}{
		{"canary gateway", search.MatchAll, "ops/deploy.md"},
		{"zebra canary pager", search.MatchAny, "ops/incident-2026-03.md"},
		{"zebra xyzzy", search.MatchAny, "crlf.md"},
		{"xyzzy", search.MatchAll, ""},
		{"xyzzy plugh", search.MatchAll, ""},
		{"zebra xyzzy -line", search.MatchAll, ""},
		{"zebra xyzzy key:ops/**", search.MatchAll, ""},
		{"怎么部署支付网关", search.MatchAny, "zh/deploy.md"}, // a question, written in one
	}
	for _, tt := range tests {
		got := find(t, x, tt.query)
		first := ""
		if len(got.Results) > 0 {
			first = got.Results[0].Key.String()
		}
		if got.Match != tt.match || first != tt.first || (got.Total == 0) != (tt.first == "") {
			t.Errorf("%s: matched %s, %d entries, first %q; want %s, %q", tt.query, got.Match, got.Total, first, tt.match, tt.first)
		}
	}
}

// marked is a snippet with its marks in brackets.
func marked(s search.Snippet) string {
	var out strings.Builder
	runes := []rune(s.Text)
	at := 0
	for _, m := range s.Marks {
		out.WriteString(string(runes[at:m[0]]) + "[" + string(runes[m[0]:m[1]]) + "]")
		at = m[1]
	}
	return out.String() + string(runes[at:])
}

func TestSnippets(t *testing.T) {
	t.Parallel()
	x := build(t, corpus())
	tests := []struct {
		query, key string
		line       int
		text       string // it begins so
	}{
		{"canary step", "ops/deploy.md", 8, "We deploy with blue green. Never skip the [canary] [step]. Roll back"},
		{`"blue green"`, "ops/deploy.md", 3, "description: [Blue] [green] deploys"},
		{"colour", "notes/colour-blindness.md", 1, "Charts use a palette"},
		{"runbook key:ops/deploy.md", "ops/deploy.md", 2, "name: deploy-[runbook]"},
		{"key:ops/deploy.md", "ops/deploy.md", 3, "description: Blue green"},
		{"zebra", "crlf.md", 2, "second line has the [zebra] third line"},
		{"HTTP", "testing/flaky.md", 3, "[TestParseHTTPRequest] in server/core"},
		{"entry bytes", "code/limits.md", 1, "The constant api.[MaxEntryBytes] bounds an [entry]; in Python it is max_[entry]_[bytes], on"},
		{"検索", "ja/search.md", 1, "# 全文[検索] 日本語の[検索]は二文字"},
		{"データ", "ja/kana.md", 3, "[データ]ベースの移行は夜に行う。[ﾃﾞｰﾀ]は"},
		{"猫", "zh/cat.md", 1, "# [猫] 服务器的名字叫[猫]。"},
		{"thread needle", "long/two.md", 1, "and hay again. hay and straw and hay again. At last the [needle], and then the [thread]."},
		{"ubertragung", "de/umlaute.md", 1, "# Größe der [Übertragung]"},
		{"key:empty.md", "empty.md", 0, ""},
		{"key:/marks.md", "marks.md", 0, "!!! ??? --- ***"},
	}
	for _, tt := range tests {
		got := find(t, x, tt.query)
		i := slices.IndexFunc(got.Results, func(r search.Result) bool { return r.Key.String() == tt.key })
		if i < 0 {
			t.Errorf("%s does not find %s", tt.query, tt.key)
			continue
		}
		s := got.Results[i].Snippet
		if text := marked(s); !strings.HasPrefix(text, tt.text) || s.Line != tt.line {
			t.Errorf("%s shows line %d, %q; want line %d, %q...", tt.query, s.Line, text, tt.line, tt.text)
		}
	}
}

// TestSnippetIsPlain feeds what must not reach a terminal.
func TestSnippetIsPlain(t *testing.T) {
	t.Parallel()
	x := build(t, entries{"a.md": "red \x1b[31m needle\x07\u202e\u2028\u200b \x9b \xff\xfe end\ttab\r\n\r\n\r\n<b>next</b>"})
	got := find(t, x, "needle").Results
	if len(got) != 1 || marked(got[0].Snippet) != "red [31m [needle] end tab <b>next</b>" {
		t.Errorf("the results are %+v", got)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	x := build(t, corpus())
	q := parse(t, "part notes")
	whole := x.Find(q, search.Page{Limit: 1000})
	if whole.Total < 150 || len(whole.Results) != whole.Total {
		t.Fatalf("%d of %d results", len(whole.Results), whole.Total)
	}
	for i := 1; i < len(whole.Results); i++ {
		a, b := whole.Results[i-1], whole.Results[i]
		if a.Score < b.Score || a.Score == b.Score && a.Key.Compare(b.Key) >= 0 {
			t.Errorf("result %d, %s of %v, stands before %s of %v", i-1, a.Key, a.Score, b.Key, b.Score)
		}
	}
	var paged []search.Result
	for offset := 0; offset < whole.Total; offset += 7 {
		part := x.Find(q, search.Page{Limit: 7, Offset: offset})
		if part.Total != whole.Total {
			t.Fatalf("the total is %d at %d, want %d", part.Total, offset, whole.Total)
		}
		paged = append(paged, part.Results...)
	}
	if diff := cmp.Diff(stringsOf(whole.Results), stringsOf(paged)); diff != "" {
		t.Errorf("pages differ from the whole (-whole +pages):\n%s", diff)
	}
	for _, page := range []search.Page{{}, {Limit: -1}, {Limit: 5, Offset: 5000}, {Limit: 0, Offset: 3}} {
		if got := x.Find(q, page); len(got.Results) != 0 || got.Total != whole.Total {
			t.Errorf("page %+v has %d results of %d", page, len(got.Results), got.Total)
		}
	}
}

func stringsOf(results []search.Result) []string {
	list := make([]string, len(results))
	for i, r := range results {
		list[i] = r.Key.String()
	}
	return list
}
