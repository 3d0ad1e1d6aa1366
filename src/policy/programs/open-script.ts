import type { ProgramCall } from '../classify/call.ts'
import { wasWritten } from '../classify/judge-file.ts'
import { locatePath } from '../paths/fence.ts'
import { type Arg, deriveArg } from '../shell/args.ts'
import { type CodeText, isAlarming, KEPT, LOCAL_ADDRESS, RUNS_AT_ONCE, scanScript } from './open-code.ts'
import { isDeed } from './step-names.ts'

// Texts in JavaScript that say openly what they do: every name that can reach something stands in the text, every module is one that computes or one
// of the project, and every file is named or found below a folder that is named. An agent may keep the same text in a file and run it.

/** Names of JavaScript that do so, where they stand in the code or are a key. */
const HIDES_THERE =
  /\b(compile(Function)?|globals?|window|Buffer|Reflect|Proxy|Symbol|binding|vm|cluster|inspector|repl|module|exports|arguments|this|self|with|raw|apply|bind|call|homedir|userInfo|tmpdir|meta|sys|promises|Deno|Bun|fetch|WebSocket|EventSource|XMLHttpRequest)\b/

/** Modules of node whose functions compute or say what there is. */
const MODULES =
  /^(node:)?(path|path\/posix|util|assert|assert\/strict|perf_hooks|events|crypto|querystring|string_decoder|timers\/promises|url|os)$/

/** Packages that compute: they read texts and make others of them. */
const PACKAGES =
  /^(zod|yup|joi|valibot|ajv|ajv-formats|yaml|js-yaml|toml|smol-toml|@iarna\/toml|ini|lodash(\/\w+)?|lodash-es|ramda|remeda|dayjs|date-fns(\/\w+)?|luxon|moment|semver(\/\w+\/[\w-]+)?|uuid|nanoid|ulid|ms|chalk|picocolors|kleur|marked|markdown-it|minimatch|picomatch|micromatch|decimal\.js|big\.js|bignumber\.js|immer|rxjs|csv-parse(\/sync)?|papaparse|fast-xml-parser|qs|path-to-regexp|acorn|@babel\/parser|jsonwebtoken|jose|bcryptjs|deepmerge|fast-deep-equal|slugify|change-case|pluralize|diff|jsondiffpatch|cron-parser|libphonenumber-js|currency\.js|dinero\.js|htmlparser2|cheerio|react|react-dom\/server|preact|openapi-types)$/

const READS = /^(readFileSync|readdirSync|existsSync|statSync|lstatSync)$/

/**
 * Whether a text in JavaScript says openly what it does. `plain`: it computes, and reads files of the project. `open`: it also uses packages or
 * serves on this machine.
 */
export function readScript(call: ProgramCall, code: Arg): 'plain' | 'open' | undefined {
  const text = code.value.length > 4_000 ? undefined : dropSets(code.value)
  const script = text === undefined ? undefined : scanScript(text)
  if (text === undefined || script === undefined || isAlarming(text, script.strings)) return undefined
  const found = takeModules(call, code, script)
  if (found === undefined) return undefined
  const { bare, names, packs } = found
  const asked = takeRequests(call, code, bare, script.strings)
  const served = takeServers(asked, script.strings, names)
  const files = takeFiles(call, code, { bare: served, strings: script.strings }, names)
  if (
    files === undefined ||
    !namesOnlyKnown(files, names) ||
    !callsByName(files, names) ||
    !takesByName(files, script.strings, names)
  )
    return undefined
  if (
    /\b(require|import|fs|http|https|net|process(?!\.(argv|versions?|platform|arch|cwd|exit|exitCode|stdout|stderr|stdin|hrtime|memoryUsage|uptime|pid)\b))\b/.test(
      files,
    )
  )
    return undefined
  return packs || served !== bare ? 'open' : 'plain'
}

