package rules

// word-like values of commands, quoted or bare.
const argument = `(?:"([^"\n]{6,120})"|'([^'\n]{6,120})'|([^\s"'\x60<>|;]{6,120}))`

var commandStructures = []Rule{
	{
		ID: "tm-curl-user", Tier: Block2, Title: "User and password of a request",
		Reason:   "A user with a password opens the interface that the request calls.",
		Keywords: []string{"curl ", "http ", "https "},
		Pattern:  `(?i:\b(?:curl|https?) )(?:[^\n]{0,400}?\s)?(?:-u|--user|--proxy-user|-a|--auth|-U)(?:\s{0,2}|=)["']?[^\s:"'$<>\x60{}/-][^\s:"'<>\x60/]{0,80}:([^\s"'\x60<>]{6,120})`,
		Filters:  []Filter{NotPlaceholder, NotWeak, Remote},
		Hits:     each(with("curl -s -u bill:", " https://a.io"), with("cu"+"rl -k --user bill:", " https://a.io"), with("http -a bill:", " a.io")),
		Misses:   each(plain("curl -u user:"+"password https://a.io"), plain("curl -u bill:$PASS https://a.io"), plain("docker run -u 1000:1000 curl")),
	},
	{
		ID: "tm-curl-token", Tier: Block2, Title: "Token of a request",
		Reason:   "A token in the place of the user opens the interface that the request calls.",
		Keywords: []string{"curl "},
		Pattern:  `(?i:curl )(?:[^\n]{0,400}?\s)?(?:-u|--user)(?:[ \t]{0,2}|=)["']?([\w.-]{16,200}):["']?(?:\s|$)`,
		Filters:  []Filter{Random},
		Hits:     each(holding("curl -u ", ": https://a.io")),
		Misses:   each(plain("curl -u some-user-name-of-mine: https://a.io")),
	},
	{
		ID: "tm-password-variable", Tier: Block2, Title: "Password in a tool's variable",
		Reason:   "A password that a tool reads from its environment opens what the tool connects to.",
		Keywords: []string{"pgpassword", "mysql_pwd", "rediscli_auth", "sshpass", "restic_password", "borg_passphrase", "mysql_root_password", "postgres_password", "rabbitmq_default_pass", "mongo_initdb_root_password", "minio_root_password"},
		Pattern:  `\b(?:PGPASSWORD|MYSQL_PWD|REDISCLI_AUTH|SSHPASS|RESTIC_PASSWORD|BORG_PASSPHRASE|MYSQL_ROOT_PASSWORD|POSTGRES_PASSWORD|RABBITMQ_DEFAULT_PASS|MONGO_INITDB_ROOT_PASSWORD|MINIO_ROOT_PASSWORD)["']?\s{0,2}[=:]\s{0,2}` + argument,
		Filters:  []Filter{NotPlaceholder, NotWeak, NotOption},
		Hits:     each(with("PGPASSWORD=", " psql -h a.io"), with("MYSQL_PWD='", "' mysql"), with("POSTGRES_PASSWORD: ", "")),
		Misses:   each(plain("PGPASSWORD=$PASS psql"), plain("POSTGRES_PASSWORD: mysecret"+"password"), plain("MYSQL_PWD=...")),
	},
	{
		ID: "tm-sshpass", Tier: Block2, Title: "Password of sshpass",
		Reason:   "The password of a login over SSH opens the host.",
		Keywords: []string{"sshpass"},
		Pattern:  `\bsshpass\s{1,3}(?:-[ev]\s){0,2}-p\s{0,2}` + argument,
		Filters:  []Filter{NotPlaceholder, NotWeak},
		Hits:     each(with("sshpass -p '", "' ssh root@10.2.3.4"), with("sshpass -p", " ssh a@b.io")),
		Misses:   each(plain("sshpass -p $PASS ssh a@b.io"), plain("sshpass -p 'password' ssh a@b.io")),
	},
	{
		ID: "tm-client-password", Tier: Block2, Title: "Password on a database client's command line",
		Reason:   "A password on the command line of a client opens the database that it connects to.",
		Keywords: []string{"mysql", "mariadb", "redis-cli", "mongo", "ldap", "sqlcmd"},
		Pattern: `(?:(?:mysql|mariadb)[^\n|;]{0,200}?\s(?:-p|--password=)|redis-cli[^\n|;]{0,200}?\s(?:-a|--pass) |mongo[^\n|;]{0,200}?\s(?:-p|--password)[ =]|` +
			`ldap(?:search|modify|add|delete|whoami|passwd)[^\n|;]{0,200}?\s-w |sqlcmd[^\n|;]{0,200}?\s-P ?)` + argument,
		Filters: []Filter{NotPlaceholder, NotWeak, NotOption, Remote},
		Hits: each(with("mysql -h db.acme.io -u root -p", " app"), with("redis-cli -h r.acme.io -a ", " ping"), with("mongosh --host a.io -u x -p '", "'"), with("ldapsearch -D cn=a -w ", " -b x"),
			with("sqlcmd -S a.io -U sa -P ", "")),
		Misses: each(plain("mysql -u root -p app_production"), plain("redis-cli -a $REDIS_PASSWORD"), plain("mysql -u root -p"+"password db"), plain("mysql --port=3306 --protocol=tcp")),
	},
	{
		ID: "tm-login-password", Tier: Block2, Title: "Password on a login's command line",
		Reason:   "A password on the command line of a login opens the service or host.",
		Keywords: []string{"smbclient", "net use", "docker login", "podman login", "registry login", "az login", "oc login", "htpasswd", "rabbitmqctl", "xfreerdp", "-password=", "evil-winrm", "plink ", "pscp "},
		Pattern: `(?:smbclient[^\n|;]{0,200}?\s-U ?["']?[^\s%"']{1,60}%|(?i:net use)\s[^\n]{1,120}?/(?i:user):\S{1,60}\s|(?:docker|podman|registry|az|oc) login[^\n|;]{0,200}?\s(?:-p|--password)[ =]|` +
			`htpasswd[^\n|;]{0,80}?\s-[a-zA-Z]{0,4}b[a-zA-Z]{0,4} (?:\S{1,100} ){1,2}|rabbitmqctl (?:add_user|change_password)\s\S{1,60}\s|xfreerdp[^\n]{0,200}?\s/p:|wget [^\n|;]{0,200}?--(?:http-|ftp-|proxy-)?password=|` +
			`(?:plink|pscp) [^\n|;]{0,100}?-pw\s|evil-winrm[^\n|;]{0,100}?\s-p\s)` + argument,
		Filters: []Filter{NotPlaceholder, NotWeak, NotOption, Remote},
		Hits: each(with(`smbclient //s/x -U bill%`, ""), with(`net use Z: \\s\x /user:bill `, ""), with("docker login -u bill -p ", " r.io"), with("htpasswd -nb bill ", ""),
			with("wget --user=a --password=", " https://a.io")),
		Misses: each(plain("docker login -u bill --password-stdin"), plain("az login --service-principal -u x -p \"$SECRET\""), plain("htpasswd -nb user "+"password")),
	},
	{
		ID: "tm-piped-password", Tier: Block2, Title: "Password piped to a command",
		Reason:   "A password that is piped to sudo, chpasswd or passwd makes its holder that user.",
		Keywords: []string{"echo ", "printf ", "<<< "},
		Pattern: `(?:echo|printf|<<<) (?:-[ne]{1,2}\s)?["']?(?:[a-z_][\w-]{0,31}:)?([^\s"'\x60<>|:]{6,120})["']?\s{0,2}\|\s{0,2}(?:sudo\s(?:-\w{1,3}\s){0,2}(?:-S|chpasswd|passwd --stdin)|sudo -kS|kinit |chpasswd|passwd\s|` +
			`(?:docker|podman|helm registry|oras|crane)\s[^\n|]{0,200}--password-stdin)`,
		Filters: []Filter{NotPlaceholder, NotWeak},
		Hits:    each(with("echo ", " | sudo -S apt update"), with(`echo "root:`, `" | chpasswd`), with("echo '", "' | docker login r.io -u a --password-stdin")),
		Misses:  each(plain("echo $PASS | sudo -S ls"), plain("echo \"root:"+"password\" | chpasswd"), plain("echo hello | sudo tee /x")),
	},
	{
		ID: "tm-kubectl-literal", Tier: Block2, Title: "Secret in a kubectl command",
		Reason:   "A literal of a Kubernetes secret opens what the workload connects to.",
		Keywords: []string{"--from-literal", "--docker-password", "--set"},
		Pattern: `(?:--from-literal(?:=|\s)["']?[\w.-]{0,60}(?i:pass|password|passwd|token|secret|key|pwd)[\w.-]{0,20}=|--docker-password[= ]|--set(?:-string)?\s[\w.\[\]-]{0,120}(?i:pass|password|passwd|token|secret|apikey)=)` +
			argument,
		Filters: []Filter{Strong, NotNameOf},
		Hits:    each(with("kubectl create secret generic x --from-literal=db-password=", ""), with("--from-literal=token='", "'"), with("--docker-password=", " --docker-email=a")),
		Misses: each(plain("--from-literal=password="+"supersecret"), plain("--docker-password=$PASS"), plain("--set auth.existingSecret=my-secret"),
			plain("--from-literal=tsig-keyname='k8s-external-dns-key'"), plain("--from-literal=token=xoxb-YOUR-TOKEN")),
	},
}
