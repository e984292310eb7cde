package search_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/search"
)

// entries are the live entries of a repo: key to content.
type entries map[string]string

func mustKey(tb testing.TB, s string) api.Key {
	tb.Helper()
	k, err := api.ParseKey(s)
	if err != nil {
		tb.Fatalf("%q: %v", s, err)
	}
	return k
}

var day = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// items lists entries as a head does.
func (e entries) items(tb testing.TB) []search.Item {
	tb.Helper()
	var list []search.Item
	for key, content := range e {
		list = append(list, search.Item{Key: mustKey(tb, key), Sum: api.SumString(content), Modified: day})
	}
	slices.SortFunc(list, func(a, b search.Item) int { return a.Key.Compare(b.Key) })
	return list
}

func (e entries) contents() map[api.Checksum]string {
	all := make(map[api.Checksum]string, len(e))
	for _, content := range e {
		all[api.SumString(content)] = content
	}
	return all
}

func build(tb testing.TB, e entries) *search.Index {
	tb.Helper()
	return (*search.Index)(nil).Next(e.items(tb), e.contents(), api.MaxEntryBytes)
}

func parse(tb testing.TB, text string) *search.Query {
	tb.Helper()
	q, err := search.Parse(text)
	if err != nil {
		tb.Fatalf("Parse(%q): %v", text, err)
	}
	return q
}

func find(tb testing.TB, x *search.Index, text string) search.Found {
	tb.Helper()
	return x.Find(parse(tb, text), search.Page{Limit: 1000})
}

func keys(f search.Found) []string {
	list := make([]string, 0, len(f.Results))
	for _, r := range f.Results {
		list = append(list, r.Key.String())
	}
	return list
}

// special are notes that the relevance table knows, in the manner of what agents
// write down.
var special = entries{
	"MEMORY.md":                 "# Index\n\n- [Deploys](ops/deploy.md): how releases go out\n- [Flaky tests](testing/flaky.md)\n- [発見](ja/search.md)\n",
	"ops/deploy.md":             "---\nname: deploy-runbook\ndescription: Blue green deploys of the payment gateway\ntype: reference\n---\n# Deploy runbook\n\nWe deploy with blue green. Never skip the canary step.\n\nRoll back with `kubectl rollout undo deploy/gateway -n payments`.\n",
	"ops/incident-2026-03.md":   "# Incident of March\n\nThe deploy of the gateway failed since the canary was skipped; the pager rang at 03:12.\n",
	"ops/postgres.md":           "---\ntitle: PostgreSQL\n---\nWe run PostgreSQL 15. VACUUM is slow on the events table; max_wal_size is 8GB.\n",
	"testing/flaky.md":          "# Flaky tests\n\nTestParseHTTPRequest in server/core/decide_test.go is flaky under -race.\nSee issue #4711.\n",
	"code/limits.md":            "The constant api.MaxEntryBytes bounds an entry; in Python it is max_entry_bytes, on the command line --max-entry-bytes.\n",
	"code/style.md":             "# Style\n\nNames are the field's own. Read-only views are called View. GitHub Actions run the linters.\n",
	"code/errors.md":            "# Errors\n\nUse errors.Is with the sentinels of package api. The e-mail of the maintainer is in CODEOWNERS.\n",
	"de/umlaute.md":             "# Größe der Übertragung\n\nDie Straße zum Rechenzentrum ist gesperrt; die Übertragung läuft über die zweite Leitung.\n",
	"fr/ete.md":                 "# Déploiement\n\nL'été, le déploiement se fait le mardi à l'école, café compris. Le cœur du système est figé.\n",
	"pl/lodz.md":                "# Łódź\n\nSerwerownia w Łodzi ma zapasowe łącze.\n",
	"ru/razvertyvanie.md":       "# Развёртывание\n\nРазвёртывание идёт по вторникам. Ключи лежат в хранилище.\n",
	"el/thalassa.md":            "# Θάλασσα\n\nΟ διακομιστής βρίσκεται στη Θεσσαλονίκη. Λόγος.\n",
	"ja/search.md":              "# 全文検索\n\n日本語の検索は二文字ずつの索引で動く。サーバーの設定はServerConfigで変える。\n",
	"ja/kana.md":                "# カナ\n\nデータベースの移行は夜に行う。ﾃﾞｰﾀは消さない。\n",
	"zh/deploy.md":              "# 部署手册\n\n部署支付网关之前,先运行数据库迁移。不要跳过金丝雀步骤。\n",
	"zh/cat.md":                 "# 猫\n\n服务器的名字叫猫。\n",
	"ko/build.md":               "# 빌드 안내\n\n데이터베이스를 먼저 시작하고 서버를 빌드한다. CI에서는 캐시를 쓴다.\n",
	"ar/note.md":                "# مُلاحَظة\n\nالخادم في الطابق الثاني.\n",
	"th/note.md":                "# บันทึก\n\nเซิร์ฟเวอร์ อยู่ชั้นสอง\n",
	"crlf.md":                   "first line\r\nsecond line has the zebra\r\nthird line\r\n",
	"empty.md":                  "",
	"marks.md":                  "!!! ??? --- ***\n",
	"long/one.md":               "The needle is here. " + strings.Repeat("hay and straw and hay again. ", 400),
	"long/two.md":               strings.Repeat("hay and straw and hay again. ", 400) + "At last the needle, and then the thread.",
	"notes/Ünïcode Name.md":     "# Something else\n\nThe name of this file has accents.\n",
	"notes/colour-blindness.md": "Charts use a palette that is safe for everyone.\n",
}

// corpus is some 200 notes: the special ones, and others in seven languages that
// are made of the words of their subject.
func corpus() entries {
	all := maps.Clone(special)
	subjects := []string{"billing", "search", "login", "metrics", "queue", "cache", "mail", "import", "export", "audit", "session", "upload"}
	for i := len(all); len(all) < 200; i++ {
		subject := subjects[i%len(subjects)]
		texts := []string{
			"The %[1]s service keeps its state in Redis. Restart it with systemctl restart %[1]s. Owner of %[1]s: team %[2]d.\n",
			"Der Dienst %[1]s läuft auf Knoten %[2]d. Vor jeder Änderung den Zustand sichern.\n",
			"Le service %[1]s écrit dans la file numéro %[2]d. Ne pas redémarrer pendant l'import.\n",
			"El servicio %[1]s usa el puerto %[2]d. Revisar los registros antes de reiniciar.\n",
			"%[1]s サービスは %[2]d 番ポートで動く。再起動の前に監視を止める。\n",
			"%[1]s 服务使用端口 %[2]d。重启之前请先通知团队。\n",
			"%[1]s 서비스는 포트 %[2]d 에서 실행된다. 다시 시작하기 전에 팀에 알린다.\n",
		}
		content := fmt.Sprintf("# Notes on %s, part %d\n\n", subject, i) + fmt.Sprintf(texts[i%len(texts)], subject, 7000+i)
		all[fmt.Sprintf("%s/part-%03d.md", subject, i)] = content
	}
	return all
}
