import { dirname } from 'node:path'
import { MANIFEST } from '../../domain/package-managers.ts'
import { findShadowed } from '../paths/steering-files.ts'
import { readJustFile, readMakeFile } from '../programs/make-file.ts'
import type { ReadLines } from './call.ts'
import { CHECK_FILE, CHECK_STEP, countSteps, doesNothing, explainWeakerChecks, isIdle } from './weaker-checks.ts'
import {
  explainBundle,
  explainCompose,
  explainExposed,
  explainIgnored,
  explainImage,
  explainInfrastructure,
  explainWritten,
  findAdded,
  type TextFinding,
  type WrittenChange,
} from './written-text.ts'

// What a change of a file makes other programs do: its text is known before it is written, so the commands in it are judged like typed ones.

/** Whether a file gives commands to others, or says what they show or fetch; `asked` if it must not become something that is not known. */
export function isSteered(path: string): 'asked' | 'kept' | 'printed' | undefined {
  const kind = KINDS.find(({ name }) => name.test(path))
  if (kind && !kind.printed) return 'asked'
  // What says how strict a check is must not be replaced by something that is not known.
  return CHECK_FILE.test(path) ? 'kept' : kind && 'printed'
}

/** Whether a change may take away what is in a file: a pattern, a short text, another file, or what a program prints takes its place. */
export function mayReplace(path: string, { whole, copied, after, inserted }: Partial<WrittenChange>): boolean {
  if (!whole) return inserted !== undefined
  return after === undefined ? isSource(path) : copied === true || after.length < 200
}

/** Whether a file is one that people write, by its ending, and that no tool makes again. */
function isSource(path: string): boolean {
  return (
    /\.([cm]?[jt]sx?|vue|svelte|py|go|rs|rb|java|kts?|swift|c|h|cc|cpp|hpp|cs|php|exs?|scala|clj|lua|dart|sh|bash|sql|prisma|proto|graphql|tf|css|scss|html)$/i.test(
      path,
    ) &&
    !/\.d\.ts$|[._-](gen|generated|pb|min)\.\w+$|(^|\/)(generated|__generated__|gen|dist|build|out|target|coverage|tmp)\//i.test(
      path,
    )
  )
}

/** What is asked about in a change, besides the commands in it; `read` gives the text of a file of the same folder. */
export function explainChange(
  path: string,
  change: WrittenChange,
  read: (name: string) => string | undefined,
): TextFinding[] {
  const found = [explainWritten(path, change.added ?? ''), explainLoss(path, change)].filter(one => one !== undefined)
  const kind = KINDS.find(({ name }) => name.test(path))
  const why = kind?.explain?.(change, path) ?? explainExposed(path, findAdded(change).join('\n'))
  const weaker = PAGES.test(path) ? [] : explainWeakerChecks(path, change)
  const hidden = change.before === undefined ? findShadowed(path, read) : undefined
  const shadows = hidden && `it would take the place of ${hidden}`
  for (const text of [why, ...weaker, shadows])
    if (text !== undefined) found.push({ code: 'write.steers', risk: 'MEDIUM', text: `${path}: ${text}` })
  const [before, after] = [change.before, change.after ?? change.added ?? ''].map(text =>
    text === undefined ? undefined : kind?.commands?.(text),
  )
  for (const [name, command] of before ?? []) {
    const now = after?.get(name)
    const isLost = change.after !== undefined && CHECK_STEP.test(name) && countSteps(now ?? '') < countSteps(command)
    if (isLost || (now !== undefined && doesNothing(now) && !doesNothing(command)))
      found.push({ code: 'write.steers', risk: 'MEDIUM', text: `${path}: ${name} would check nothing any more` })
  }
  for (const [name, command] of after ?? [])
    if (before?.get(name) !== command && RUNS_SCRATCH.test(command))
      found.push({ code: 'write.steers', risk: 'MEDIUM', text: `${path}: ${name} would run a file that nobody keeps` })
  if (SCRIPT.test(path) && change.before && change.after && isIdle(change.after) && !isIdle(change.before))
    found.push({ code: 'write.steers', risk: 'MEDIUM', text: `${path} would do nothing any more` })
  return found
}

