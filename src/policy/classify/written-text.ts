import type { Reason } from '../../domain/assessment.ts'
import { copiesSecret, findSecretPart, isSecretRule } from '../paths/secret-files.ts'
import { SHADOWS } from '../paths/steering-files.ts'
import { matchesWildcard } from '../paths/wildcard.ts'
import type { Arg } from '../shell/args.ts'
import { MAYBE_SECRET } from './judge-file.ts'

// What a text does that is written into a file, as far as its plain words say so.

export type TextFinding = Omit<Reason, 'at'>

/** Why a text in a file is asked about: it runs what it fetches, sends secrets away, lets others run commands, or switches a guard off. */
export function explainWritten(path: string, text: string): TextFinding | undefined {
  if (SHADOWS.test(path)) return { code: 'write.opens', risk: 'MEDIUM', text: `${path} hides a module of Python` }
  if (PAGE.test(path)) return explainPage(path, text)
  const isTest = TEST.test(path)
  const found = TEXTS.find(
    ({ shape, guard }) => !(guard && isTest) && (typeof shape === 'function' ? shape(text) : shape.test(text)),
  )
  return found && { code: found.code, risk: 'MEDIUM', text: `${path} would ${found.why}` }
}

const PAGE = /\.(md|mdx|rst|txt|adoc|html?)$/i
const TEST = /(^|[/._-])(tests?|specs?|__tests__|fixtures|e2e)([/._-]|$)/i

