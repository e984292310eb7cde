package rules

import "github.com/teammem/teammemd/scanner/samples"

var connectionStructures = []Rule{
	{
		ID: "tm-connection-string", Tier: Block2, Title: "Password in a connection string",
		Reason:   "A connection string with a password opens its database or queue.",
		Keywords: []string{"password=", "password =", "pwd=", "pwd ="},
		Pattern: `(?i)(?:[;,]\s?(?:password|pwd) ?=\s?(?:['{]([^'}\n]{6,128})['}]|([^;,"'\s\x60<>]{6,128}))|` +
			`\b(?:password|pwd) ?=\s?([^;"'\s\x60<>]{6,128});\s?(?:server|data source|user id|uid|user|username|host|database|initial catalog)\s?=)`,
		Filters: []Filter{NotTrivial, NotWeak, Remote},
		Hits: each(
			with("Server=tcp:sql.acme.io,1433;User Id=app;Password=", ";Encrypt=true"), with("Driver={PostgreSQL};Server=pg1.acme.io;UID=a;PWD=", ""),
			with("cache.acme.io:6380,password=", ",ssl=True"), with("Password=", ";User Id=app;Server=sql.acme.io"),
		),
		Misses: each(with("Server=localhost;User Id=sa;Password=", ""), plain("Server=a.io;User Id=sa;Password="+"yourStrong(!)Password"), plain("Server=a.io;Pwd="+"{password};")),
	},
	{
		ID: "tm-jdbc-password", Tier: Block2, Title: "Password in a JDBC URL",
		Reason:   "A JDBC URL with a password opens its database.",
		Keywords: []string{"jdbc:"},
		Pattern:  `jdbc:(?:oracle:[a-z]{2,8}:[^/\s"'\x60<>]{1,60}/([^@\s"'\x60<>]{4,100})@|[^\s"'\x60<>]{3,200}?[?&;](?i:password|pwd)=([^&;\s"'\x60<>)]{6,100}))`,
		Filters:  []Filter{NotPlaceholder, NotWeak, Remote},
		Hits:     each(with("jdbc:oracle:thin:app/", "@//ora.acme.io:1521/X"), with("jdbc:postgresql://pg.acme.io/app?user=a&password=", "&ssl=true")),
		Misses:   each(plain("jdbc:oracle:thin:scott/"+"tiger@ora.acme.io:1521:x"), plain("jdbc:mysql://a.io/x?user=u&password=${PASS}")),
	},
	{
		ID: "tm-libpq-password", Tier: Block2, Title: "Password in a libpq string",
		Reason:   "A list of connection settings with a password opens its database.",
		Keywords: []string{" password="},
		Pattern:  ` password=['"]?([^\s'"\x60<>]{6,100})`,
		Filters:  []Filter{NotPlaceholder, NotWeak, Remote, AfterSetting},
		Hits:     each(with("host=pg.acme.io user=app password=", " dbname=x"), with("dbname=x password='", "'")),
		Misses:   each(with("host=localhost user=app password=", ""), plain("user=app password="+"mypassword host=a.io")),
	},
	{
		ID: "tm-azure-connection-key", Tier: Block2, Title: "Azure connection key",
		Reason:   "An Azure key in a connection string opens the whole account, queue or store.",
		Keywords: []string{"accountkey", "sharedaccesskey", "accesskey"},
		Pattern:  `(?i)(?:AccountKey|SharedAccessKey|;AccessKey)\s?=\s?([A-Za-z0-9+/]{40,90}={0,2})`,
		Filters:  []Filter{Random, NotEmulator},
		Hits: each(func(s *samples.Source) string {
			return "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + s.Text(samples.Base64, 86) + "==;"
		}, func(s *samples.Source) string {
			return "Endpoint=sb://a.servicebus.windows.net/;SharedAccessKeyName=x;SharedAccessKey=" + s.Text(samples.Alnum, 43) + "="
		}),
		Misses: each(plain("AccountName=a;AccountKey=<key>"), func(s *samples.Source) string {
			return "AccountName=devstoreaccount1;Account" + s.Text("K", 1) + "ey=" + "Eby8vdM02xNOcq" + "FlqUwJPLlmEtlCDXJ1" + s.Text(samples.Base64, 54) + "=="
		}),
	},
	{
		ID: "tm-go-dsn", Tier: Block2, Title: "Password in a data source name",
		Reason:   "A data source name with a password opens its database.",
		Keywords: []string{"@tcp(", "@unix("},
		Pattern:  `[\w.-]{1,60}:([^\s:"'\x60<>/]{6,100})@(?:tcp|unix)\([^()\s]{0,100}`,
		Filters:  []Filter{NotPlaceholder, NotWeak, NotOwnHost},
		Hits:     each(with("dsn := \"app:", "@tcp(db.acme.io:3306)/shop\"")),
		Misses:   each(plain("root:"+"password@tcp(db.acme.io:3306)/x"), with("app:", "@tcp(127.0.0.1:3306)/x")),
	},
	{
		ID: "tm-pgpass", Tier: Block2, Title: "Line of a .pgpass file",
		Reason:   "A line of .pgpass opens the database that it names.",
		Keywords: []string{":5432:", ":5433:", ":6432:", ":*:"},
		Pattern:  `(?m)^[ \t>]{0,8}[\w.*-]{1,80}:(?:5432|5433|6432|\*):[\w*$-]{1,60}:[\w*.-]{1,60}:([^\s:\x60]{6,100})[ \t\r]{0,8}$`,
		Filters:  []Filter{NotPlaceholder, NotWeak, Remote},
		Hits:     each(with("pg.acme.io:5432:app:bill:", "")),
		Misses:   each(plain("pg.acme.io:5432:app:bill:"+"password"), plain("a:*:b:c:"+"some-words-only"), with("localhost:5432:app:bill:", "")),
	},
	{
		ID: "tm-client-section", Tier: Block2, Title: "Password in a MySQL option file",
		Reason:   "An option file with a password opens its database.",
		Keywords: []string{"[client", "[mysql"},
		Pattern:  `\[(?:client|mysql|mysqldump|mysqladmin)[\w-]{0,20}\][^\n\[]{0,40}\n(?:[^\[\n]{0,120}\n){0,6}?\s{0,8}password\s{0,3}=\s{0,3}["']?([^\s"'\x60<>]{6,100})`,
		Filters:  []Filter{NotPlaceholder, NotWeak},
		Hits:     each(with("[client]\nuser=app\npassword=", "\n"), with("[mysqldump]\npassword = \"", "\"")),
		Misses:   each(plain("[client]\nuser=app\npassword="+"your_password\n"), plain("[client]\nuser=app\n")),
	},
}