/** The commands that a change puts into a file for others to run. */
export function findCommands(path: string, change: WrittenChange): ReadLines[] {
  const kind = KINDS.find(({ name }) => name.test(path))
  const before = change.before === undefined ? undefined : kind?.commands?.(change.before)
  const after = kind?.commands?.(change.after ?? change.added ?? '') ?? new Map<string, string>()
  const changed = [...after].filter(([name, text]) => before?.get(name) !== text)
  // Running a script is judged again. People and machines run it too, so that it must not send or throw away what only they have.
  if (SCRIPT.test(path)) changed.push(['a line', findAdded(change).join('\n')])
  const literals = kind?.commands || PAGES.test(path) ? [] : findLiterals(findAdded(change).join('\n'))
  return [...changed, ...literals.map(text => ['a command', text] as const)]
    .slice(0, MAX_COMMANDS)
    .map(([name, text]) => ({
      id: `${path} ${name}`,
      name: `${name} of ${path}`,
      cwd: dirname(path),
      lines: [{ text }],
      is: SCRIPT.test(path) ? 'script' : 'edit',
    }))
}

/** Far more than anybody changes at once; a file that is replaced by another is asked about for other reasons. */
const MAX_COMMANDS = 60
const PAGES = /(?<!CMakeLists)\.(md|mdx|rst|txt|adoc|html?|log|csv|tsv|svg|patch|diff)$/i