/** A page that loads a script loads it for everybody who opens it. */
function explainPage(path: string, text: string): TextFinding | undefined {
  if (!/\.html?$/i.test(path)) return undefined
  const [, host] = /<script\b[^>]*\bsrc\s*=\s*["']?(?:https?:)?\/\/([^/"'\s>]+)/i.exec(text) ?? []
  if (host === undefined || USUAL_SCRIPTS.test(host)) return undefined
  return { code: 'write.fetcher', risk: 'MEDIUM', text: `${path} would load a script of ${host}` }
}

const USUAL_SCRIPTS =
  /^(localhost|127\.0\.0\.1)(:\d+)?$|(^|\.)(jsdelivr\.net|unpkg\.com|cdnjs\.cloudflare\.com|googleapis\.com|gstatic\.com|googletagmanager\.com|jquery\.com|bootstrapcdn\.com|stripe\.com|esm\.sh|tailwindcss\.com)$/i

/** What was sent to a server of the project by its user. */
const INPUT =
  /(\breq(uest)?\s*\??\.\s*(body|query|params|headers|args|form|json|data|values|cookies|get_json|GET|POST|nextUrl)\b|\bctx\s*\.\s*(request|query|params)\b|\bc\.req\b|\bevent\s*\.\s*(body|queryStringParameters)\b|\bparams\[|\$_(GET|POST|REQUEST|COOKIE)\b|\bsearchParams\s*\.\s*get\b|\.URL\.Query\(\))/
    .source
/** Functions that start a program or run a text. `/x/.exec(…)` only matches a pattern. */
const STARTS =
  /((?<![.\w])(exec|eval|system|popen|passthru|shell_exec|proc_open)|\b(cp|child_process|process|['"](?:node:)?child_process['"]\s*\))\s*\.\s*\w+|\b(execSync|execFile|execFileSync|spawn|spawnSync|execa|execaCommand|execaSync|runIn\w*Context)|\bos\s*\.\s*(system|popen)|\bsubprocess\s*\.\s*\w+|\bnew\s+Function|(?<![.\w])Function|exec\.Command|\$(query|execute)RawUnsafe)/
    .source
const SECRET_NAME =
  /(?!\w*PUBLI(C|SH))\w*(SECRET|TOKEN|PASSWORD|PASSWD|PRIVATE|CREDENTIAL|API_?KEY|ACCESS_KEY|DATABASE_URL|_KEY\b|_DSN\b)\w*/
    .source
const FROM_ENVIRONMENT = `(process\\.env\\s*(\\.|\\[['"])|import\\.meta\\.env\\.|os\\.environ(\\.get\\(|\\[)\\s*['"]|os\\.getenv\\(\\s*['"]|ENV\\[['"])${SECRET_NAME}`

/** Code that removes a folder which people write, the project, or a home. */
const THROWS_AWAY =
  /\b(rmtree|rmSync|rmdirSync|rm|rimraf|rimrafSync|removeSync|emptyDirSync|RemoveAll|remove_dir_all|rm_rf|rm_r|deleteRecursively)\s*\(\s*([\w.]+\(\s*)?((['"`])(?:\.{0,2}\/)*(src|lib|apps?|packages|tests?|migrations|docs|prisma|services|internal|cmd|pkg|scripts|\.git|\.{1,2}|~[^'"`]*|\/(home|Users|root|etc|usr|var)[^'"`]*|\*+|(?<=\/))\/?\**\4|process\.cwd\(|os\.getcwd\(|(os\.)?homedir\(|expanduser\(|Path\.(home|cwd)\()/

interface TextShape {
  code: 'write.fetcher' | 'write.leaks' | 'write.opens'
  why: string
  shape: RegExp | ((text: string) => boolean)
  /** Set if tests do it to themselves. */
  guard?: true
}

const TEXTS: readonly TextShape[] = [
  {
    code: 'write.fetcher',
    why: 'run what it fetches',
    shape: text => RUNS_FETCHED.test(text) || RUNS_DOWNLOAD.test(text),
  },
  { code: 'write.fetcher', why: 'send the environment away', shape: text => SENDS_ENVIRONMENT.test(text) },
  { code: 'write.leaks', why: 'send a file with secrets away', shape: sendsSecretFile },
  {
    code: 'write.leaks',
    why: 'put a secret into an address',
    shape: new RegExp(
      `https?://(?!localhost|127\\.)[^\\s'"\`?]{0,200}(['"\`]\\s*\\+\\s*|\\$\\{\\s*|\\{\\s*)(encodeURIComponent\\(\\s*)?${FROM_ENVIRONMENT}`,
    ),
  },
  {
    code: 'write.leaks',
    why: 'answer requests with the whole environment',
    shape:
      /\b(res|ctx|c|reply|response|jsonify|JSONResponse|HttpResponse)\b[^;\n]{0,60}\(\s*(\w+\s*\(\s*)?\{?\s*(\.\.\.)?(process\.env\b(?!\s*\??[.[])|(dict\(\s*)?os\.environ\b(?!\s*[.[]))/,
  },
  {
    code: 'write.opens',
    why: 'run what a request says',
    shape: new RegExp(`${STARTS}\\s*\\([^;\\n]{0,160}?${INPUT}`),
  },
  {
    code: 'write.opens',
    why: 'show any file that a request names',
    shape: new RegExp(
      `\\b(readFile|readFileSync|sendFile|createReadStream|send_file|file_get_contents)\\s*\\(\\s*${INPUT}[\\w.'"\\[\\]]*\\s*[,)]`,
    ),
  },
  {
    code: 'write.opens',
    why: 'open a shell to another machine',
    shape:
      /\/dev\/tcp\/|\bpty\.spawn\b|\bos\.dup2\b|\b(net\.(connect|createConnection|Socket)|socket\.socket|TCPSocket|net\.Dial)\b[\s\S]{0,400}(['"]\/bin\/(ba|z)?sh['"]|spawn\(\s*['"](ba|z)?sh['"])|(['"]\/bin\/(ba|z)?sh['"]|spawn\(\s*['"](ba|z)?sh['"])[\s\S]{0,400}\b(net\.(connect|createConnection)|socket\.connect)\b|stratum\+tcp:/,
  },
  {
    code: 'write.opens',
    why: 'let in whoever knows a fixed word',
    guard: true,
    shape: text => KNOWS_WORD.some(shape => shape.test(text)),
  },
  {
    code: 'write.opens',
    why: 'put what a request says into a statement',
    guard: true,
    // The tag of a template keeps its values apart from the statement.
    shape: new RegExp(
      `(?<![\\w)>])\`\\s*(select\\b[^\`]*\\bfrom|insert\\s+into|update\\s+\\w+\\s+set|delete\\s+from)\\b[^\`]*\\$\\{\\s*${INPUT}|\\bf['"]+\\s*(select\\b[^'"]*\\bfrom|insert\\s+into|update\\s+\\w+\\s+set|delete\\s+from)\\b[^"]*\\{\\s*${INPUT}`,
      'i',
    ),
  },
  {
    code: 'write.opens',
    why: 'trust every certificate',
    guard: true,
    shape:
      /\brejectUnauthorized['"]?\s*:\s*false|NODE_TLS_REJECT_UNAUTHORIZED['"]?\]?\s*[=:]\s*['"]?0|\bverify\s*=\s*False\b|\bInsecureSkipVerify\s*:\s*true|\bCERT_NONE\b|_create_unverified_context|danger_accept_invalid_certs\(\s*true|SSL_VERIFY(PEER|HOST)\s*(,|=>)\s*(0|false)/,
  },
  { code: 'write.opens', why: 'throw away what people write', shape: THROWS_AWAY },
  {
    code: 'write.opens',
    why: 'change what a shell or a login of the person runs',
    shape:
      /\b(write\w*|append\w*|open|Write\w*|cp|copy\w*)\b[^;\n]{0,120}(\.(bashrc|zshrc|bash_profile|zshenv|profile)\b|\.ssh\b|authorized_keys|crontab|\.config\/autostart|LaunchAgents|\.git['"/, ]+hooks)/,
  },
]

/** A header, a cookie or a value of a query that is compared with a word which is written out, and then the request is let in. */
const SENT = String.raw`\b(headers?|cookies?|query(_?params)?|searchParams|params|Header|META|GET|POST|args|get(Header|Parameter))\b["'\s\w.()[\]:?>$-]{0,60}?`
const WORD = String.raw`\s*['"](?!XMLHttpRequest|(application|text|image)\/|true|false|yes|no|on|off|all|https?['"])[^'"\n]{3,}['"]`
const LETS_IN = String.raw`(return\b\s*\(?(true|True|await\s+next\(|next\(|\$next)|(\w*[cC]hain\.doFilter|next(\.ServeHTTP)?)\()`
const KNOWS_WORD = [
  new RegExp(
    `if\\s*\\(\\s*${INPUT}[^\\n]{0,60}===?\\s*['"][^'"]+['"]\\s*\\)\\s*\\{?\\s*return\\s+(await\\s+)?next\\(|\\bpass(word|wd)?\\s*={2,3}\\s*['"][^'"]{3,}['"]`,
  ),
  new RegExp(`${SENT}(={2,3}|\\.equals\\(|\\.eql\\?\\()${WORD}\\s*\\)*\\s*(\\{|:|then)?\\s*${LETS_IN}`),
  new RegExp(`${WORD}\\s*(={2,3}|\\.equals\\()\\s*[\\w.>$-]{0,30}${SENT}\\)*\\s*[{:]?\\s*${LETS_IN}`),
  new RegExp(`\\b(return\\s+true|next)\\s+if\\s+[\\w.]{0,30}${SENT}==${WORD}`),
]

/** Code that runs what it fetches or decodes, in one statement. */
const RUNS_DOWNLOAD =
  /(?<![.\w])(eval|exec|Function)\s*\(\s*[^;\n]{0,80}?\b(atob|b64decode|Buffer\.from|fetch|requests\.get|urlopen|axios(\.get)?)\s*\(|\bimport\s*\(\s*['"`]https?:|\b(eval|exec|Function)\s*\(\s*await\b|\bimportScripts\s*\(\s*['"]https?:/

/** Reads a file with secrets by its name, and reaches another machine. */
function sendsSecretFile(text: string): boolean {
  if (!SENDS.test(text) || !/https?:\/\/(?!localhost|127\.0\.0\.1|\[::1\])[\w.-]/i.test(text)) return false
  const code = text.slice(0, MAX_CODE)
  for (const [, , name = ''] of code.matchAll(READS_FILE)) if (findSecretPart(name) !== undefined) return true
  // Other names than that of a template are of no use but to be read.
  for (const [, , name = ''] of code.matchAll(STRING))
    if (!/\.env/.test(name) && findSecretPart(name.replace(/\$\{[^}]*\}/g, '/home/u')) !== undefined) return true
  return false
}

const SENDS =
  /\b(fetch|axios|request|requests|urlopen|httpx?|https|post|put|got|ky|superagent|WebSocket|sendBeacon|connect|Dial|curl|wget|sendmail)\b/i
const STRING = /(['"`])([^'"`\n]{4,120})\1/g
const READS_FILE =
  /\b(?:read\w*|createReadStream|open|Path|file|File\.\w+|ReadFile|file_get_contents|join|resolve|expanduser|@)\s*\(?\s*(?:[\w.()]+\s*,\s*)?(['"`])([^'"`\n]{2,120})\1/g

/** What is said of the text that programs and here-documents put into a file. Of programs only those that print their own words count as code. */
export function explainText(
  path: string,
  pipe: readonly (readonly Arg[])[],
  bodies: readonly Arg[],
): Omit<Reason, 'at'>[] {
  const read = (args: readonly Arg[]) => args.map(({ value }) => value.replaceAll('\\n', '\n')).join(' ')
  const printed = pipe.filter(([program]) => /^(cat|echo|printf)$/.test(program?.value ?? ''))
  return [
    explainWritten(path, read([...pipe.flat(), ...bodies])),
    explainCode(path, read([...printed.flat(), ...bodies])),
  ].filter(reason => reason !== undefined)
}

/**
 * Why a text that a command writes is asked about if the same command runs it: it names a file with secrets, takes the whole environment, starts
 * programs or connects elsewhere. A page or data is not run. Alone it is held like any other text, because the next call is judged with the file as it is.
 */
export function explainCode(path: string, text: string): Omit<Reason, 'at'> | undefined {
  if (NOT_RUN.test(path)) return undefined
  const names = [...new Set(text.slice(0, MAX_CODE).match(/[\w./~-]+/g))]
  // A plain word in a sentence is no file.
  const isNamed = (name: string) => !/^[a-z]+$/i.test(name) || text.split(name).some(before => /['"`]$/.test(before))
  // What tests give to a query to see that it stays a text is no statement.
  const reaches =
    text.length > MAX_CODE ||
    REACHES_OUT.test(text) ||
    DELETES.test(text.replace(/['"]\)?; ?drop table \w+;? ?--/gi, '')) ||
    names.some(name => MAYBE_SECRET.test(name) && isNamed(name) && findSecretPart(name) !== undefined)
  const said = `${path} may show secrets, start programs or send`
  return reaches ? { code: 'write.code', risk: 'MEDIUM', text: said, held: true } : undefined
}

const NOT_RUN =
  /\.(mdx?|rst|txt|adoc|html|log|out|err|json[lc]?|xml|csv|tsv|diff|patch|svg|ya?ml|toml|example)$|ignore$/i
/** Nobody spells more in a command. */
const MAX_CODE = 8_000
const REACHES_OUT =
  /\bprocess\.env\b(?!\s*\??\.\s*\w)|\bos\.environ\b(?!\s*(\[|\.get\b|\.setdefault\b))|\bENV\.(to_|each|inspect)|%ENV|\b(printenv|subprocess|child_process|execSync|execFileSync|execa|spawnSync|Popen|popen\w*|ProcessBuilder|getRuntime|shell_exec|passthru|proc_open|socket|urllib|urlopen|requests|httpx|aiohttp|smtplib|ftplib|paramiko|axios|XMLHttpRequest|WebSocket|TCPSocket)\b|\bos\s*\.\s*(system|exec\w*|spawn\w*)\b|\b(net|http|https|tls)\s*\.\s*(connect|createConnection|request|get|Dial\w*|Post\w*|Get)\b|exec\.Command|Command::new|\b(spawn|exec|fetch)\s*\(/

/** Code that removes files or empties a database. */
const DELETES =
  /\b(rmtree|rmSync|unlinkSync|rmdirSync|rimraf|removeSync|emptyDirSync|remove_dir_all|remove_file|RemoveAll|rm_rf|rm_r|deleteIfExists|deleteRecursively|deleteDirectory|truncateSync)\b|\b(os|shutil|fs|fsp|promises|FileUtils|File|Files|Deno)\s*\.\s*(remove\w*|unlink|rmdir|rm|rename\w*|replace|Remove|Rename|delete|truncate|move)\b|\.\s*unlink\s*\(|\brm\s+-[rRf]|\b(drop\s+(table|database|schema)|truncate\s+table|delete\s+from)\b/i

/** Code that sends the whole environment away. */
const SENDS_ENVIRONMENT =
  /(\b(requests\.\w+|urlopen|urlretrieve|httpx?\.\w+|axios\S*|fetch|curl|wget)\b[\s\S]{0,200}(os\.environ|process\.env\b(?!\.)|ENV\.to_|\bprintenv\b|\$\(env\)|%ENV))|\b(fetch|axios(\.\w+)?|got(\.\w+)?|request|post)\s*\(\s*['"`]https?:\/\/(?!localhost|127\.)[\s\S]{0,200}\bJSON\.stringify\(\s*\{?\s*(\.\.\.)?env\s*\}?\s*\)|((os\.environ|process\.env\b(?!\.))[\s\S]{0,200}\b(requests\.(post|put)|urlopen|fetch|axios)\b)/

const RUNS_FETCHED =
  /\b(curl|wget|iwr|irm)\b[^|;&\n]{0,300}\|\s*(sudo\s+)?(\/bin\/)?((ba|z|da|k)?sh|python3?|node|perl|ruby|php|iex)\b|\b(ba|z|da|k)?sh\b[^|;&\n]{0,40}(<\(|\$\(|`)\s*(curl|wget)\b|\beval\b[^\n]{0,20}(\$\(|`)\s*(curl|wget)\b/

/** A change of a file, as far as it is known. */
export interface WrittenChange {
  /** What is in the file now; left out if it does not exist or is not read. */
  before?: string | undefined
  /** What is in it then; left out if that is not known. */
  after?: string | undefined
  /** What is added; of a file that is written as a whole, all of it. Left out if nothing of it is known. */
  added?: string | undefined
  /** What a program puts in wherever its pattern fits, if that is known. */
  inserted?: string | undefined
  /** Texts that its pattern may find, with what they become. */
  swaps?: readonly { from: string; to: string }[] | undefined
  /** Set if what was there before is replaced as a whole, by another file, or if nobody else has what is in it. */
  whole?: true
  copied?: true
  onlyCopy?: boolean | undefined
}

/** The lines that were not there before. */
export function findAdded({ before, after, added }: WrittenChange): string[] {
  if (before === undefined || after === undefined) return (after ?? added ?? '').split('\n')
  const had = new Set(before.split('\n').map(line => line.trim()))
  return after.split('\n').filter(line => !had.has(line.trim()))
}

const EXPOSED =
  /\bprivileged["']?\s*[:=]\s*["']?(true|yes)|\b(hostNetwork|hostPID|hostIPC)["']?\s*:\s*true|\bhostPath\s*:|\bcluster-admin\b|\brunAsUser["']?\s*:\s*0\b|\ballowPrivilegeEscalation["']?\s*:\s*true/

/** Settings of databases, buckets and resources that protect what is in them, and those that open it. */
const GUARDED =
  /\b(deletion_protection|deletion_protection_enabled|prevent_destroy|enable_deletion_protection|termination_protection|disable_api_termination|point_in_time_recovery|versioning|storage_encrypted|encrypted|enable_key_rotation|block_public_(acls|policy)|ignore_public_acls|restrict_public_buckets|require_ssl|ssl_enforcement_enabled|enable_logging|private_cluster_enabled|multi_az|uniform_bucket_level_access|readOnlyRootFilesystem|runAsNonRoot|https_only|purge_protection_enabled|deletionProtection)["']?\s*[:=]\s*["']?(true|false)\b/g
const OPENED =
  /\b(publicly_accessible|force_destroy|skip_final_snapshot|public_network_access_enabled|allow_blob_public_access|apply_immediately|associate_public_ip_address|allow_users_to_change_password|publiclyAccessible|forceDestroy)["']?\s*[:=]\s*["']?true\b|\bacl["']?\s*[:=]\s*["']public-read|\bbackup_retention_period\s*=\s*0\b|\b(allUsers|allAuthenticatedUsers)\b|"(Principal|Action|Resource)"\s*[:=]\s*"\*"|\b(actions|principals|identifiers)\s*=\s*\[\s*"\*"/

/** Which guard of infrastructure a change takes away, or what it opens. */
export function explainInfrastructure(change: WrittenChange): string | undefined {
  const added = findAdded(change).join('\n')
  if (EXPOSED.test(added)) return 'it takes the walls of a container away'
  const opened = OPENED.exec(added)
  if (opened) return `${opened[0]} opens it, or lets it be thrown away`
  if (opensToAll(change)) return 'it lets in every address'
  const off = [...added.matchAll(GUARDED)].find(([, , , value]) => value === 'false')
  if (off) return `${off[0]} takes a guard away`
  const guards = (text = '') =>
    [...text.matchAll(GUARDED)].filter(([, , , value]) => value === 'true').map(([, name]) => name)
  const { before, after } = change
  const kept = guards(after)
  const lost = after === undefined ? undefined : guards(before).find(name => !kept.includes(name))
  return lost && `${lost} would be gone, which protects it`
}

/** Whether every address may connect where only some could, or to another port than those of pages. What goes out is not meant. */
function opensToAll({ before, after, added, inserted }: WrittenChange): boolean {
  const count = (shape: RegExp, text = '') => text.match(shape)?.length ?? 0
  if (after === undefined) return count(EVERYBODY, inserted) > count(EVERYBODY, added)
  if (count(EVERYBODY, after) <= count(EVERYBODY, before)) return false
  if (count(RANGE, after) - count(EVERYBODY, after) < count(RANGE, before) - count(EVERYBODY, before)) return true
  return [...after.matchAll(INGRESS)].some(([block]) => count(EVERYBODY, block) > 0 && !before?.includes(block))
}
const EVERYBODY = /(?<![\d.])0\.0\.0\.0\/0|["'\s[]::\/0/g
const RANGE =
  /(?<![\d.])\d{1,3}(\.\d{1,3}){3}\/\d{1,2}\b|["'\s[][\da-f:]*::\/\d{1,3}\b|\b(var|local|module|data)\.[\w.]*(cidr|range)\w*/g
const INGRESS = /(\bingress\s*\{|\btype\s*=\s*"ingress")(?![^}]*\bfrom_port\s*=\s*(80|443|8080|8443)\b)[^}]*\}/g

/** What opens a machine or a bundle in any file of settings. */
export function explainExposed(path: string, added: string): string | undefined {
  return /\.(ya?ml|json|toml)$/.test(path) && EXPOSED.test(added) ? 'it takes the walls of a container away' : undefined
}

export function explainCompose(change: WrittenChange): string | undefined {
  const added = findAdded(change).join('\n')
  if (EXPOSED.test(added) || COMPOSE_OPENS.test(added)) return 'it takes the walls of a container away'
  if (FOREIGN_IMAGE.test(added)) return 'its image would come from elsewhere'
  if (HOST_MOUNT.test(added)) return 'it shows a container files outside of the project'
  if (/(^|["'\s-])(0\.0\.0\.0|\[?::\]?):\d/m.test(added)) return 'it opens a port to the network'
  const ports = (text = '') => [...text.matchAll(/127\.0\.0\.1:([\d-]+:)?([\d-]+)/g)].map(([all]) => all)
  const kept = new Set(ports(change.after ?? change.added ?? ''))
  const isOpened = ports(change.before).some(
    port =>
      !kept.has(port) &&
      new RegExp(`(?<![\\d.:])${port.slice(10)}\\b`).test(
        (change.after ?? change.added ?? '').replaceAll('127.0.0.1:', '127.0.0.1.'),
      ),
  )
  if (isOpened) return 'it opens a port to the network'
  return /HOST_AUTH_METHOD["']?\s*[:=]\s*["']?trust|ALLOW_EMPTY_PASSWORD|xpack\.security\.enabled["']?\s*[:=]\s*["']?false|--(skip-grant-tables|noauth|no-auth)|protected-mode["', ]+no/.test(
    added,
  )
    ? 'it opens a database without a password'
    : undefined
}

/** An image of another registry than those that everybody uses. */
const FOREIGN_IMAGE =
  /^[ \t]*(image\s*:|FROM(\s+--\S+)*)\s*["']?(?!docker\.io|ghcr\.io|quay\.io|gcr\.io|mcr\.microsoft\.com|public\.ecr\.aws|registry\.k8s\.io|registry\.gitlab\.com|[\w.-]+\.(pkg\.dev|amazonaws\.com|azurecr\.io|gcr\.io)\b|localhost)[\w-]+(\.[\w-]+)+(:\d+)?\//m

const COMPOSE_OPENS =
  /\b(network_mode|pid|ipc|uts|userns_mode|cgroup)["']?\s*:\s*["']?host\b|\bcap_add\b|\bunconfined\b|docker\.sock|^[ \t]*devices\s*:|\buser["']?\s*:\s*["']?(root|0)\b/m
const HOST_MOUNT =
  /(^|["'\s,[-])(\/(?!(tmp|dev\/(null|shm))\b)[\w./-]*|~[\w./-]*|\$\{?HOME\}?[\w./-]*|(\.\.\/)[\w./-]*):\/\w|\bsource["']?\s*:\s*["']?(\/|~|\$\{?HOME|\.\.\/)/m

export function explainImage(change: WrittenChange): string | undefined {
  const added = findAdded(change).join('\n')
  if (
    /^[ \t]*(COPY|ADD)(\s[^\n]*)?[\s/](\.env(?!\.(example|sample|template))[\w.]*|\.ssh|\.aws|id_\w+)(\s|$)/im.test(
      added,
    ) ||
    copiesSecret(added)
  )
    return 'it puts a file with secrets into the image'
  if (/^[ \t]*(ENV|ARG)\s+\w*(SECRET|TOKEN|PASSWORD|PRIVATE_KEY|API_KEY)\w*[= ]+["']?(?![$"'\s])\S/im.test(added))
    return 'it puts a secret into the image'
  if (FOREIGN_IMAGE.test(added)) return 'its image would come from elsewhere'
  if (/^[ \t]*ADD\s+[^\n]*https?:/im.test(added)) return 'it fetches a file into the image'
  return /^[ \t]*USER\s+(root|0)\b/im.test(added) && !/^[ \t]*RUN\b/im.test(added)
    ? 'the image would run as root'
    : undefined
}

export function explainBundle(change: WrittenChange): string | undefined {
  const added = findAdded(change).join('\n')
  if (/\benvPrefix["']?\s*:\s*(\[[^\]]*)?(['"`])[A-Z_]{0,3}\2/.test(added))
    return 'every variable would be shown to browsers'
  if (
    /process\.env\s*(\.|\[['"])(?!\w*PUBLI(C|SH))\w*(SECRET|TOKEN|PASSWORD|PRIVATE|CREDENTIAL|API_?KEY|ACCESS_KEY|DATABASE_URL|_KEY\b)/.test(
      added,
    ) &&
    /\b(define|env|environment|DefinePlugin|EnvironmentPlugin|replace|publicRuntimeConfig|runtimeConfig|JSON\.stringify|NEXT_PUBLIC|VITE_|headers|proxy)\b/.test(
      `${change.after ?? ''}${added}`,
    )
  )
    return 'a secret would be shown to browsers'
  if (
    /JSON\.stringify\(\s*(process\.env|env|loadEnv\([^)]*\))\s*\)|["']?process\.env["']?\s*:\s*(\{\s*\.\.\.)?(process\.env|env)\b|\bEnvironmentPlugin\(\s*(Object\.keys\()?process\.env/.test(
      added,
    )
  )
    return 'every variable would be shown to browsers'
  if (/\bstrict["']?\s*:\s*false[^\n]*|\ballow["']?\s*:\s*\[\s*['"](\/|\.\.\/\.\.)/.test(added) && /\bfs\b/.test(added))
    return 'its server would show files outside of the project'
  return /\bhost["']?\s*:\s*(true|['"](0\.0\.0\.0|::)['"])|\ballowedHosts["']?\s*:\s*(true|['"]all)|disableHostCheck["']?\s*:\s*true/.test(
    added,
  )
    ? 'its server would be open to the network'
    : undefined
}

/** A secret that is ignored no more is committed with the next `git add`, and what is ignored by mistake is never seen. */
export function explainIgnored({ before = '', after, added }: WrittenChange, path: string): string | undefined {
  const rules = (text: string) =>
    text
      .split('\n')
      .map(line => line.trim())
      .filter(line => line !== '' && !line.startsWith('#'))
  const had = rules(before)
  const has = rules(after ?? added ?? '')
  const shown = has.find(rule => rule.startsWith('!') && !had.includes(rule) && isSecretRule(rule.slice(1)))
  const lost = had.find(
    rule =>
      after !== undefined &&
      isSecretRule(rule) &&
      !has.some(other => other === rule || matchesWildcard(other.replace(/^\*\*\//, ''), rule.replace(/^\//, ''))),
  )
  if ((shown ?? lost) !== undefined) return `${shown ?? lost} would be ignored no more, and it names secrets`
  const hides = /\.gitignore$/.test(path)
    ? HIDES_WORK
    : /\.(eslint|prettier)ignore$/.test(path)
      ? HIDES_CODE
      : undefined
  const hidden = hides && has.find(rule => !had.includes(rule) && hides.test(rule))
  return hidden && `${hidden} would hide what people write`
}

/** Rules that leave out code as a whole, by its folder or its ending. */
const HIDES_CODE =
  /^\/?(\*\*\/)?(\*|\*\*|(src|lib|app|apps|packages|tests?|__tests__|spec|specs|e2e|components|server|internal|cmd|pkg|migrations)(\/(\*\*?\/?)*)?|(src|lib|app|tests?)\/(?!([\w-]+\/)*(__?generated__?|gen|generated|dist|build|out|outputs?|results?|tmp|temp|cache|coverage|logs?|artifacts|screenshots|videos|downloads|assets\/build)\/?$)[\w/-]+|[\w*/-]*\*?\.([cm]?[jt]sx?|py|go|rs|rb|java|kts?|php|cs|sql))$/
/** The same with tests, and what people review and machines check, in the list of what git leaves out. */
const HIDES_WORK = new RegExp(
  `${HIDES_CODE.source}|^/?(\\*\\*/)?(\\.github|\\.gitlab-ci\\.ya?ml|\\.circleci|\\.husky|codeowners|\\.pre-commit-config\\.ya?ml|jenkinsfile|dockerfile|makefile|package\\.json|[\\w.-]*lock(\\.(json|ya?ml))?|go\\.sum)(/.*)?$|(^|/|\\*)[\\w*]*([._-](test|spec)\\b|test_\\*)`,
  'i',
)
