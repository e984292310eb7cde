package rules

import "strings"

// standsIn reports whether value consists of words that stand in for a secret,
// such as "your-api-key", "MySecretPassword1!" or "passw0rd". At most four
// digits and four signs may be added.
func standsIn(value string) bool {
	if len(value) > 80 {
		return false
	}
	plain := letters(strings.ToLower(value))
	if len(plain) == 0 {
		return len(value) < 6
	}
	if spelled(plain) && len(value)-len(plain) <= 10 {
		return true
	}
	leet := letters(unleet.Replace(strings.ToLower(strings.TrimRight(value, "0123456789!@#$.%^&*"))))
	return len(leet) >= 3 && spelled(leet) && len(value)-len(leet) <= 8
}

// unleet undoes the usual exchange of letters for digits and signs.
var unleet = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

// letters returns what of value is a lower-case ASCII letter.
func letters(value string) string {
	kept := make([]byte, 0, len(value))
	for i := range len(value) {
		if value[i] >= 'a' && value[i] <= 'z' {
			kept = append(kept, value[i])
		}
	}
	return string(kept)
}

// spelled reports whether text can be cut into stand-in words without a rest,
// and into so few that it did not happen by chance.
func spelled(text string) bool {
	const never = 1 << 10
	words := make([]int, len(text)+1)
	for to := 1; to <= len(text); to++ {
		words[to] = never
		for from := max(0, to-longestStandIn); from < to; from++ {
			if words[from]+1 < words[to] && standIns[text[from:to]] {
				words[to] = words[from] + 1
			}
		}
	}
	return words[len(text)]*3 <= len(text)+1
}

const longestStandIn = 14

// standIns are the words of which a stand-in is made.
var standIns = wordSet(`a an the my your our their his her is it its this that here there of for to in on with and or not no yes i be do from
 x xx xxx y z abc abcd abcde abcdef def ghi xyz n nn id ids
 password passwords passwd passw passwort pass passcode passphrase pwd pw psw kennwort contrasena clave senha mot de passe parola haslo
 secret secrets secure secured security safe private public shared super strong strongest complex weak long short random randomly generated unique hidden
 key keys api apikey apitoken token tokens access auth authentication authorization bearer basic client credential credentials creds cred cookie session signing
 encryption encrypted encrypt decrypt hash hashed salt jwt hmac csrf master account service app application web webhook webhooks hook user users username name
 login logon admin administrator root sudo guest sa owner manager operator dev development developer prod production stage staging local test testing tests tester tested
 example examples sample samples demo dummy fake mock placeholder default defaults foo bar baz qux quux foobar hunter changeme changeit change me please replace
 replaceme insert enter put paste fill set put some something any value values string text data here redacted removed masked omitted hide snip elided todo tbd fixme none
 null nil true false undefined empty unset blank optional required type your yours mine new old current first second third one two three four five temp temporary tmp
 letmein welcome iloveyou qwerty monkey dragon master sunshine football baseball superman batman trustno trust open sesame hello world hi goodbye
 postgres postgresql pg mysql mariadb mongo mongodb redis rabbit rabbitmq elastic elasticsearch kibana grafana prometheus influx influxdb kafka minio nats db dba database
 server host hostname port domain com org net io company corp acme contoso fabrikam northwind mycompany team project projects group org organization organisation repo
 docker registry git github gitlab jenkins sonar nexus artifactory vault consul nomad terraform aws azure gcp google amazon s cloud k kube kubernetes helm ssh ftp smtp
 imap ldap mail email sms slack discord telegram stripe twilio sendgrid openai anthropic bot robot oauth oidc saml sso github pat certificate cert keystore truststore
 store storage bucket file path url uri endpoint region zone prefix suffix base encoded decoded hex sixteen bytes byte bit bits characters character chars char digits
 replicator replication replica repl primary reader writer read write only readonly rw ro monitor monitoring exporter backup metrics reporter scott tiger oracle system manager
 alice bob carol eve john jane doe joe smith bill james mary foo ok okay wrong correct incorrect valid invalid bad good great nice cool awesome really very so
 must should will can could would use used using via get got keep like more less than least at as by if then else what ever whatever know dont do not tell share never
 actual real generate generates goes see below above obtained obtain copy copied provided given issued wordpress drupal django rails laravel symfony flask spring java node
 python ruby php golang rust react next nextauth supabase firebase hasura airflow superset metabase nextcloud gitea forgejo keycloak zitadel authentik traefik nginx apache
 internal external remote site page app apps mobile desktop device wifi state status wlan network vpn router switch printer laptop ubuntu debian centos linux windows mac macos vagrant pi
 raspberry zabbix nagios icinga zoom top sk pk ghp glpat xoxb xoxp xapp hf npm jira confluence atlassian bitbucket trello notion linear sentry datadog newrelic honeycomb splunk mode snowflake databricks airbyte dbt`)

func wordSet(list string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}
