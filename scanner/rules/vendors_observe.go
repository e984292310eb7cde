package rules

// vendorsObserve are what collects logs, measurements and errors, and wakes people.
var vendorsObserve = []Rule{
	token(Rule{
		ID: "tm-axiom-token", Title: "Axiom token",
		Reason:   "An Axiom token that reads or sends logs.",
		Keywords: []string{"xaat-", "xapt-"},
		Pattern:  `xa[ap]t-` + uuidPattern, Alphabet: `\w-`,
	}, oneOf{"xa" + "at-", "xa" + "pt-"}, uuid{}),
	labelled(Rule{
		ID: "tm-bugsnag-token", Title: "Bugsnag token",
		Reason:   "A Bugsnag token that reads the errors of an application.",
		Keywords: []string{"bugsnag"},
	}, "BUGSNAG_AUTH_TOKEN", `bugsnag`, uuidPattern, uuid{}),
	token(Rule{
		ID: "tm-checkly-api-key", Title: "Checkly API key",
		Reason:   "A Checkly key that changes checks and reads their results.",
		Keywords: []string{"cu_"},
		Pattern:  `cu_[0-9a-f]{32}`,
	}, text("c"+"u_"), hex(32)),
	token(Rule{
		ID: "tm-configcat-sdk-key", Title: "ConfigCat SDK key",
		Reason:   "A ConfigCat key that reads the switches of an application.",
		Keywords: []string{"configcat-sdk-1/"},
		Pattern:  `configcat-sdk-1/[\w-]{22}/[\w-]{22}`, Alphabet: `\w-`,
	}, text("co"+"nfigcat-sdk-1/"), alnum(22), text("/"), alnum(22)),
	token(Rule{
		ID: "tm-coralogix-key", Title: "Coralogix key",
		Reason:   "A Coralogix key that reads or sends logs.",
		Keywords: []string{"cxtp_", "cxup_"},
		Pattern:  `cx[tu]p_[A-Za-z0-9]{30}`,
	}, oneOf{"cx" + "tp_", "cx" + "up_"}, alnum(30)),
	labelled(Rule{
		ID: "tm-datadog-api-key", Title: "Datadog API key",
		Reason:   "A Datadog key that sends measurements, or reads them with its second half.",
		Keywords: []string{"datadog", "dd_api", "dd-api"},
	}, "DD_API_KEY", `datadog|dd_api|dd-api`, `[0-9a-f]{32}`, hex(32)),
	token(Rule{
		ID: "tm-datadog-app-key", Title: "Datadog application key",
		Reason:   "A Datadog key that reads and changes monitors and logs.",
		Keywords: []string{"ddapp_", "ddpat_"},
		Pattern:  `dd(?:app|pat)_[A-Za-z0-9]{30,45}`,
	}, oneOf{"dd" + "app_", "dd" + "pat_"}, alnum(30)),
	token(Rule{
		ID: "tm-devcycle-server-key", Title: "DevCycle server key",
		Reason:   "A DevCycle key that reads the switches of an application.",
		Keywords: []string{"dvc_server_"},
		Pattern:  `dvc_server_[A-Za-z0-9]{8,32}(?:_[A-Za-z0-9]{4,16})?`,
	}, text("dv"+"c_server_"), alnum(8)),
	token(Rule{
		ID: "tm-dynatrace-token", Title: "Dynatrace token",
		Reason:   "A Dynatrace token that reads or changes what is measured.",
		Keywords: []string{"dt0"},
		Pattern:  `dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}`,
		Filters:  []Filter{except("dynatrace", `(?i:dt0c01\.[a-z0-9]{24}\.[a-z0-9]{64})`)},
	}, oneOf{"dt" + "0s01.", "dt" + "0s16.", "dt" + "0e01."}, upper(24), text("."), upper(64)),
	token(Rule{
		ID: "tm-fullstory-api-key", Title: "FullStory API key",
		Reason:   "A FullStory key that reads what the users of an application do.",
		Keywords: []string{"na1.", "eu1."},
		Pattern:  `(?:na|eu)1\.[A-Za-z0-9+/]{80,110}={0,2}`, Alphabet: `\w+/=`,
	}, oneOf{"na" + "1.", "eu" + "1."}, base64(80)),
	token(Rule{
		ID: "tm-honeycomb-key", Title: "Honeycomb key",
		Reason:   "A Honeycomb key that reads or sends measurements.",
		Keywords: []string{"hcaik_", "hcaic_", "hcbik_", "hcxik_", "hcxlk_", "hcxmk_", "hcalk_", "hcamk_"},
		Pattern:  `hc(?:a(?:ik|ic|lk|mk)|bik|x(?:ik|lk|mk))_[a-z0-9]{50,62}`,
	}, oneOf{"hc" + "aik_", "hc" + "xik_", "hc" + "amk_"}, lower(50)),
	token(Rule{
		ID: "tm-logfire-token", Title: "Logfire token",
		Reason:   "A Logfire token that reads or sends traces.",
		Keywords: []string{"pylf_v1_", "pylf_v2_"},
		Pattern:  `pylf_v[12]_[a-z]{2,4}_[A-Za-z0-9]{40,50}`,
	}, oneOf{"py" + "lf_v1_us_", "py" + "lf_v1_eu_"}, alnum(40)),
	token(Rule{
		ID: "tm-new-relic-key", Title: "New Relic key",
		Reason:   "A New Relic key that reads or sends measurements.",
		Keywords: []string{"nrak-", "nrii-", "nriq-", "nrra-"},
		Pattern:  `NR(?:AK-[A-Z0-9]{27}|I[IQ]-[\w-]{25,32}|RA-[0-9a-f]{42})`, Alphabet: `\w-`,
	}, text("NR"+"AK-"), upper(27)),
	token(Rule{
		ID: "tm-new-relic-license-key", Title: "New Relic licence key",
		Reason:   "A New Relic key that sends measurements.",
		Keywords: []string{"nral"},
		Pattern:  `(?:eu01xx)?[0-9a-f]{26,36}(?:FFFF)?NRAL`,
	}, hex(26), text("NRAL")),
	labelled(Rule{
		ID: "tm-opsgenie-api-key", Title: "Opsgenie API key",
		Reason:   "An Opsgenie key that reads and raises alarms.",
		Keywords: []string{"opsgenie"},
	}, "OPSGENIE_API_KEY", `opsgenie`, uuidPattern, uuid{}),
	anywhere(Rule{
		ID: "tm-opsgenie-genie-key", Title: "Opsgenie API key in a header",
		Reason:   "An Opsgenie key that reads and raises alarms.",
		Keywords: []string{"geniekey"},
		Pattern:  `GenieKey[ \t]{1,3}(` + uuidPattern + `)`,
	}, text("Ge"+"nieKey "), uuid{}),
	labelled(Rule{
		ID: "tm-pagerduty-api-key", Title: "PagerDuty key",
		Reason:   "A PagerDuty key that reads, raises or silences alarms.",
		Keywords: []string{"pagerduty", "pager_duty"},
		Entropy:  3.5, Filters: []Filter{mixed},
	}, "PAGERDUTY_API_KEY", `pagerduty|pager_duty`, `u\+[\w-]{18}|[\w-]{20}|[0-9a-f]{32}`, text("u+"), blend(18)),
	labelled(Rule{
		ID: "tm-rollbar-access-token", Title: "Rollbar access token",
		Reason:   "A Rollbar token that reads or sends the errors of an application.",
		Keywords: []string{"rollbar"},
	}, "ROLLBAR_ACCESS_TOKEN", `rollbar`, `[0-9a-f]{32}`, hex(32)),
	token(Rule{
		ID: "tm-rootly-api-key", Title: "Rootly API key",
		Reason:   "A Rootly key that reads and changes incidents.",
		Keywords: []string{"rootly_"},
		Pattern:  `rootly_[0-9a-f]{64}`,
	}, text("ro"+"otly_"), hex(64)),
	anywhere(Rule{
		ID: "tm-sentry-dsn-secret", Title: "Sentry address with its secret",
		Reason:   "A Sentry address of the first form, whose second part sends errors and more in a project's name.",
		Keywords: []string{"sentry"},
		Pattern:  `https?://[0-9a-f]{32}:([0-9a-f]{32})@[\w.-]{0,60}sentry[\w.-]{0,40}/\d{1,19}`,
	}, text("ht"+"tps://"), hex(32), text(":"), hex(32), text("@sentry.io/42")),
	token(Rule{
		ID: "tm-sentry-token-other", Title: "Sentry app or integration token",
		Reason:   "A Sentry token that reads and changes projects.",
		Keywords: []string{"sntrya_", "sntryi_"},
		Pattern:  `sntry[ai]_[0-9a-f]{64}`,
	}, oneOf{"sn" + "trya_", "sn" + "tryi_"}, hex(64)),
	labelled(Rule{
		ID: "tm-splunk-token", Title: "Splunk token",
		Reason:   "A Splunk token that sends events.",
		Keywords: []string{"splunk"},
	}, "SPLUNK_HEC_TOKEN", `splunk`, uuidPattern, uuid{}),
	token(Rule{
		ID: "tm-statsig-key", Title: "Statsig key",
		Reason:   "A Statsig key that reads or changes the switches of an application.",
		Keywords: []string{"secret-", "console-"},
		Pattern:  `(?:secret|console)-[A-Za-z0-9]{40,50}`,
		Alphabet: `\w-`,
		Entropy:  3.5,
		Filters:  []Filter{mixed},
	}, oneOf{"se" + "cret-", "co" + "nsole-"}, blend(40)),
}