/** A shell or an interpreter that gets a file of a folder for what is of no use tomorrow. */
const RUNS_SCRATCH =
  /(^|[\s;&|('"])((ba|z|da)?sh|node|tsx|bun|deno run|python3?|ruby|perl|php|source|\.)(\s+-\S+)*\s+["']?(\.\/)?(\/?tmp|\/var\/tmp|\/dev\/shm|temp|\.cache|\.tmp)\/|(^|[;&|(]\s*)(\.\/)?(\/?tmp|\/dev\/shm)\/\S/

const SCRIPT = /\.(ba|z|da)?sh$/

/** A file that is written as a whole and then holds next to nothing of what was in it. */
function explainLoss(path: string, change: WrittenChange): TextFinding | undefined {
  const { before, after, whole, copied } = change
  if (!whole || before === undefined) return undefined
  const isLost = after === undefined || copied || (change.onlyCopy && !after.includes(before.trim()))
  if (isLost && before.trim() !== '' && before !== after)
    return { code: 'file.replace', risk: 'MEDIUM', text: `what is in ${path} would be lost` }
  if (after === undefined) return undefined
  const [was, is] = [before.trim().length, after.trim().length]
  if (was === 0 || !(is === 0 || (was > 100 && is * 10 < was && is < 80))) return undefined
  return { code: 'write.empties', risk: 'MEDIUM', text: `nothing of what is in ${path} would be left` }
}

interface Kind {
  name: RegExp
  /** The commands in such a file by the names of their steps. */
  commands?: (text: string) => Map<string, string>
  explain?: (change: WrittenChange, path: string) => string | undefined
  /** Set if programs print such files: what they print is not looked at. */
  printed?: true
}

const KINDS: readonly Kind[] = [
  { name: /(^|\/)package\.json$/, commands: readJsonCommands, explain: explainPackage },
  {
    name: /(^|\/)(composer|project|nx|deno|lerna|nodemon|tasks|rush|command-line)\.jsonc?$/,
    commands: readJsonCommands,
    explain: explainSources,
  },
  { name: /(^|\/)((GNU)?[Mm]akefile|[^/]+\.mk)$/, commands: text => readRecipes(readMakeFile(text)) },
  { name: /(^|\/)\.?[Jj]ustfile$/, commands: text => readRecipes(readJustFile(text)) },
  { name: /(^|\/)(docker-)?compose[\w.-]*\.ya?ml$/, commands: readYamlCommands, explain: explainCompose },
  { name: /(^|\/)([Tt]askfile(\.dist)?|mprocs|process-compose|skaffold|lefthook)\.ya?ml$/, commands: readYamlCommands },
  { name: /(^|\/)Procfile[\w.]*$/, commands: readYamlCommands },
  { name: /(^|\/)(Dockerfile|Containerfile)[\w.-]*$|\.dockerfile$/i, commands: readImageSteps, explain: explainImage },
  { name: /\.prisma$/, explain: explainGenerator },
  {
    name: /(^|\/)(vite|vitest|webpack|next|nuxt|rollup|esbuild|astro|svelte|vue|craco|rspack|rsbuild|electron\.vite|remix|metro|angular|tsup|app|playwright|jest)[\w.-]*\.config\.[cm]?[jt]s$/,
    explain: explainBundle,
  },
  { name: /(^|\/)\.(git|docker|npm|eslint|prettier|gcloud|vercel|helm|slug)ignore$/, explain: explainIgnored },
  {
    name: MANIFEST,
    explain: explainSources,
    printed: true,
  },
  { name: /\.sql$/i, explain: explainStatements, printed: true },
  { name: /\.(tf|tofu|hcl|tfvars)$/, explain: explainInfrastructure, printed: true },
  {
    name: /(^|\/)(k8s|kubernetes|kube|manifests|deploy\w*|charts?|helm|infra\w*)\/.*\.ya?ml$/,
    explain: explainInfrastructure,
    printed: true,
  },
  { name: /\.ipynb$/, commands: readCells, explain: explainNotebook, printed: true },
  { name: /\.go$/, commands: readGenerateLines, printed: true },
]

/** Keys of settings below which every text is a command. */
const COMMAND_KEYS = new Set(
  'scripts tasks hooks lint-staged simple-git-hooks pre-commit husky gitHooks command commands cmd exec events nano-staged wireit'.split(
    ' ',
  ),
)

function readJsonCommands(text: string): Map<string, string> {
  const found = new Map<string, string>()
  const visit = (value: unknown, name: string, isCommand: boolean, depth: number): void => {
    if (typeof value === 'string') {
      if (isCommand) found.set(name, value)
    } else if (typeof value === 'object' && value !== null && depth < 8)
      for (const [key, inner] of Object.entries(value))
        visit(
          inner,
          COMMAND_KEYS.has(key) || name === '' ? key : isCommand ? key : `${name}.${key}`,
          isCommand || COMMAND_KEYS.has(key),
          depth + 1,
        )
  }
  const parsed = parseJson(text)
  if (parsed !== undefined) visit(parsed, '', false, 0)
  // A piece of such a file: every pair may be a script.
  else
    for (const [, name = '', value = ''] of text.matchAll(/"([\w:@./-]+)"\s*:\s*"((?:[^"\\]|\\.)*)"/g))
      if (/\s/.test(value)) found.set(name, parseText(value))
  return found
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // no JSON, or one with comments
  }
}

function parseText(quoted: string): string {
  return String(parseJson(`"${quoted}"`) ?? quoted)
}

function readRecipes({ recipes, atOnce, variables }: ReturnType<typeof readMakeFile>): Map<string, string> {
  const found = new Map<string, string>()
  for (const [name, values] of variables) if (values.some(value => /\s/.test(value))) found.set(name, values.join('\n'))
  for (const { targets, lines } of recipes) {
    const text = lines.map(line => line.text.replace(/^[@+-]+/, '')).join('\n')
    if (text !== '')
      found.set(targets.trim(), text.replaceAll('$$', '$').replace(/\$[({]([\w.-]+)[)}]/g, '$MAKE_VALUE'))
  }
  for (const [at, { text }] of atOnce.entries()) found.set(`a line ${at + 1}`, text)
  return found
}

/** Values of the keys that hold commands, and lines of lists below `cmds`, each by its own text: a list has no names. */
function readYamlCommands(text: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const line of text.split('\n')) {
    const [, key = '', value = ''] = /^\s*(?:-\s+)?["']?([\w.-]+)["']?\s*:\s+(.+)$/.exec(line) ?? []
    const [, item = ''] = /^\s*-\s+(?!["']?[\w.-]+["']?\s*:(?:\s|$))(.+)$/.exec(line) ?? []
    const isCommand =
      /^(cmds?|command|entrypoint|test|run|sh|script|shell|web|worker|release|dev|deploy|postdeploy|precondition)$/.test(
        key,
      )
    const command = isCommand ? value : /\s/.test(item) ? item : ''
    if (command !== '') found.set(command, readList(command))
  }
  return found
}

/** `["sh", "-c", "x"]` as one command line. */
function readList(text: string): string {
  const [, line] = /^\s*\[\s*["']CMD-SHELL["']\s*,\s*("(?:[^"\\]|\\.)*")\s*\]\s*$/.exec(text) ?? []
  if (line) return String(parseJson(line) ?? line)
  const list = parseJson(
    text
      .trim()
      .replace(/^\[\s*CMD(-SHELL)?\s*,/, '[')
      .replace(/"CMD(-SHELL)?"\s*,/, ''),
  )
  if (Array.isArray(list)) return list.map(word => `'${String(word).replaceAll("'", "'\\''")}'`).join(' ')
  return text.trim().replace(/^(["'])(.*)\1$/s, '$2')
}

/** `RUN` of an image runs while it is built; `CMD` runs later. */
function readImageSteps(text: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const [, verb = '', step = ''] of text
    .replace(/\\\r?\n/g, ' ')
    .matchAll(/^[ \t]*(RUN|CMD|ENTRYPOINT)\s+(.*)$/gim))
    found.set(`${verb} ${step}`.slice(0, 80), readList(step.replace(/^(--\w+=\S+\s+)+/, '')))
  return found
}

/** `//go:generate` is run by `go generate`. */
function readGenerateLines(text: string): Map<string, string> {
  return new Map([...text.matchAll(/\/\/go:generate[ \t]+(.+)$/gm)].map(([, command = '']) => [command, command]))
}

/** Lines of a notebook that a shell reads: `!x`, `%sx x`, and cells of `%%bash`. In the file itself they are texts of JSON. */
function readCells(text: string): Map<string, string> {
  const lines = text.split('\n').map(line => line.replace(/^\s*"(.*?)(\\n)?",?\s*$/s, '$1').replace(/\\(["\\])/g, '$1'))
  const shell = lines.findIndex(line => /^\s*%%(bash|sh|script|system|!|sx)\b/.test(line))
  const found = new Map<string, string>()
  if (shell >= 0) found.set('a cell', lines.slice(shell + 1).join('\n'))
  for (const line of lines) {
    const [, command] = /^\s*(?:\w+\s*=\s*)?(?:!{1,2}|%(?:sx|system|bash|sh)\s)\s*(.+)$/.exec(line) ?? []
    if (command) found.set(command, command.replace(/\{[^}]*\}/g, '$VALUE'))
  }
  return found
}

/** What a cell of a notebook does beside computing: it sends, throws data away, or runs in the browser of who reads it. */
function explainNotebook(change: WrittenChange): string | undefined {
  const added = findAdded(change).join('\n')
  if (/\b(delete\s+from|drop\s+(table|database|schema)|truncate\s+(table\s+)?\w)/i.test(added))
    return 'it throws data away'
  if (/%%(javascript|js|html|svg)\b|\b(Javascript|HTML)\s*\(/.test(added) && BROWSER_REACHES.test(added))
    return 'it runs in the browser of who reads it, and sends'
  const sends = SENDS_DATA.test(added) && !/https?:\/\/(localhost|127\.0\.0\.1)/.test(added)
  if (sends) return 'it sends data to another machine'
  return TAKES_SECRET.test(added) ? 'it takes a secret of the environment, or all of it' : undefined
}

const BROWSER_REACHES =
  /\b(fetch|XMLHttpRequest|sendBeacon|WebSocket|EventSource|importScripts)\b|document\.(cookie|location)|localStorage|sessionStorage|\bnew Image\b|\.src\s*=|<(script|img|iframe|form|link)\b|Jupyter\.notebook|kernel\.execute/
const SENDS_DATA =
  /\b(requests|httpx|aiohttp|session|client)\s*\.\s*(post|put|patch|delete)\s*\(|\burlopen\s*\([^)\n]*data\s*=|\b(smtplib|paramiko|ftplib|socket)\b|\.upload_file\w*\(|\.put_object\(/
const TAKES_SECRET =
  /\bos\.environ\b(?!\s*(\[|\.get\b|\.setdefault\b))|\b(environ(\.get)?\s*[[(]|getenv\()\s*['"](\w*PROD\w*|\w*(SECRET|TOKEN|PASSWORD|PRIVATE|CREDENTIAL)\w*)['"]/

/** The generator of a client is a command, unless it is one by its name. */
function explainGenerator({ before = '', after, added }: WrittenChange): string | undefined {
  const had = new Set(readGenerators(before))
  const command = readGenerators(after ?? added ?? '').find(text => !had.has(text))
  return command === undefined ? undefined : `its generator would run ${command}`
}

function readGenerators(text: string): string[] {
  return [...text.matchAll(/\bgenerator\s+\w+\s*\{[^}]*?\bprovider\s*=\s*"((?:[^"\\]|\\.)*)"/g)]
    .map(([, command = '']) => command)
    .filter(command => /[\s/]/.test(command))
}

/** Texts that code gives to a shell: `execSync('…')`, `os.system("…")`; with the words that follow in a list. Options of the call are none of them. */
function findLiterals(code: string): string[] {
  return [...code.slice(0, 100_000).matchAll(LITERAL)].map(([, , words = '', list = '']) => {
    const more = [...list.matchAll(/(['"`])((?:(?!\1)[^\\\n]|\\.)*)\1/g)].map(([, , word = '']) => `'${word}'`)
    return [words.replace(/\$?\{[^}]*\}/g, '$VALUE').replace(/\\(.)/g, '$1'), ...more].join(' ')
  })
}

const LITERAL =
  /\b(?:execSync|execFileSync|execFile|spawnSync|spawn|execa|execaCommand|execaSync|(?<![.\w])exec|child_process['"]\s*\)\s*\.\s*exec|cp\.exec|os\.system|os\.popen|subprocess\.\w+|shell_exec|passthru|(?<![.\w])system|exec\.Command)\s*\(\s*\[?\s*f?(['"`])((?:(?!\1)[^\\\n]|\\.)*)\1(\s*,\s*\[[^\]]*\]|(?:\s*,\s*(['"`])(?:(?!\4)[^\\\n]|\\.)*\4)+)?/g

/** Packages from elsewhere than a registry, and what makes a package public. */
function explainPackage(change: WrittenChange): string | undefined {
  const [before, after] = [change.before, change.after].map(text => (text === undefined ? undefined : parseJson(text)))
  if (!isTable(after)) return explainSources(change)
  const was = listVersions(before)
  for (const [name, version] of listVersions(after))
    if (was.get(name) !== version && FOREIGN_VERSION.test(version)) return `${name} would come from ${version}`
  if (isTable(before) && before['private'] === true && after['private'] !== true) return 'it could be published'
  const registry = (table: unknown) => JSON.stringify(isTable(table) ? table['publishConfig'] : undefined)
  return isTable(before) && registry(before) !== registry(after) && registry(after) !== undefined
    ? 'it would be published elsewhere'
    : undefined
}

const FOREIGN_VERSION =
  /^(git[+:@]|https?:|github:|gitlab:|bitbucket:|gist:|file:(?!\.{0,2}\/?[\w])|npm:|[\w-]+\/[\w.-]+(#.*)?$)|\.t(ar\.)?gz$/

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listVersions(root: unknown): Map<string, string> {
  const found = new Map<string, string>()
  const visit = (value: unknown, name: string, depth: number): void => {
    if (typeof value === 'string') found.set(name, value)
    else if (isTable(value) && depth < 4) for (const [key, inner] of Object.entries(value)) visit(inner, key, depth + 1)
  }
  if (!isTable(root)) return found
  for (const [key, value] of Object.entries(root))
    if (/^((dev|peer|optional)?[dD]ependencies|overrides|resolutions)$/.test(key)) visit(value, key, 0)
  if (isTable(root['pnpm'])) visit(root['pnpm']['overrides'], 'overrides', 0)
  return found
}

function explainSources(change: WrittenChange): string | undefined {
  const line = findAdded(change).find(text => FOREIGN_SOURCE.test(text) && !OWN_SOURCE.test(text))
  return line === undefined ? undefined : `packages would come from elsewhere: ${line.trim().slice(0, 80)}`
}

/** Lines of a manifest that say where packages come from. */
const FOREIGN_SOURCE =
  /--(extra-)?index-url|--trusted-host|--find-links|\bgit\+|^[\w.[\]-]+\s*@\s*(https?|file):|^\s*(-e\s+)?(https?|git|ssh):\/\/|\bgit\s*[=:]\s*['"]|\bgithub:\s*['"]|^\s*\[(patch|source|registries|\[tool\.(uv\.index|poetry\.source|pdm\.source))|^\s*source\s*\(?['"]|\breplace\b.*=>\s*(?!\.{1,2}\/)|\b(url|index)\b\s*(=|\(|>)?\s*(uri\()?\s*['"]?https?:|<url>http|:\s*"(git\+|https?:|github:)/
const OWN_SOURCE =
  /rubygems\.org|pypi\.org|repo1?\.maven\.(apache\.)?org|plugins\.gradle\.org|maven\.google\.com|dl\.google\.com|registry\.npmjs\.org|crates\.io|"(homepage|url|bugs|repository|\$schema|author|license)"\s*:|^\s*(homepage|repository|documentation|url|issues|changelog|source)\s*=/i

function explainStatements(change: WrittenChange): string | undefined {
  const added = findAdded(change).join('\n').replace(/--.*$/gm, '')
  if (
    /\bdrop\s+(database|schema|owned|role|user)\b|\btruncate\b|\bdelete\s+from\s+[\w."]+\s*(;|$)|\bupdate\s+[\w."]+\s+set\b[^;]*(?<!\bwhere\b[^;]*);|\bsuperuser\b|\bgrant\s+all\b[^;]*\bto\s+public\b|\b(to|from)\s+program\b/i.test(
      added,
    )
  )
    return 'it throws data away, or opens them'
  return /\bdrop\s+table\b/i.test(added) && !/\bcreate\s+table\b/i.test(added) ? 'it throws a table away' : undefined
}
