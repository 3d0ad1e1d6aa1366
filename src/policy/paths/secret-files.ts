import { AGENT_DEFINITIONS } from '../../domain/agents/agent-registry.ts'
import { foldName, matchesWildcard } from './wildcard.ts'

/** Names of files that hold secrets, in any folder. Claude Code is told most of them as patterns (`NEVER_IMPORTED`). */
export const SECRET_NAMES: readonly RegExp[] = [
  /^\.env($|[.\-_~])/,
  /^\.envrc$/,
  /^(prod|production|staging|local|dev)\.env$/,
  /\.(pem|key|p12|pfx|p8|ppk|jks|keystore|kdbx|kdb|ovpn|gpg|keychain|keychain-db|tfstate|mobileprovision)$/,
  /\.tfstate\.backup$/,
  /^id_(rsa|dsa|ecdsa|ed25519|xmss)(_sk)?($|[._-](?!pub$))/,
  /^ssh_host_.*_key$/,
  /^(\.netrc|_netrc|\.npmrc|\.yarnrc\.yml|\.pypirc|\.pgpass|\.my\.cnf|\.mylogin\.cnf|\.git-credentials|\.htpasswd|\.dockercfg|\.s3cfg|\.boto|\.vault-token|\.terraformrc|\.fly\.toml|\.erlang\.cookie|\.databrickscfg|\.passwd-s3fs|\.smbcredentials)$/,
  /^\.?(credentials?|secrets?|passwords?|tokens?|apikeys?|api[-_]keys?)(\.(json|ya?ml|toml|ini|txt|csv|xml|properties|enc|cfg|conf|db))?$/,
  /^(service[-_]?account|client[-_]?secrets?|gcp[-_]?key|application_default_credentials|firebase-adminsdk).*\.json$/,
  /^(.*[-_.])?(credentials?|secrets?)\.(json|ya?ml|toml|ini|env|enc)$/,
  /^(master\.key|auth\.json|auth\.toml|hosts\.yml|keyfile|login\.keychain.*|cookies\.sqlite|logins\.json|key[34]\.db|wallet\.dat)$/,
  /^(shadow|gshadow|shadow-|master\.passwd|sudoers|krb5\.keytab|opasswd)$/,
  /^terraform\.tfvars(\.json)?$|\.auto\.tfvars(\.json)?$/,
  /^\.?(ansible[-_])?vault[-_]pass(word)?([-_]file)?(\.txt)?$/,
  /^\.(dev|prod|production|staging)\.vars$|^\.vars\.(dev|prod|production|staging)$/,
  /^(\.?wallet|keystore|mnemonic|seed[-_]?phrase|recovery[-_]?(codes?|keys?))\.json$|^utc--.*--[0-9a-f]{40}$|^(mnemonic|seed[-_]?phrase|recovery[-_]codes?)(\.txt)?$/,
  /^(\.sentryclirc|kaggle\.json|\.rclone\.conf|rclone\.conf|chap-secrets|pap-secrets|access-token|access_token)$/,
  /^(.*\.)?kubeconfig(\.(ya?ml|json|conf))?$/,
]

/** Keys and key stores: they hold secrets even if the rest of the name looks like a template (`apple-dist.p12`). */
const KEY_FILE = /\.(pem|key|p12|pfx|p8|ppk|jks|keystore|kdbx|kdb|keychain|keychain-db|mobileprovision)$/
/** Templates that are meant to be shared. */
const EXAMPLES = /[._-](example|examples|sample|template|tmpl|dist|defaults?|schema|vault\.example)(\.\w+)?$/

/** Names of folders whose content is secret. */
const SECRET_FOLDERS = new Set([
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.kube',
  '.gcloud',
  '.password-store',
  '.oci',
  '.1password',
  '.op',
  'keychains',
  '.secrets',
  '.vault',
  '.doctl',
  '.linode-cli',
  '.chef',
  '.minikube',
  '.argocd',
  '.talos',
  '.rancher',
  '.ethereum',
  '.bitcoin',
  '.electrum',
  '.solana',
  '.sops',
  '.snyk',
  '.cf',
  '.bluemix',
])

/** Folders for secrets of a project. Code that is in one is no secret. */
const SECRET_PLACES = new Set(['secrets', 'private-keys', 'wallets'])
const CODE =
  /\.([cm]?[jt]sx?|py|rb|go|rs|java|kts?|php|cs|swift|c|h|cc|cpp|hpp|ex|exs|scala|clj|md|mdx|rst|tf|sh|bash|proto|graphql|sql|vue|svelte|css|scss|html|lock|test|spec|snap)$|^(readme|license|dockerfile|makefile|index|__init__)/
