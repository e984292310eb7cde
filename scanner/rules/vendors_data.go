package rules

import "github.com/teammem/teammemd/scanner/samples"

// vendorsData are databases, and what moves and measures data.
var vendorsData = []Rule{
	token(Rule{
		ID: "tm-aiven-password", Title: "Aiven password",
		Reason:   "An Aiven password that reads and changes a database.",
		Keywords: []string{"avns_"},
		Pattern:  `AVNS_[\w-]{15,40}`, Alphabet: `\w-`,
	}, text("AV"+"NS_"), alnum(15)),
	anywhere(Rule{
		ID: "tm-algolia-client-key", Title: "Algolia key of a client",
		Reason:   "An Algolia key that reads or changes a search index.",
		Keywords: []string{"algolia", "searchclient"},
		Pattern:  `(?i:algoliasearch|algolia\w{0,20}|searchclient(?:\.create)?)\(\s{0,8}["'][A-Z0-9]{10}["'],\s{0,8}["']([0-9a-f]{32})["']`,
		Filters:  []Filter{NotSearchOnly},
	}, text(`algoliasearch("`), upper(10), text(`", "`), hex(32), text(`")`)),
	labelled(Rule{
		ID: "tm-amplitude-secret-key", Title: "Amplitude secret key",
		Reason:   "An Amplitude key that reads what the users of an application do.",
		Keywords: []string{"amplitude"},
	}, "AMPLITUDE_SECRET_KEY", `amplitude`, `[0-9a-f]{32}`, hex(32)),
	token(Rule{
		ID: "tm-apify-api-token", Title: "Apify API token",
		Reason:   "An Apify token that runs programs and reads what they collected.",
		Keywords: []string{"apify_api_"},
		Pattern:  `apify_api_[A-Za-z0-9]{34,38}`,
	}, text("ap"+"ify_api_"), alnum(34)),
	token(Rule{
		ID: "tm-astra-token", Title: "DataStax Astra token",
		Reason:   "A DataStax Astra token that reads and changes a database.",
		Keywords: []string{"astracs:"},
		Pattern:  `AstraCS:[A-Za-z]{20,30}:[0-9a-f]{64}`, Alphabet: `\w:`,
	}, text("As"+"traCS:"), run{samples.Lower + samples.Upper, 20}, text(":"), hex(64)),
	token(Rule{
		ID: "tm-cockroach-cloud-key", Title: "CockroachDB Cloud key",
		Reason:   "A CockroachDB Cloud key that changes database clusters.",
		Keywords: []string{"ccdb1_"},
		Pattern:  `CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}`,
	}, text("CC"+"DB1_"), alnum(22), text("_"), alnum(40)),
	token(Rule{
		ID: "tm-confluent-api-secret", Title: "Confluent API secret",
		Reason:   "A Confluent secret that reads and sends messages.",
		Keywords: []string{"cflt"},
		Pattern:  `cflt[A-Za-z0-9+/]{60}`, Alphabet: `\w+/`,
	}, text("cf"+"lt"), base64(60)),
	token(Rule{
		ID: "tm-databento-api-key", Title: "Databento API key",
		Reason:   "A Databento key that reads market data at its owner's cost.",
		Keywords: []string{"db-"},
		Pattern:  `db-[A-Za-z0-9]{29}`, Alphabet: `\w-`, Entropy: 3.5, Filters: []Filter{mixed},
	}, text("d"+"b-"), blend(29)),
	token(Rule{
		ID: "tm-databricks-token-other", Title: "Databricks token, other forms",
		Reason:   "A Databricks token that reads and runs a workspace.",
		Keywords: []string{"dose", "dkea", "dsapi"},
		Pattern:  `(?:dose|dkea|dsapi)[0-9a-f]{32}`,
	}, oneOf{"do" + "se", "dk" + "ea", "ds" + "api"}, hex(32)),
	token(Rule{
		ID: "tm-dbt-token", Title: "dbt Cloud token",
		Reason:   "A dbt Cloud token that runs jobs and reads their results.",
		Keywords: []string{"dbtc_", "dbtu_", "dbts_"},
		Pattern:  `dbt[cus]_[\w-]{40,80}`, Alphabet: `\w-`,
	}, oneOf{"db" + "tc_", "db" + "tu_"}, alnum(40)),
	labelled(Rule{
		ID: "tm-elastic-api-key", Title: "Elastic API key",
		Reason:   "An Elastic key that reads or changes indexes.",
		Keywords: []string{"elastic"},
		Entropy:  4, Filters: []Filter{mixed},
	}, "ELASTIC_API_KEY", `elastic`, `[A-Za-z0-9+/_-]{58,60}={0,2}`, blend(58)),
	token(Rule{
		ID: "tm-elastic-cloud-api-key", Title: "Elastic Cloud API key",
		Reason:   "An Elastic Cloud key that changes deployments.",
		Keywords: []string{"essu_"},
		Pattern:  `essu_[\w-]{60,200}={0,2}`, Alphabet: `\w=-`,
	}, text("es"+"su_"), word(60)),
	labelled(Rule{
		ID: "tm-influxdb-token", Title: "InfluxDB token",
		Reason:   "An InfluxDB token that reads and writes measurements.",
		Keywords: []string{"influx"},
		Entropy:  4,
	}, "INFLUX_TOKEN", `influx`, `[\w-]{86}==`, word(86), text("==")),
	token(Rule{
		ID: "tm-metabase-api-key", Title: "Metabase API key",
		Reason:   "A Metabase key that reads the databases behind it.",
		Keywords: []string{"mb_"},
		Pattern:  `mb_[A-Za-z0-9+/]{43}=`, Alphabet: `\w+/=`, Entropy: 3.5, Filters: []Filter{mixed},
	}, text("m"+"b_"), blend(43), text("=")),
	token(Rule{
		ID: "tm-mongodb-atlas-secret", Title: "MongoDB Atlas service account secret",
		Reason:   "A MongoDB Atlas secret that changes database clusters.",
		Keywords: []string{"mdb_sa_sk_"},
		Pattern:  `mdb_sa_sk_[\w-]{40}`, Alphabet: `\w-`,
	}, text("md"+"b_sa_sk_"), alnum(40)),
	token(Rule{
		ID: "tm-neon-api-key", Title: "Neon API key",
		Reason:   "A Neon key that changes databases and their branches.",
		Keywords: []string{"napi_"},
		Pattern:  `napi_[A-Za-z0-9]{60,70}`,
	}, text("na"+"pi_"), alnum(60)),
	token(Rule{
		ID: "tm-neon-password", Title: "Neon password",
		Reason:   "A Neon password that reads and changes a database.",
		Keywords: []string{"npg_"},
		Pattern:  `npg_[A-Za-z0-9]{12,16}`, Filters: []Filter{mixed},
	}, text("np"+"g_"), blend(12)),
	token(Rule{
		ID: "tm-posthog-api-key", Title: "PostHog API key",
		Reason:   "A PostHog key that reads what the users of an application do.",
		Keywords: []string{"phx_"},
		Pattern:  `phx_[\w-]{41,49}`, Alphabet: `\w-`,
	}, text("ph"+"x_"), alnum(41)),
	token(Rule{
		ID: "tm-prefect-bot-key", Title: "Prefect service account key",
		Reason:   "A Prefect key that runs flows.",
		Keywords: []string{"pnb_"},
		Pattern:  `pnb_[A-Za-z0-9]{36}`,
	}, text("pn"+"b_"), alnum(36)),
	token(Rule{
		ID: "tm-retool-api-key", Title: "Retool API key",
		Reason:   "A Retool key that changes applications and their users.",
		Keywords: []string{"retool_"},
		Pattern:  `retool_[a-z0-9]{24,40}`,
	}, text("re"+"tool_"), lower(24)),
	token(Rule{
		ID: "tm-segment-api-token", Title: "Segment API token",
		Reason:   "A Segment token that changes where the data of an application goes.",
		Keywords: []string{"sgp_"},
		Pattern:  `sgp_[A-Za-z0-9]{64}`,
	}, text("sg"+"p_"), alnum(64)),
	token(Rule{
		ID: "tm-supabase-access-token", Title: "Supabase access token",
		Reason:   "A Supabase token that changes projects and reads their keys.",
		Keywords: []string{"sbp_"},
		Pattern:  `sbp_(?:v\d_)?[0-9a-f]{40}`,
	}, oneOf{"sb" + "p_", "sb" + "p_v0_"}, hex(40)),
	token(Rule{
		ID: "tm-supabase-secret-key", Title: "Supabase secret key",
		Reason:   "A Supabase key that reads and changes a database.",
		Keywords: []string{"sb_secret_"},
		Pattern:  `sb_secret_[\w-]{31}`, Alphabet: `\w-`,
	}, text("sb"+"_secret_"), alnum(31)),
	token(Rule{
		ID: "tm-tinybird-token", Title: "Tinybird token",
		Reason:   "A Tinybird token that reads or writes data.",
		Keywords: []string{"p.eyj"},
		Pattern:  `p\.eyJ[\w-]{30,300}\.[\w-]{20,100}`, Alphabet: `\w-`,
	}, text("p."+"eyJ"), alnum(30), text("."), alnum(20)),
	token(Rule{
		ID: "tm-turbopuffer-api-key", Title: "turbopuffer API key",
		Reason:   "A turbopuffer key that reads and changes a vector database.",
		Keywords: []string{"tpuf_"},
		Pattern:  `tpuf_[A-Za-z0-9]{32}`,
	}, text("tp"+"uf_"), alnum(32)),
	labelled(Rule{
		ID: "tm-upstash-token", Title: "Upstash token",
		Reason:   "An Upstash token that reads and changes a database.",
		Keywords: []string{"upstash"},
		Entropy:  4, Filters: []Filter{mixed},
	}, "UPSTASH_REDIS_REST_TOKEN", `upstash`, `[\w-]{40,100}={0,2}`, blend(40)),
	token(Rule{
		ID: "tm-xata-api-key", Title: "Xata API key",
		Reason:   "A Xata key that reads and changes a database.",
		Keywords: []string{"xau_"},
		Pattern:  `xau_[A-Za-z0-9]{30,40}`,
	}, text("xa"+"u_"), alnum(30)),
}
