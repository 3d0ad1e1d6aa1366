import assert from 'node:assert/strict'
import { matchesGlob } from 'node:path'
import { test } from 'node:test'
import { AGENT_DEFINITIONS } from '../../../src/domain/agents/agent-registry.ts'
import { NEVER_IMPORTED } from '../../../src/domain/agents/claude.ts'
import type { Assessment } from '../../../src/domain/assessment.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'
import { findSecretPart, SECRET_NAMES } from '../../../src/policy/paths/secret-files.ts'

const isSecret = (name: string) => findSecretPart(`/p/${name}`) !== undefined

using classifier = openClassifier({ realPath: path => path })
const seen = new Set<string>()

/** A secret by its name is one everywhere: for the tools, as a word of a command, and for what Claude Code would load by itself. */
function check(secrets: string[], others: string[]): void {
  for (const name of secrets) {
    assert.ok(isSecret(name), `${name} is a secret`)
    assert.ok(isWordJudged(name), `${name} is found as a word of a command`)
    assert.ok(isNeverImported(name), `${name} matches NEVER_IMPORTED of src/domain/agents/claude.ts`)
    seen.add(name.toLowerCase())
  }
  for (const name of others) assert.ok(!isSecret(name), `${name} is none`)
}

function isWordJudged(name: string): boolean {
  const call = { tool: 'Bash', input: { command: `openssl rsa -in ${name}` }, project: '/p', home: '/h' }
  return (classifier.classify(call) as Assessment).reasons.some(({ code }) => code === 'path.secret')
}

/** In the patterns of Claude Code `*` stands for a dot at the beginning too. */
function isNeverImported(name: string): boolean {
  const paths = [name, name.replace(/^\./, '')].map(each => `/p/${each}`)
  return NEVER_IMPORTED.some(pattern => paths.some(path => matchesGlob(path, pattern)))
}

test('files of variables are secrets, by their whole name', () => {
  check(
    [
      '.env',
      '.env.local',
      '.env-prod',
      '.env_x',
      '.env~',
      '.envrc',
      'prod.env',
      'production.env',
      'staging.env',
      'local.env',
      'dev.env',
    ],
    ['env', 'x.env.ts', '.environment', 'a.envrc', '.envrc.ts', 'myprod.env', 'prod.env.ts', 'test.env', 'x.env'],
  )
})

test('keys and stores of keys are secrets, by their ending or their name', () => {
  check(
    [
      'a.pem',
      'a.key',
      'a.p12',
      'a.jks',
      'a.kdbx',
      'a.tfstate',
      'a.tfstate.backup',
      'login.keychain-db',
      'a.gpg',
      'master.key',
    ],
    ['a.pem.ts', 'a.keys', 'apem', 'a.tfstate.backup.md', 'a.tfstatex', 'key'],
  )
  check(
    [
      'id_rsa',
      'id_dsa',
      'id_ed25519',
      'id_ecdsa_sk',
      'id_rsa.old',
      'id_rsa-work',
      'id_rsa_2',
      'id_rsa.pub.bak',
      'ssh_host_rsa_key',
      'ssh_host_ed25519_key',
    ],
    ['id_rsa.pub', 'my_id_rsa', 'id_rsax', 'id_foo', 'ssh_host_rsa_key.pub', 'xssh_host_rsa_key', 'ssh_host_key'],
  )
})

test('files in which programs keep logins are secrets, by their whole name', () => {
  check(
    [
      '.netrc',
      '_netrc',
      '.npmrc',
      '.pgpass',
      '.git-credentials',
      '.htpasswd',
      '.vault-token',
      '.yarnrc.yml',
      '.boto',
      '.fly.toml',
    ],
    ['x.netrc', '.netrc.md', '.npmrcs', 'netrc', '.yarnrc'],
  )
  check(
    [
      'auth.json',
      'auth.toml',
      'hosts.yml',
      'keyfile',
      'login.keychain',
      'cookies.sqlite',
      'logins.json',
      'key3.db',
      'key4.db',
      'wallet.dat',
    ],
    ['oauth.json', 'auth.json5', 'key5.db', 'key.db', 'mywallet.dat', 'wallet.data'],
  )
  check(
    ['shadow', 'gshadow', 'shadow-', 'sudoers', 'master.passwd', 'krb5.keytab'],
    ['shadows', 'box-shadow', 'sudoers.md'],
  )
})