/** Secret paths that only two or more names together identify. */
const SECRET_PAIRS =
  /\/(\.config\/(gcloud|gh|glab-cli|tea|argocd|helm|flyctl|fly|vercel|railway|turso|neonctl|supabase|wrangler|\.wrangler|solana|sui|aptos|near|hcloud|scw|pulumi|snyk|circleci|buildkite|jfrog|k9s|lazydocker|gpg|filezilla|remmina|op|hub|doctl|rclone|heroku|stripe|netlify|sops|age|containers|github-copilot|configstore|ngrok|anthropic|openai|bitwarden cli|1password)|\.local\/share\/(keyrings|code-server)|\.docker\/config\.json|\.cargo\/credentials(\.toml)?|\.gem\/credentials|\.m2\/settings(-security)?\.xml|\.gradle\/gradle\.properties|\.claude\.json|\.perpetualcc\/(run|secrets)|\.terraform\.d\/credentials\.tfrc\.json|\.mozilla\/firefox|\.config\/(google-chrome|chromium|bravesoftware)|var\/run\/secrets|run\/secrets|proc\/[^/]+\/(environ|mem|maps)|proc\/\d+\/(cmdline|fd|cwd|root|auxv|task)|proc\/kcore|etc\/ssl\/private|etc\/sudoers\.d|dev\/(mem|kmem)|library\/(cookies|keychains|application support\/(google\/chrome|firefox|bravesoftware|chromium|microsoft edge))|etc\/(wireguard|ppp\/(chap|pap)-secrets|networkmanager\/system-connections)|\.wrangler\/config|\.railway\/config\.json|\.fly\/config\.yml|\.snowsql\/config|\.dbt\/profiles\.yml)(\/|$)/

/** The files with the logins of the agents that pcc knows, below a home directory. */
const AGENT_LOGINS = AGENT_DEFINITIONS.map(({ vendor: { login } }) => `/${login.folder}/${login.file}`)

/** Histories of what a person typed, which often contain a password. */
const HISTORY =
  /^\.(bash|zsh|sh|ksh|mksh|ash|tcsh|csh|fish|nu|xonsh|elvish|pwsh|node_repl|deno|bun|python|ipython|psql|mysql|mariadb|sqlite|irb|pry|ghci|lua|php|scala|julia|rediscli|usql|pgcli|mycli|litecli|lesshst|viminfo|mongo|mongosh|duckdb|dbshell|octave|gdb|lldb|wget-hsts)_?(history|hst)?$/

/** The part of an absolute path that makes it a secret; `undefined` if there is none. */
export function findSecretPart(path: string): string | undefined {
  const parts = path.split('/').filter(part => part !== '')
  const folded = parts.map(foldName)
  for (const [index, name] of folded.entries()) {
    const isLast = index === folded.length - 1
    if (SECRET_FOLDERS.has(name) && !isPublic(folded.slice(index + 1))) return parts[index]
    if (isLast && isSecretName(name)) return parts[index]
    const last = folded.at(-1) ?? ''
    if (!isLast && SECRET_PLACES.has(name) && last.includes('.') && !CODE.test(last) && !EXAMPLES.test(last))
      return parts[index]
  }
  const whole = `/${folded.join('/')}`
  const isLogin = AGENT_LOGINS.some(file => `${whole}/`.includes(`${file}/`))
  return isLogin || SECRET_PAIRS.test(whole) ? parts.at(-1) : undefined
}

/** Whether a file of this folded name holds a secret. */
function isSecretName(name: string): boolean {
  if (EXAMPLES.test(name) && (!KEY_FILE.test(name) || /[._-](examples?|sample|template)\b/.test(name))) return false
  return SECRET_NAMES.some(shape => shape.test(name))
}

/** Whether a path is the history of a shell or another prompt. */
export function isHistory(path: string): boolean {
  const name = foldName(path.slice(path.lastIndexOf('/') + 1))
  if (
    /\/(fish\/fish_history|nushell\/history\.(txt|sqlite3)|powershell\/psreadline\/\w+_history\.txt|xonsh\/history_json\/.*|\.ipython\/profile_\w+\/history\.sqlite|atuin\/history\.db|elvish\/db)$/i.test(
      path,
    )
  )
    return true
  return HISTORY.test(name) && /history|hst|info/.test(name)
}

/** Public keys in a secret folder are no secrets. */
function isPublic(rest: string[]): boolean {
  const name = rest.at(-1)
  return name?.endsWith('.pub') === true
}

