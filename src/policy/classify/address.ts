import type { Reason } from '../../domain/assessment.ts'
import { expandBraces } from '../shell/expand.ts'

/** What an agent is told to do with a page: what it says is to be read, not obeyed. */
export function judgeOrders(prompt: string): Reason | undefined {
  const order = prompt
    .split(/(?<=[.!?;\n])\s+|\n/)
    .find(sentence => (!ASKS.test(sentence) && OBEYS.test(sentence)) || THEN_OBEYS.test(sentence))
  if (order === undefined) return undefined
  return { code: 'net.orders', risk: 'MEDIUM', text: `what a page says would be obeyed: ${order.slice(0, 80)}` }
}

/** Sentences that ask about something. */
const ASKS =
  /^\s*(please\s+)?(how|what|which|who|why|when|where|is|are|does|do(?! (what|as|everything|exactly|all))|can|could|should|list|summari[sz]e|describe|explain|extract|show|find|give|get|tell|return|look|check|compare|identify)\b/i
const DEEDS =
  '(instructions?|steps?|commands?|directions?|directives?|orders?|scripts?|procedures?|guidance|prompts?|tasks?|rules|code)'
const OBEYS = new RegExp(
  `\\b(follow|obey|execute|carry out|comply with|act (up)?on|adhere to|do|run|perform|apply|install)\\s+(exactly\\s+|precisely\\s+)?(all|every|each|any|the|these|those|its|their|whatever|what)\\b[^.!?]{0,60}\\b${DEEDS}\\b|\\b(do|follow|obey)\\s+(exactly\\s+)?(what|whatever|as|everything|anything)\\b[^.!?]{0,40}\\b(says?|tells?|asks?|requests?|orders?|written|instructed|told)\\b|\\b(treat|regard|consider|take)\\b[^.!?]{0,60}\\bas\\b[^.!?]{0,30}\\b${DEEDS}\\b|\\bignore\\b[^.!?]{0,40}\\b(previous|earlier|prior|above|system|other)\\b`,
  'i',
)
const THEN_OBEYS =
  /\b(and|then|,)\s+(then\s+)?(follow|obey|execute|carry out|run|do|perform|apply|install)\s+(them|it|that|these|those|each|all|everything|whatever)\b/i

/** Fetching a page is MEDIUM. An address that hands out credentials, holds a login, or is not of the web is HIGH. */
export function judgeAddress(address: string): Reason {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined) return { code: 'net.address', risk: 'MEDIUM', text: `${address} is no address` }
  if (!/^https?:$/.test(url.protocol)) return { code: 'net.odd', risk: 'HIGH', text: `${url.protocol} is not the web` }
  if (url.username !== '' || url.password !== '')
    return { code: 'net.login', risk: 'HIGH', text: 'the address holds a password' }
  if (isOwnServer(address)) return { code: 'net.get', risk: 'MEDIUM', text: `it reads a page of ${url.host}` }
  switch (locateHost(url.hostname)) {
    case 'metadata':
      return { code: 'net.metadata', risk: 'HIGH', text: `${url.hostname} hands out the machine's credentials` }
    case 'link':
    case 'cluster':
    case 'private':
      return { code: 'net.inside', risk: 'MEDIUM', text: `${url.hostname} is inside the network` }
  }
  // A page is named by its path; a long query or fragment may be data that leaves the machine.
  if (url.search.length + url.hash.length > 400 || url.pathname.length > 800)
    return { code: 'net.long', risk: 'MEDIUM', text: 'the address carries a lot of data' }
  if (carriesText(`${url.hostname} ${url.pathname}${url.search}${url.hash}`))
    return { code: 'net.data', risk: 'MEDIUM', text: 'the address carries an encoded text' }
  if (carriesLogin(address) || carriesKey(url))
    return { code: 'net.data', risk: 'MEDIUM', text: 'the address carries a password' }
  if (actsOn(url)) return { code: 'net.change', risk: 'MEDIUM', text: `${address} sounds as if it changed something` }
  return { code: 'net.get', risk: 'MEDIUM', text: `it reads a page of ${url.hostname}` }
}