test('a file that is called a credential is one, as data and not as code', () => {
  check(
    [
      'credentials',
      'credential.json',
      'secret',
      'secrets.yml',
      'secrets.yaml',
      'password.txt',
      'passwords.csv',
      'token',
      'tokens.json',
      'apikey',
      'apikeys.toml',
      'api-key.txt',
      'api_keys.ini',
      '.credentials',
      '.secrets.toml',
      'secret.enc',
      'token.db',
    ],
    [
      'credentials.ts',
      'secretary',
      'xtoken',
      'token.rs',
      'tokens.md',
      'secrets.jsonl',
      'password-policy',
      'apikeyx',
      'api.key.ts',
      'mypassword',
    ],
  )
  check(
    [
      'aws-credentials.json',
      'my_secrets.yaml',
      'app.secret.toml',
      'db-credential.ini',
      'x.secrets.yml',
      'x-secret.env',
      'x-secret.enc',
    ],
    ['aws-credentials.ts', 'mysecrets.yaml', 'x-secrets.json5', 'x-secret.txt'],
  )
  check(
    [
      'service-account.json',
      'service_account_prod.json',
      'serviceaccount.json',
      'client_secret_1.json',
      'client-secrets.json',
      'clientsecret.json',
      'gcp-key.json',
      'gcpkey.json',
      'gcp_key2.json',
      'application_default_credentials.json',
      'firebase-adminsdk-x.json',
    ],
    ['service-account.ts', 'my-service-account.json', 'client_secret.json.md', 'service account.json', 'gcp.key.json'],
  )
})

test('a template that is meant to be shared is no secret', () => {
  check(
    ['.env.example.local.pem', 'example.env.pem', '.envexample.pem'],
    [
      '.env.example',
      '.env-sample',
      '.env.template',
      '.env.dist',
      '.env_default',
      '.env.defaults',
      'secrets.example.yml',
      'credentials.sample.json',
      '.env.schema',
      '.env.tmpl',
    ],
  )
})

test('what lies in a folder of secrets is one, but for public keys', () => {
  for (const path of [
    '/h/.ssh',
    '/h/.ssh/config',
    '/h/.aws/x/y',
    '/h/.GNUPG/a',
    '/p/.secrets/readme.md',
    '/h/.kube/config.pub/x',
  ])
    assert.ok(findSecretPart(path), path)
  for (const path of ['/h/.ssh/id_rsa.pub', '/h/ssh/config', '/h/.sshx/a', '/h/.ssh/deep/key.PUB'])
    assert.equal(findSecretPart(path), undefined, path)
})

test('some folders are secret only below another', () => {
  const secrets = [
    '/h/.config/gh/x',
    '/h/.config/gcloud',
    '/h/.docker/config.json',
    '/h/.cargo/credentials',
    '/h/.cargo/credentials.toml',
    '/h/.m2/settings.xml',
    '/h/.m2/settings-security.xml',
    '/h/.claude/.credentials.json',
    '/h/.codex/auth.json',
    '/h/.local/share/keyrings/a',
    '/proc/1/environ',
    '/proc/self/mem',
    '/run/secrets/x',
    '/etc/ssl/private/a',
    '/h/Library/Cookies/x',
    '/h/.perpetualcc/run/token',
    '/dev/mem',
    '/h/.mozilla/firefox/a',
  ]
  for (const path of secrets) assert.ok(findSecretPart(path), path)
  const others = [
    '/h/.config/nvim/x',
    '/p/gh/x',
    '/h/.docker/config.json5',
    '/h/.cargo/config',
    '/h/.m2/settings.md',
    '/proc/1/status',
    '/proc/environ',
    '/proc/1/2/environ',
    '/etc/ssl/certs/a',
    '/h/.config/ghx',
    '/h/.config/ghx/a',
    '/x.config/gh/x',
    '/h/.cargo/credentials.tom',
  ]
  for (const path of others) assert.equal(findSecretPart(path), undefined, path)
})