/** Names to try a pattern against, to see whether `.en?` or `id_*` finds a secret. */
const SAMPLES = [
  '.env',
  '.env.local',
  '.env.production',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.pgpass',
  '.git-credentials',
  '.ssh',
  '.aws',
  '.gnupg',
  '.kube',
]
const PLAIN_SAMPLES = [
  'id_rsa',
  'id_ed25519',
  'server.pem',
  'private.key',
  'credentials.json',
  'service-account.json',
  'shadow',
  'secrets.yml',
  'prod.env',
]

const MAX_PATTERN = 128

/** Whether a pattern below `/proc` finds what another process was started with, has open or holds in memory. */
export function globFindsProcess(pattern: string): boolean {
  const [, , file] = /^\/+proc\/+([^/]+)\/+([^/]+)/.exec(pattern) ?? []
  return file !== undefined && PROCESS_FILES.some(name => matchesWildcard(file, name))
}

const PROCESS_FILES = ['environ', 'mem', 'maps', 'fd', 'cwd', 'root', 'cmdline', 'task']

/** Files of browsers, wallets and password managers: their names are ordinary in a project, and elsewhere they hold logins. */
const LOGIN_FILES =
  /^(cookies(\.sqlite|\.binarycookies)?|login ?data.*|web ?data|local state|logins(-backup)?\.json|key[34]\.db|places\.sqlite|signons\.sqlite|formhistory\.sqlite|wallet(\.dat|\.aes\.json)?|.*\.(wallet|kdbx?|psafe3|opvault|1pif|agilekeychain|keychain(-db)?|ovpn|ppk|asc|gpg|mbox|pst|ost)|.*recovery.*(key|code|phrase).*|.*seed.?phrase.*|passwords?\..*)$/i

/** Whether a search outside of the project looks for secrets by the last names of its pattern. */
export function looksForSecrets(pattern: string): boolean {
  const last = pattern.slice(pattern.lastIndexOf('/') + 1)
  const bare = last.replace(/^[*?]+/, '').replace(/[*?]+$/, '')
  return (
    globFindsSecret(pattern) ||
    findSecretPart(`/${pattern.replace(/[*?]/g, '')}`) !== undefined ||
    [last, bare, `x${bare}`, last.replaceAll('*', 'x')].some(name => LOGIN_FILES.test(name)) ||
    SECRET_STEMS.test(bare)
  )
}

/** Beginnings of such names: `id_*`, `*wallet*`, `*password*`. */
const SECRET_STEMS =
  /^(id_(rsa|ed25519|ecdsa)?|wallet|password|passwd|secret|credential|token|api[-_]?key|private[-_]?key|key[34]|login|cookie|seed[-_]?phrase|mnemonic|keystore)s?$/i

/** Whether a shell pattern seems meant to find secrets. `*` alone and `*.json` are common patterns and do not count. */
export function globFindsSecret(pattern: string): boolean {
  for (const part of pattern.toLowerCase().split('/')) {
    if (!/[*?[]/.test(part)) continue
    const letters = part.replace(/\[[^\]]*\]|[*?]/g, '')
    // Nobody writes such a long pattern by hand.
    if (part.length > MAX_PATTERN) return true
    if (part.startsWith('.') || /^[[?]/.test(part)) if (SAMPLES.some(name => matchesWildcard(part, name))) return true
    const telling = letters.length >= 2 && !/^\.(json|ya?ml|txt|toml)$/.test(letters) && !/^[a-z]$/.test(letters)
    if (telling && PLAIN_SAMPLES.some(name => matchesWildcard(part, name))) return true
    if (/[?[]/.test(part) && letters.length >= 1 && PLAIN_SAMPLES.some(name => matchesWildcard(part, name))) return true
  }
  return false
}

/** Whether steps that build an image copy a file with secrets into it. */
export function copiesSecret(steps: string): boolean {
  const lines = steps.match(/^[ \t]*(COPY|ADD)\s.*$/gim) ?? []
  // Every project with a later Yarn copies its settings, which seldom hold a token.
  const words = lines.flatMap(line => line.trim().split(/[\s"',[\]]+/)).filter(word => !word.endsWith('.yarnrc.yml'))
  return words.some(word => !word.startsWith('--') && findSecretPart(word) !== undefined)
}

/** Whether a rule of what git leaves out names secrets. */
export function isSecretRule(rule: string): boolean {
  const name = rule.replace(/\/$/, '')
  return (
    !/\.(example|sample|template|dist)$/.test(name) &&
    (findSecretPart(name.replaceAll('*', 'x')) !== undefined ||
      /(^|[/.*_-])(env|envrc|secrets?|credentials?|pem|key|p12|pfx|jks|keystore|tfvars|tfstate|token)s?(\*|$|[/.])/i.test(
        name,
      ))
  )
}