/** A text without what was proven to stay here: addresses of this machine, and the module of servers that are bound to it. */
export function dropKnown(text: string): string {
  return dropSets(text.replace(/\bfunction\b/g, 'fn'))
    .replace(new RegExp(ASKS_HERE, 'g'), 'given(0)')
    .replace(LOCAL_ADDRESS, '$1')
    .replace(/(["'])(node:)?http\1|\bhttp\b(?=\s*(\.\s*createServer|=|from\b))/g, '0')
}
/** A set or a map of the text itself loses a member: nothing else is deleted. */
function dropSets(text: string): string {
  const names = [...text.matchAll(/\b(?:const|let|var)\s+(\w{1,40})\s*=\s*new (?:Map|Set)\b/g)].map(
    ([, name = '']) => name,
  )
  return names
    .slice(0, 20)
    .reduce((left, name) => left.replaceAll(new RegExp(`${FREE}${name}\\.delete\\(`, 'g'), `${name}.has(`), text)
}

/** What the names of a text stand for. */
interface Names {
  /** Whole modules: only their members may be used, by their names. */
  modules: Set<string>
  files: Set<string>
  servers: Set<string>
  /** Functions and classes that modules give. */
  given: Set<string>
}

/** Takes the modules out of a text. `undefined` if one of them is not known to compute, or if it is not plain what is taken of it. */
function takeModules(
  call: ProgramCall,
  code: Arg,
  { bare, strings }: CodeText,
): { bare: string; names: Names; packs: boolean } | undefined {
  const names: Names = { modules: new Set(), files: new Set(), servers: new Set(), given: new Set() }
  let isOpen = true
  let packs = false
  const load = (number: string): 'files' | 'servers' | 'own' | 'modules' => {
    const name = strings[Number(number)] ?? ''
    if (/^(node:)?fs$/.test(name)) return 'files'
    if (/^(node:)?http$/.test(name)) return 'servers'
    if (MODULES.test(name)) return 'modules'
    if (PACKAGES.test(name)) packs = true
    else if (!isOwnFile(call, code, name)) isOpen = false
    return name.startsWith('.') ? 'own' : 'modules'
  }
  const note = (kind: ReturnType<typeof load>, taken: string) => {
    for (const part of taken.replace(/[{}]/g, '').split(',')) {
      const [name = '', as = name] = part.trim().split(/\s*:\s*|\s+as\s+/)
      if (name === '') continue
      if (!/^[A-Za-z]\w*$/.test(as) || !/^[A-Za-z]\w*$/.test(name)) isOpen = false
      if (kind === 'files' && (!READS.test(name) || as !== name)) isOpen = false
      if (kind === 'servers' || (kind === 'own' && [name, as].some(isDeed))) isOpen = false
      if (kind !== 'files') names.given.add(as)
    }
  }
  const whole = (kind: ReturnType<typeof load>, name: string) => {
    if (kind === 'own' && isDeed(name)) isOpen = false
    names[kind === 'own' ? 'modules' : kind].add(name)
    if (kind === 'own' || kind === 'modules') names.given.add(name)
  }
  const left = bare
    .replace(
      /\bimport\s+(?:(\w+)\s*,?\s*)?(\{[^{}]*\}|\*\s*as\s+(\w+))?\s*from\s*"(\d+)"/g,
      (_, one, taken, all, number) => {
        const kind = load(number)
        if (one !== undefined) whole(kind, one)
        if (all !== undefined) whole(kind, all)
        else if (taken !== undefined) note(kind, taken)
        return ' '
      },
    )
    .replace(
      /(\b(?:const|let|var)\s+|,\s*)(?:(\w+)|(\{[^{}]*\}))\s*=\s*(?:await\s+import|require)\s*\(\s*"(\d+)"\s*\)(?=\s*[;,\n]|\s*$)/g,
      (_, start: string, one: string | undefined, taken = '', number: string) => {
        const kind = load(number)
        if (one === undefined) note(kind, taken)
        else whole(kind, one)
        return start.startsWith(',') ? ', nil=0' : `${start}nil=0`
      },
    )
    .replace(/\brequire\.resolve\(\s*"(\d+)"\s*\)/g, (all, number) =>
      /^[@\w][@\w./-]*$/.test(strings[Number(number)] ?? '') ? ' nil' : all,
    )
    .replace(USED_AT_ONCE, (_, required, imported, member = '') => {
      const kind = load(required ?? imported)
      const from = strings[Number(required ?? imported)] ?? ''
      if (kind === 'own' && !from.endsWith('.json') && isDeed(member || from.replace(NOUN, ''))) isOpen = false
      if (kind === 'files') return ` fs.${member}`
      if (HIDES_THERE.test(member) || (kind !== 'servers' && ACTS.test(member))) isOpen = false
      return kind === 'servers' ? ` http.${member}` : ' given'
    })
  if (/(?<!\w|(?<!\.\.)\.)(fs|http)(?![\w.])/.test(left)) isOpen = false
  names.files.add('fs')
  names.servers.add('http')
  return isOpen ? { bare: left, names, packs } : undefined
}

/** What stands before the name of a file, and names of things that sound like deeds. */
const NOUN = /^.*\/|(?<=\/)(refund|payment|notification|upload|post|event)s$/g

/** A module where it is loaded, with a member of it. */
const USED_AT_ONCE =
  /(?:\brequire\s*\(\s*"(\d+)"\s*\)|\(\s*await\s+import\s*\(\s*"(\d+)"\s*\)\s*\))(?:\s*\.\s*([A-Za-z]\w*))?/g

/** Whether a name stands for a file of the project that does nothing when it is loaded, and that the same command did not write. */
function isOwnFile(call: ProgramCall, code: Arg, name: string): boolean {
  const { cwd } = call.scope
  if (cwd === undefined || !/^\.\/[\w./@-]+$/.test(name) || name.split('/').includes('..')) return false
  if ((RUNS_AT_ONCE.test(name) || KEPT.test(name)) && !/\.json$/.test(name)) return false
  const file = deriveArg(name, code)
  const spellings = [name, name.replace(/\.[cm]?jsx?$/, ''), name.replace(/\.js$/, '.ts')].flatMap(base =>
    ['', '.js', '.ts', '.mjs', '.cjs', '.tsx', '.json', '/index.js', '/index.ts'].map(end => base + end),
  )
  if (spellings.some(value => wasWritten({ ...file, value }, call))) return false
  if (locatePath(name, cwd, call.fence).where !== 'inside') return false
  call.path(file, 'read')
  return true
}

/** Takes out requests that only read from a server on this machine. They are judged like those of curl. */
function takeRequests(call: ProgramCall, code: Arg, bare: string, strings: readonly string[]): string {
  return bare.replace(/\bfetch\(\s*"(\d+)"\s*\)/g, (whole, number) => {
    const address = strings[Number(number)] ?? ''
    if (!ASKS_HERE.test(`fetch('${address}')`)) return whole
    call.run([deriveArg('curl', code), deriveArg(address, code)])
    return 'given(0)'
  })
}
const ASKS_HERE = /\bfetch\(\s*(["'`])https?:\/\/(?:localhost|127\.0\.0\.1):\d{4,5}(?:\/[\w/.?=&-]*)?\1\s*\)/

/** Takes out servers that listen on this machine only: each is made and bound in one expression or bound by its name. */
function takeServers(bare: string, strings: readonly string[], { servers }: Names): string {
  const made = [...servers].reduce((sum, name) => sum + bare.split(`${name}.createServer(`).length - 1, 0)
  if (made === 0) return bare
  const bound = [...bare.matchAll(/\.\s*listen\(\s*\d{4,5}\s*,\s*"(\d+)"/g)].filter(([, number]) =>
    /^(127\.0\.0\.1|localhost)$/.test(strings[Number(number)] ?? ''),
  ).length
  if (bound !== made || bare.split(/\.\s*listen\b/).length - 1 !== bound) return bare
  return [...servers].reduce(
    (text, name) => text.replaceAll(`${name}.createServer(`, 'Array('),
    bare.replace(/\.\s*listen\(/g, '.join('),
  )
}

/** Not a member of something; three dots take a value apart. */
const FREE = '(?<![\\w$]|(?<!\\.\\.)\\.)'

/** A name, or a name of an entry. */
const NAME = '[A-Za-z_]\\w*(?:\\.(?:name|path|parentPath))?'
/** A path of names that a loop or a function gives: `path.join(d, e.name)`, `d + '/' + f`. */
const JOINED = [
  NAME,
  `(?:path\\s*\\.\\s*)?join\\(\\s*(?:${NAME}|"(\\d+)")\\s*,\\s*${NAME}\\s*\\)`,
  `(?:${NAME}\\s*\\+\\s*)?"(\\d+)"\\s*\\+\\s*${NAME}`,
  `\\((?:"e"\\+\\(${NAME}\\)\\+)?"(\\d+)"\\+\\(${NAME}\\)\\+"e"\\)`,
].join('|')
const FIRST = new RegExp(`^\\s*(?:"(\\d+)"|(0)|(${JOINED}))\\s*[,)]`)

/** Takes out the reading of files. `undefined` if it is not plain which files those are. */
function takeFiles(call: ProgramCall, code: Arg, { bare, strings }: CodeText, names: Names): string | undefined {
  const space = [...names.files].join('|')
  const uses = new RegExp(`(?:${FREE}(?:${space})\\s*\\.\\s*)?(?<![\\w])(\\w+Sync)\\s*(\\()?`, 'g')
  let isPlain = true
  let reads = 0
  let found = 0
  const named: string[] = []
  const left = bare.replace(uses, (whole: string, member: string, called: string | undefined, at: number) => {
    const [, literal, input, joined] = FIRST.exec(bare.slice(at + whole.length, at + whole.length + 200)) ?? []
    if (!READS.test(member) || called === undefined) isPlain = false
    else if (literal !== undefined) named.push(strings[Number(literal)] ?? '')
    else if (joined !== undefined) found++
    else if (input === undefined || member !== 'readFileSync') isPlain = false
    if (member === 'readFileSync') reads++
    if (joined !== undefined && member === 'readFileSync' && !isFound(bare, joined)) isPlain = false
    return ' given('
  })
  if (!isPlain || new RegExp(`${FREE}(?:${space})(?!\\w)`).test(left)) return undefined
  if (!named.every(name => /^(\.\/)?[\w@][\w@/-]*(\.[\w-]+)*$|^\/dev\/stdin$/.test(name))) return undefined
  if (found > 0 && (reads > 1 || !walksOpenly(call, code, { bare: left, strings }))) return undefined
  for (const name of named) if (name !== '/dev/stdin') call.path(deriveArg(name, code), 'read')
  return left
}

/** Whether each name of a path comes from a loop or from a function of the text, and from nothing else. */
function isFound(bare: string, joined: string): boolean {
  const used = joined.match(/(?<![.\w"])[A-Za-z_]\w*/g) ?? []
  return used
    .filter(name => !/^(path|join)$/.test(name))
    .every(name => {
      const isGiven = new RegExp(
        `\\((?:const|let)\\s+${name}\\s+of\\b|${FREE}${name}\\s*=>|[(,]\\s*${name}\\s*[,)][\\s\\w,)]{0,40}=>`,
      )
      const isMade = new RegExp(`${FREE}${name}\\s*=(?![=>])(?!\\s*(?:${JOINED})\\s*[;,\\n])`)
      return (
        (isGiven.test(bare) || new RegExp(`\\b${name}\\s*=\\s*(?:${JOINED})\\s*[;,\\n]`).test(bare)) &&
        !isMade.test(bare)
      )
    })
}

/** Whether a walk begins at folders that the text names, and no name of a file is made of something else on the way. */
function walksOpenly(call: ProgramCall, code: Arg, { bare, strings }: CodeText): boolean {
  if (CUTS.test(bare.replaceAll(/\bJSON\s*\.\s*parse\b/g, ' '))) return false
  const joining = new Set([...bare.matchAll(/\+\s*"(\d+)"\s*\+/g)].map(([, number]) => strings[Number(number)]))
  if (
    !strings.every(
      value =>
        (value === '/' && joining.has(value) && strings.filter(one => one === '/').length === 1) ||
        (!NO_FOLDER.test(value) && (!value.startsWith('.') || ENDING.test(value))),
    )
  )
    return false
  // What is put together is a folder that is named and the name of a file.
  for (const [, before] of bare.matchAll(/(?:=>|[[(,]|\breturn\b)\s*\(?"(\d+)"\s*\+/g))
    if (!/^[\w@][\w@/-]*\/$|^[ \t]|[ :=>]$/.test(strings[Number(before)] ?? '')) return false
  if (/"\d+"\s*\+\s*"\d+"|\+"e"\+|\[[^[\]+]*[^+[\]]\+[^+\]]|=>\s*\(?\s*[\w.]+\s*\+\s*"/.test(bare)) return false
  for (const name of listFunctions(bare))
    for (const { index } of bare.matchAll(new RegExp(`${FREE}(?<!function\\s{1,9})${name}\\(`, 'g')))
      if (!FIRST.test(bare.slice(index + name.length + 1, index + name.length + 200))) return false
  const roots = strings.filter(value => /^(\.\/)?[A-Za-z@][\w@/-]*\/?$/.test(value))
  for (const root of roots) call.secret(deriveArg(root, code))
  return roots.length > 0 && roots.every(root => !KEPT.test(root))
}

/** What takes a part of a text: names of files can be made with it. */
const CUTS =
  /\b(dirname|resolve|relative|normalize|cwd|argv|replace\w*|slice|substr\w*|charAt|at|concat|reverse|toReversed|repeat|pad\w+|to(Lower|Upper)Case|parse|format|fromEntries|String|trim|__dirname|__filename|readlink|realpath)\b|\.join\(\s*\)|\bjoin\(\s*"e"|\)\+\(/
const NO_FOLDER = /\.\.|^[/~]|^\.?\/?$|env|secret|passw|cred|pem|\bkeys?\b|\.git\b|^(e|en|nv|v)$/i
const ENDING =
  /^\.([cm]?[jt]sx?|json|md|mdx|css|scss|html|vue|svelte|ya?ml|toml|sql|py|rb|go|rs|java|kt|php|ex|exs|txt|csv|svg|test\.ts|spec\.ts|d\.ts)$|^\.\/\w/

/** Whether every name is one of the text, of a module that was read, or of the language: short texts see all modules of node as variables. */
function namesOnlyKnown(bare: string, { given, modules }: Names): boolean {
  const bindings = bare.matchAll(
    /\b(?:const|let|var)\s{0,9}([{[][^={}[\]()]{0,200}[}\]])|\bfunction\s{0,9}\*?\s{0,9}(\w{0,40})\s{0,9}\(([^()]{0,200})\)|\b(?:const|let|var|class|catch)\s{0,9}\(?\s{0,9}(\w{1,40})|\(([^()]{0,200})\)\s{0,9}=>|(\w{1,40})\s{0,9}=>|,\s{0,9}(\w{1,40})\s{0,9}=(?!=)/g,
  )
  const own = new Set([...bindings].flatMap(([, ...parts]) => parts.join(' ').match(/[A-Za-z_]\w*/g) ?? []))
  const words = bare
    .replace(/(?<=[{,]\s{0,9})[A-Za-z_]\w{0,60}\s{0,9}:/g, ' ')
    .matchAll(/(?<!\w|(?<!\.\.)\.\s{0,9})[A-Za-z_$][\w$]*/g)
  return [...words].every(
    ([word]) =>
      own.has(word) ||
      given.has(word) ||
      modules.has(word) ||
      WORDS.test(word) ||
      GLOBALS.test(word) ||
      FUNCTIONS.test(word) ||
      /^[A-Za-z]$/.test(word),
  )
}
const GLOBALS =
  /^(Math|JSON|console|process|performance|Infinity|NaN|undefined|null|true|false|new|else|break|continue|default|delete|instanceof|try|finally|extends|static|get|set|nil|export|debugger|as|from|crypto|path|util|os|url|assert)$/

const WORDS =
  /^(if|for|while|switch|catch|return|of|in|typeof|await|async|function|yield|case|void|throw|else|do|const|let|var)$/
const FUNCTIONS =
  /^(String|Number|parseInt|parseFloat|Boolean|BigInt|isNaN|isFinite|Array|Object|Date|RegExp|Error|Map|Set|given|setTimeout|setInterval|clearTimeout|clearInterval|structuredClone|encodeURIComponent|URL|URLSearchParams|TypeError|RangeError|WeakMap|Promise|Intl|super|Uint8Array|Float64Array|Int32Array)$/
/** Members that change something elsewhere, or call what they are given by a name. */
const ACTS =
  /^(drop|destroy|purge|deploy|publish|send|mail|notify|charge|refund|migrate|seed|flush|wipe|kill|upload|revoke|cancel|connect|query|execute|request|save|insert|remove|delete|truncate|createServer|createConnection|listen|write|writeFile|register|emitWarning|chdir|abort|setuid|pipe|pipeline|promisify|callbackify|createDecipheriv|setEngine|setFips|decrypt|privateDecrypt)([A-Z_]\w*)?$/

/** The functions that a text defines. */
function listFunctions(bare: string): Set<string> {
  const found = bare.matchAll(
    /\bfunction\s{0,9}\*?\s{0,9}([A-Za-z]\w{0,40})|(?:\b(?:const|let|var)\s|,)\s{0,9}([A-Za-z]\w{0,40})\s{0,9}=\s{0,9}(?:async\b|function\b|\w{1,40}\s{0,9}=>|\([^()]{0,200}\)\s{0,9}=>)/g,
  )
  return new Set([...found].map(([, one, two]) => one ?? two ?? ''))
}

/** Whether everything that is called has a name: a function of the text, of a module that was read, or of the language. */
function callsByName(bare: string, { given }: Names): boolean {
  if (HIDES_THERE.test(bare) || /\?\.\s*[([]/.test(bare)) return false
  const own = listFunctions(bare)
  for (let at = bare.indexOf('('); at >= 0; at = bare.indexOf('(', at + 1)) {
    const before = bare.slice(Math.max(0, at - 60), at).trimEnd()
    const [, dot, name] = /(\.\s*)?([A-Za-z_$][\w$]*)$/.exec(before) ?? []
    if (name !== undefined && dot !== undefined) {
      if (ACTS.test(name) && !/\bstdout\s*\.\s*write$/.test(before)) return false
    } else if (name !== undefined) {
      if (!WORDS.test(name) && !FUNCTIONS.test(name) && !own.has(name) && !given.has(name)) return false
    } else if (/[\]"`]$/.test(before) && !/\/0\/$/.test(before)) return false
    else if (before.endsWith(')') && !closesFunction(bare, at)) return false
  }
  // A name that is called later must not stand for something else.
  return ![...own, ...given].some(name =>
    new RegExp(`${FREE}${name}\\s*=(?![=>])`, 'g').test(
      bare.replaceAll(new RegExp(`\\b(const|let|var|,)\\s*${name}\\s*=`, 'g'), ' '),
    ),
  )
}

/** Whether the bracket before a call closes a function that is written out there. */
function closesFunction(bare: string, at: number): boolean {
  let depth = 0
  let start = bare.lastIndexOf(')', at)
  for (; start >= 0; start--) {
    if (bare[start] === ')') depth++
    if (bare[start] === '(' && --depth === 0) break
  }
  return /^\(\s*(async\b|function\b|\(\s*[\w\s,]*\)\s*=>|\w+\s*=>)/.test(bare.slice(start, start + 80))
}

/** What is no data: its members are functions. */
const TOPS = /^(Object|Array|String|Math|JSON|Date|Promise|console|process|given|Number)$/

/** Whether members that are taken by a value are those of data. */
function takesByName(bare: string, strings: readonly string[], { modules }: Names): boolean {
  let isDynamic = false
  let isOpen = true
  let left = bare.replace(/\b(?:const|let|var|of|return|in|case|await)\s*\[/g, ';[')
  const take = (whole: string, owner: string, key: string, at: number) => {
    const literal = strings[Number(/^\s*"(\d+)"\s*$/.exec(key)?.[1] ?? -1)]
    if (modules.has(owner) || TOPS.test(owner)) isOpen = false
    if (literal !== undefined && (HIDES_THERE.test(literal) || ACTS.test(literal))) isOpen = false
    if (literal === undefined && !/^\s*([\w.]+(\s*[-+*%/]\s*[\w.]+)?)\s*$/.test(key)) isOpen = false
    if (literal === undefined && !/^\s*\d+\s*$/.test(key)) isDynamic = true
    if (/^\s*\(/.test(left.slice(at + whole.length, at + whole.length + 20))) isOpen = false
    return `${owner} `
  }
  for (let depth = 0; depth < 5; depth++) left = left.replace(/([\w$]+|[)\]"])\s{0,9}\[([^[\]]*)\]/g, take)
  if (!isOpen || /[\w$)\]"]\s{0,9}\[/.test(left)) return false
  if (/[{,]\s*\[[^[\]]*\]\s*:/.test(bare)) return false
  return !isDynamic || !strings.some(value => value.length > 1 && 'constructor'.includes(value.toLowerCase()))
}