test('the part that makes a path a secret is named as it was spelled', () => {
  assert.equal(findSecretPart('/h/.SSH/Config'), '.SSH')
  assert.equal(findSecretPart('/p/a/.Env'), '.Env')
  assert.equal(findSecretPart('/h/.config/gh/Hosts'), 'Hosts')
  assert.equal(findSecretPart('//p//.env/'), '.env')
  assert.equal(findSecretPart('/p/.env/readable.ts'), undefined, 'a folder of that name is no file of variables')
})

test('passwords of vaults, tokens and keys are secrets, also where their name sounds like a template', () => {
  check(
    [
      '.vault_pass',
      '.vault-password',
      'vault-pass.txt',
      'ansible-vault-pass',
      '.ansible_vault_password_file',
      'vault_password_file.txt',
      'kaggle.json',
      'rclone.conf',
      'access-token',
      'access_token',
      'chap-secrets',
      '.sentryclirc',
    ],
    [
      'vault_passx',
      'xvault_pass',
      'vault.txt',
      'vault_pass.md',
      'kaggle.json5',
      'mykaggle.json',
      'access-tokens',
      'xaccess-token',
      'vaultpass',
    ],
  )
  check(
    ['apple-dist.p12', 'x-default.pem', 'my.schema.key'],
    ['x-example.pem', 'my.sample.key', 'server.template.pem', 'x.examples.key', 'x-dist.json'],
  )
  for (const path of [
    '/h/.config/ngrok/x',
    '/etc/wireguard/wg0.conf',
    '/h/Library/Application Support/Firefox/x',
    '/h/.dbt/profiles.yml',
    '/etc/ppp/chap-secrets',
    '/h/.fly/config.yml',
  ])
    assert.ok(findSecretPart(path), path)
  for (const path of ['/h/.config/ngrokx', '/etc/wireguardx/a', '/h/.dbt/profiles.yaml', '/p/fly/config.yml'])
    assert.equal(findSecretPart(path), undefined, path)
})

test('settings of clouds and clusters, wallets and what restores them are secrets', () => {
  check(
    ['kubeconfig', 'kubeconfig.yaml', 'prod.kubeconfig', 'terraform.tfvars', 'prod.auto.tfvars.json'],
    ['kubeconfig.go', 'kubeconfig.test.ts', 'mykubeconfig', 'prod.tfvars', 'terraform.tfvars.md'],
  )
  check(
    ['.dev.vars', '.vars.production', 'wallet.json', 'keystore.json', 'mnemonic', 'seed-phrase.txt', 'recovery-codes'],
    ['dev.vars', 'wallet.ts', 'mnemonics', 'recovery.txt'],
  )
  check([`utc--2026--${'a'.repeat(40)}`, 'opasswd', 'pap-secrets'], ['utc--2026'])
})

test('every row of secret names has a name in this file', () => {
  const rows = SECRET_NAMES.filter(shape => ![...seen].some(name => shape.test(name)))
  assert.deepEqual(rows, [], 'give an example to check(), which looks whether the others know it too')
})

test('the login of every agent that pcc knows is a secret', () => {
  for (const { kind, vendor } of AGENT_DEFINITIONS)
    assert.ok(findSecretPart(`/home/me/${vendor.login.folder}/${vendor.login.file}`), kind)
})