/** Whether the query or the fragment of an address is a credential: a token, a signature, or the login of another address, also encoded. */
function carriesLogin(address: string): boolean {
  const tail = /[?#;].*$/s.exec(address)?.[0] ?? ''
  return tail !== '' && decodeTwice(tail).some(text => LOGIN.test(text) || LOGIN_WITHIN.test(text))
}

/** Whether a value of the query or the fragment looks like a key, by its own words, by its signs or by whose it is. */
function carriesKey({ search, hash }: URL): boolean {
  return [search, hash].some(part =>
    [...new URLSearchParams(part.slice(1))].some(([name, value]) => {
      if (value.length < 12 || /[\s/]/.test(value)) return false
      if (!SEARCHES.test(name) && KEY_WORD.test(value)) return true
      if (value.length >= 16 && OWNER.test(name) && /[\d_-]/.test(value)) return true
      if (/^[a-z]{1,2}$/i.test(name) && !SEARCHES.test(name) && OWNER.test(value)) return true
      const isMixed = value.length >= 24 && /^[\w+=.~-]+$/.test(value) && /\d/.test(value) && /[a-z]/.test(value)
      return isMixed && /[A-Z]/.test(value) && !/^(list|v|h|id)$|^utm_/.test(name) && !/[a-z]{7}|[A-Z]{5}/.test(value)
    }),
  )
}

/** Names of what people look for, and where on a page. */
const SEARCHES =
  /^(q|query|s|search|terms?|keywords?|text|topic|title|tab|section|page|path|file|filename|view|slug|name|anchor|label|tags?|:~:text)$/i
const KEY_WORD = /(^|[._-])(api-?keys?|keys?|tokens?|secrets?|passw(or)?ds?|credentials?)([._-]|$)/i
/** Services whose keys programs hold, as the name of a value. */
const OWNER =
  /(^|[_-])(stripe|aws|gcp|azure|github|gitlab|gh|openai|anthropic|slack|twilio|sendgrid|mailgun|npm|pypi|heroku|datadog|sentry|django|jwt|db|database|postgres|redis|prod|live|sk|pk|key|env|dotenv|creds?|session|cookie)($|[_-])/i

/** A text, and what it is once and twice decoded. A sign that is no code stays. */
export function decodeTwice(text: string): string[] {
  const decode = (from: string) =>
    from.replace(/(?:%[\da-f]{2})+/gi, code => (URL.canParse(`http://h/${code}`) ? tryDecode(code) : code))
  const once = decode(text)
  return [text, once, decode(once)]
}

function tryDecode(code: string): string {
  try {
    return decodeURIComponent(code)
  } catch {
    return code // no letters of any text
  }
}

const LOGIN =
  /[?&#;](?:[\w-]*[_-])?(access_?token|refresh_?token|id_?token|token|api_?key|apikey|passw(or)?d|pwd|secret|client_secret|credentials?|session_?id|private_key|auth(key)?|jwt|sas|sig|signature|x-(amz|goog|oss|ms|cos)-(signature|security-token|credential)|awsaccesskeyid|key-pair-id|googleaccessid|sharedaccesssignature|subscription-key|code(?==[\w+/%=-]{32})|key(?==[\w+/%=-]{16}))=[^&]/i
/** `postgres://user:password@host` in a value. */
const LOGIN_WITHIN = /\b[a-z][a-z\d+.-]*:\/\/[^\s/@:?&]*:[^\s/@?&]{3,}@[\w[]/i

/** An address whose last part is a deed. */
export const ACTS =
  /[/?&=](delete|destroy|drop|remove|shutdown|reboot|restart|reset|purge|flush|wipe|terminate|deploy|redeploy|rollback|trigger|kill|revoke|disable|invalidate|logout|unsubscribe|approve|publish|cancel)(-?all)?(?=[?&=]|\/?$)/i

/** A key of any length: with a deed in the path it is a button and no page. */
const KEYED = /[?&](\w*key|token|secret|k|hook|code|password)=/i

/** Whether reading an address does something. A page about the deed is in a documentation. */
function actsOn({ hostname, pathname, search, hash }: URL): boolean {
  if (/^(docs?|developers?|learn|help|support|man|wiki|reference|cheatsheet)\.|\.(dev|readthedocs\.io)$/.test(hostname))
    return false
  if (
    /\/(docs?|documentation|reference|manual|guides?|learn|wiki|blog|questions|issues|pull|packages?|tutorials?|commands|man\d?)\//i.test(
      pathname,
    )
  )
    return false
  if (hash !== '' && search === '') return false
  return (
    ACTS.test(`${pathname}${search}`) ||
    /^(web)?hooks?\./.test(hostname) ||
    /\/(web)?hooks?\/[\w-]+\/?$|\/(webhooks|incoming)\/|\/job\/.*\/build\b/i.test(pathname) ||
    /\/(api|v\d+)\/.*\/(refund|capture|transfer|pay|send|run|execute|start|stop|enable|merge|retry)\/?$/i.test(
      pathname,
    ) ||
    /[?&](action|cmd|command|op|do|confirm|exec|run)=/i.test(search) ||
    (KEYED.test(search) && ACTS.test(`${pathname.replaceAll('/', '&')}&`))
  )
}

/**
 * Whether an address is that of a server of the project: on this machine, at a port at which frameworks start their servers. Others are of
 * engines, registries, tunnels, debuggers and databases.
 */
export function isOwnServer(address: string): boolean {
  return OWN_SERVER.test(address)
}

const OWN_SERVER =
  /^(https?:\/\/)?(localhost|127\.0\.0\.1|\[::1\]):(30\d\d|31(?!28)\d\d|4000|4200|4321|5000|517\d|80[08]0|8081|8787)(\/[^{}[\]]*)?$/

/**
 * Whether a request that changes something goes to an application of the project. Registries, forges, databases, CI and consoles listen at most of
 * these ports too, so the path must be one of an application: plain words, none that such an engine uses, and to delete, one thing by its number.
 */
export function isOwnResource(address: string, deletes: boolean): boolean {
  if (!isOwnServer(address)) return false
  const [, path = ''] = /^(?:https?:\/\/)?[^/]+([^?#]*)/.exec(address) ?? []
  const words = path.split('/').filter(Boolean)
  if (!words.every(word => /^[\w.~:@-]+$/.test(word) && !ENGINE_WORD.test(word))) return false
  return !deletes || ONE_THING.test(words.at(-1) ?? '')
}

/** Words in the paths of engines: registries, forges, databases, CI, clusters, consoles and their management. */
const ENGINE_WORD =
  /^[_.]|^(v2|jobs?|script\w*|manager|alter|mutate|sql|query|queries|statements?|schemas?|subjects|namespaces|repos\w*|orgs?|organizations|collections|dashboards|datasources|folders|actuator|admin\w*|console|manage|management|hooks|plugins?|pipelines?|builds?|doDelete|createItem|executions|experiments|registered-models|model-versions|mlflow|manifests|blobs|releases?|nodes?|clusters?|services|routes|consumers|upstreams|tables|databases?|index(es)?|indices|classes|objects|backups?|restore|imports?|exports?|keys|tokens|secrets?|settings|config\w*|env|dags|variables|connections|pools|topics|brokers|deploy\w*|undeploy\w*|shutdown|restart|refresh|drop\w*|exec\w*|eval\w*|rpc|run|metadata|kv|apis)$/i
const ONE_THING = /^(\d+|[\da-f]{24}|[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12})$/i

/** Whether a page of a server shows how it is set up or what is in its memory, passwords too. */
export function showsSettings(address: string): boolean {
  return /\/(actuator\/(env|heapdump|configprops)|heapdump|configprops|phpinfo\.php|server-info|debug\/(vars|pprof\/(cmdline|heap))|rails\/info|_profiler|telescope|\.env[\w.]*)(?=[/?#]|$)/i.test(
    address,
  )
}

/**
 * Whether a part of an address is a text in base64 or hexadecimal, or a value of its query a variable with its value or code: an address names
 * a page, it does not carry texts.
 */
function carriesText(address: string): boolean {
  const values = [...new URLSearchParams(/\?([^#]*)/.exec(address)?.[1] ?? '').values()]
  if (
    values.some(
      value =>
        /\b[A-Z][A-Z\d]*_[A-Z\d_]*\s*[=:]\s*\S{4}/.test(value) ||
        (value.length > 40 && /[{};\n]/.test(value)) ||
        (value.length > 24 &&
          /[{};()]/.test(value) &&
          /\b(export|function|const|let|import|class|def|return|var)\s/.test(value)),
    )
  )
    return true
  return (address.match(/[A-Za-z0-9+_-]{20,}/g) ?? []).some(
    part =>
      (/^([0-9a-f]{2}){12,}$/i.test(part) && isText(Buffer.from(part, 'hex'))) ||
      (/[A-Z]/.test(part) && /[a-z]/.test(part) && isText(Buffer.from(part, 'base64'))),
  )
}

function isText(bytes: Buffer): boolean {
  return bytes.length >= 12 && /^[\t\n\x20-\x7e]+$/.test(bytes.toString('latin1'))
}

/**
 * Judges a word of a network program as an address, with or without a scheme. Servers on this machine and in the person's own
 * network are everyday, so only places that hand out credentials, link-local addresses and a cluster's own names are reported.
 */
export function judgeNetworkWord(word: string): Omit<Reason, 'at'> | undefined {
  // curl expands braces and ranges in an address itself.
  for (const address of expandBraces(word) ?? [word]) {
    const host = readHost(address)
    if (host === undefined) continue
    const where = locateHost(host)
    if (where === 'metadata')
      return { code: 'net.metadata', risk: 'HIGH', text: `${host} hands out the credentials of the machine` }
    if (where === 'link' || where === 'cluster')
      return { code: 'net.inside', risk: 'MEDIUM', text: `${host} is inside the network` }
    if (where === 'web' && (carriesText(address) || carriesLogin(address)))
      return { code: 'net.data', risk: 'MEDIUM', text: 'the address carries an encoded text, or a password' }
    if (/[[\]]/.test(host) && !/^\[[\da-f:.]*\]$/i.test(host))
      return { code: 'net.address', risk: 'MEDIUM', text: `${host} is a range of addresses` }
  }
  return undefined
}

/** The host that a program contacts for a word, in its one normal form: the parser turns every spelling of a number into four. */
function readHost(word: string): string | undefined {
  const [, authority] = /^(?:[a-z][a-z\d+.-]*:[/\\]+|[/\\]{2})?(?:[^/?#@]*@)?([^/?#\\]+)/i.exec(word) ?? []
  if (authority === undefined) return undefined
  // `[fe80::1%eth0]` names the card as well.
  const bare = authority.replace(/%[^\]]*\]/, ']')
  const text = /^[\da-f]*:[\da-f:.]*:[\da-f:.]*$/i.test(bare) ? `[${bare}]` : bare
  if (URL.canParse(`http://${text}`)) return new URL(`http://${text}`).hostname
  return /\[.*-.*\]/.test(text) ? text : undefined
}

type HostKind = 'metadata' | 'link' | 'cluster' | 'private' | 'web'

/** Where a host is. `host` is as `URL` writes it: lower case, four decimal numbers, or an address of version 6 in brackets. */
function locateHost(written: string): HostKind {
  const host = written.replace(/\.+$/, '').toLowerCase()
  const numbers = readNumbers(host)
  if (METADATA_NAME.test(host) || METADATA_V6.test(host) || numbers.some(number => METADATA_V4.test(number)))
    return 'metadata'
  if (/^\[fe[89ab]/.test(host)) return 'link'
  if (CLUSTER.test(host)) return 'cluster'
  if (PRIVATE.test(host) || numbers.some(number => PRIVATE_V4.test(number)) || !/[.:]/.test(host)) return 'private'
  return 'web'
}

/** The addresses of version 4 that a host stands for: itself, one inside an address of version 6, or one in a name like `10.0.0.1.nip.io`. */
function readNumbers(host: string): string[] {
  if (/^[\d.]+$/.test(host)) return [host]
  if (host.startsWith('[')) {
    const groups = expandGroups(host.slice(1, -1))
    // Mapped and compatible (`::ffff:a.b.c.d`, `::a.b.c.d`), translated (`64:ff9b::a.b.c.d`), and 6to4 (`2002:a.b:c.d::`).
    const start = groups.slice(0, 5).every(group => group === 0) || (groups[0] === 0x64 && groups[1] === 0xff9b)
    const pairs = [...(start ? [groups.slice(6)] : []), ...(groups[0] === 0x2002 ? [groups.slice(1, 3)] : [])]
    return pairs.map(([high = 0, low = 0]) => [high >> 8, high & 255, low >> 8, low & 255].join('.'))
  }
  if (!NAMES_WITH_NUMBERS.test(host)) return []
  const dotted = [...host.matchAll(/(?<!\d)(\d{1,3})[.-](\d{1,3})[.-](\d{1,3})[.-](\d{1,3})(?!\d)/g)]
  const hex = [...host.matchAll(/(?:^|[.-])([\da-f]{8})(?=\.)/g)]
  return [
    ...dotted.map(([, ...parts]) => parts.join('.')),
    ...hex.map(([, digits = '']) => [0, 2, 4, 6].map(at => Number.parseInt(digits.slice(at, at + 2), 16)).join('.')),
  ]
}

/** The eight groups of an address of version 6. */
function expandGroups(text: string): number[] {
  const [head = '', tail] = text.split('::')
  const read = (part: string) => (part === '' ? [] : part.split(':').map(group => Number.parseInt(group, 16)))
  const [first, last] = [read(head), read(tail ?? '')]
  return [...first, ...Array(Math.max(0, 8 - first.length - last.length)).fill(0), ...last]
}

const METADATA_NAME =
  /^(metadata(\.google\.internal|\.goog|\.azure\.(com|internal)|\.tencentyun\.com|\.platformequinix\.com)?|metadata\.aws(\..*)?|instance-data(\.ec2\.internal)?)$/
const METADATA_V4 = /^(169\.254\.\d+\.\d+|168\.63\.129\.16|100\.100\.100\.200|192\.0\.0\.192)$/
const METADATA_V6 = /^\[(fd00:ec2:.*|fd20:ce:.*|fe80::a9fe:.*)\]$/
/** The interface of a cluster, and the names that only a cluster resolves. */
const CLUSTER = /^(kubernetes(\.default)?|(.*\.)?svc|(.*\.)?cluster\.local)$/
/** Services that answer with the address that is part of the name. */
const NAMES_WITH_NUMBERS = /(^|\.)(nip\.io|sslip\.io|xip\.io|traefik\.me|backname\.io|rebind\.network|1u\.ms)$/
const PRIVATE_V4 =
  /^((127|10|0)\.\d+\.\d+\.\d+|192\.168\.\d+\.\d+|172\.(1[6-9]|2\d|3[01])\.\d+\.\d+|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+\.\d+)$/
/** Addresses of this machine and its network, and names that lead there. */
const PRIVATE =
  /^(\[(::1?|::ffff:.*|f[cd].*)\]|(.*\.)?(localhost|local|internal|lan|home|corp|intranet|private|home\.arpa|nip\.io|sslip\.io|localtest\.me|lvh\.me))$/

/** Whether a word may be the name of a machine: it has a dot, and it does not end like a file. */
export function isHost(word: string): boolean {
  const [first = ''] = word.replace(/^\.\//, '').split('/')
  return word.includes('@') || (/\.\w+$/.test(first) && !FILE.test(first))
}

const FILE =
  /\.(c|m)?[jt]sx?$|\.(json[c5]?|ya?ml|toml|ini|cfg|conf|lock|txt|mdx?|rst|pyi?|go|mod|sum|rs|java|kts?|scala|sbt|clj|edn|rb|erb|php|c|h|cc|cpp|hpp|cs|fs|csproj|sln|swift|dart|lua|sh|sql|csv|tsv|parquet|xml|html?|s?css|svg|png|jpe?g|gif|pdf|proto|gra?ph?ql|gql|tf|tfvars|hcl|in|log|ipynb|vue|svelte|astro|exs?|erl|hs|ml|nix|zig|r|jl|dot|wasm|jar|class|o|db|sqlite|duckdb)$/i
