import type { Fence } from '../paths/fence.ts'
import { locatePath } from '../paths/fence.ts'
import { isIgnored, isLeftOver, isMadeAgain } from '../paths/judge-path.ts'

// What the text of a task does, as far as its plain words say so: the commands that it gives to a shell, and what its code does by itself.

export interface TaskText {
  text: string
  /**
   * How it is written: `code` with strings for commands, `values` of which each is a command, `tags` with attributes, `words` without quotes
   * (CMake).
   */
  is: 'code' | 'values' | 'tags' | 'words'
}

/** Strings of a text that are steps of the tool itself, as in aliases of mix. */
export function listSteps(text: string, tool: string): TaskLine[] {
  return [...text.matchAll(/"([^"\n]{1,200})"/g)].map(({ 1: step = '', index }) => ({
    text: `${tool} ${fill(step)}`,
    line: countLines(text, index),
  }))
}

export interface TaskLine {
  text: string
  /** Counted from the first line of the text. */
  line: number
}

/** The commands in a text, each as a line for a shell. */
export function listCommands({ text, is }: TaskText): TaskLine[] {
  const found = { code: findRun, values: findValues, tags: findTags, words: findWords }[is](text)
  return found.slice(0, MAX_COMMANDS).map(({ text: line, at }) => ({ text: line, line: countLines(text, at) }))
}

/** More commands than any task has. */
const MAX_COMMANDS = 100

interface Found {
  text: string
  at: number
}

function countLines(text: string, at: number): number {
  return text.slice(0, at).split('\n').length - 1
}

/** Calls that run a program or a line: `sh "…"`, `session.run("a", "b")`, `Command::new("a").args(["b"])`, `System.cmd("a", ["b"])`. */
const RUNS =
  /(?<![\w-])(?:sh|bash|system|spawn\w*|exec\w*|popen\w*|run\w*|sudo|local|call|check_call|check_output|cmd|command\w*|shell\w*|capture\w*|invoke|Exec)(?:::new|!)?\s{0,4}[(:=]?\s{0,20}[[({]{0,3}\s{0,20}(?=["'`]|f"|f'|r"|r')/gi

function findRun(source: string): Found[] {
  const text = source.replace(/\)\s*\.\s*args?\s*\(/g, ',')
  const calls = [...text.matchAll(RUNS)].flatMap(({ 0: head, index }) => {
    const words = readWords(text, index + head.length)
    return words.length === 0 ? [] : [{ text: joinWords(words), at: index }]
  })
  const marked = [...text.matchAll(/(?<!`)`([^`\n]{2,400})`(?!`)|%x[([{]([^)\]}\n]{2,400})[)\]}]/g)].map(
    ({ 1: ticked, 2: bracketed = '', index }) => ({ text: fill(ticked ?? bracketed), at: index }),
  )
  return [...calls, ...marked]
}

/** The words of a call: its strings, with a variable for everything else, up to its end or its first named argument. */
function readWords(text: string, from: number): string[] {
  const words: string[] = []
  let at = from
  const skip = /[\s,[\](){}]*/y
  const string = /[fFrRbB]{0,2}("""|'''|"|'|`)/y
  const other = /[\w.$@*&:]+(?:\([^()\n]*\)|\[[^\]\n]*\])*/y
  for (let count = 0; count < MAX_WORDS; count++) {
    skip.lastIndex = at
    const between = skip.exec(text)?.[0] ?? ''
    // Another statement, or the end of the call.
    if (words.length > 0 && (!between.includes(',') || /\)\s*\)?\s*\n/.test(between))) break
    at += between.length
    string.lastIndex = at
    const [opening, quote] = string.exec(text) ?? []
    if (opening !== undefined && quote !== undefined) {
      const start = at + opening.length
      let end = text.indexOf(quote, start)
      while (end > 0 && text[end - 1] === '\\') end = text.indexOf(quote, end + 1)
      if (end < 0) break
      words.push(fill(text.slice(start, end).replace(/\\(["'])/g, '$1')))
      at = end + quote.length
      continue
    }
    other.lastIndex = at
    const [value] = other.exec(text) ?? []
    if (value === undefined || /^\s*(=(?!=)|=>)/.test(text.slice(at + value.length, at + value.length + 6))) break
    if (/:$/.test(value) || /^(do|end|then|check|shell|cwd|env|stdout|stderr)$/.test(value)) break
    words.push('"$VALUE"')
    at += value.length
  }
  return words
}

/** More words than a command usually has. */
const MAX_WORDS = 60

/** One string is a whole line; several are words. */
function joinWords(words: readonly string[]): string {
  const [first = ''] = words
  if (words.length === 1) return first
  return words
    .map(word => (/^[\w./:=@%+,*-]+$|^"\$VALUE"$/.test(word) ? word : `'${word.replaceAll("'", '')}'`))
    .join(' ')
}

/** What a language fills into a string is a variable for the shell. */
function fill(text: string): string {
  return text.replace(/#\{[^{}\n]*\}|\$\{\{[^{}\n]*\}\}|\$\{[^{}\n]*\}|\{\{[^{}\n]*\}\}|\{[^{}\n]+\}/g, '$VALUE')
}

/** Keys whose values are no commands. */
const NO_COMMANDS =
  /^(desc|description|help|summary|name|title|label|comment|id|language|files|types|types_or|stages|exclude|rev|repo|deps|depends|dependencies|env|vars|sources|generates|outputs|inputs|dir|cwd|aliases|executor|cache|passenv|setenv|platform|extends|requires|preconditions|status|msg|prompt|silent|internal|ignore_error|method|run|interactive|envlist|version)$/i

function findValues(text: string): Found[] {
  const found: Found[] = []
  let [at, skipped] = [0, -1]
  for (const line of text.split('\n')) {
    const indent = /^\s*/.exec(line)?.[0].length ?? 0
    const [, key, value = ''] = /^\s*(?:-\s+)?["']?([\w.-]+)["']?\s*[:=]\s*(.*)$/.exec(line) ?? []
    if (skipped >= 0 && indent > skipped) {
      at += line.length + 1
      continue
    }
    skipped = -1
    if (key !== undefined && NO_COMMANDS.test(key) && indent > 0) {
      if (/^([|>[{].{0,2})?$/.test(value)) skipped = indent
    } else
      for (const one of splitValue(key === undefined ? line.replace(/^\s*-\s+/, '') : value))
        if (one !== '') found.push({ text: fill(one), at })
    at += line.length + 1
  }
  return found
}

/** The texts of a value: a plain one, or each string of a list or a table. */
function splitValue(value: string): string[] {
  const plain = value.trim()
  if (/^[[{]/.test(plain))
    return [...plain.matchAll(/(?:\b([\w-]+)"?\s*[:=]\s*)?(?:"((?:[^"\\]|\\.)*)"|'([^']*)')/g)].flatMap(
      ([, key, double, single]) =>
        key !== undefined && NO_COMMANDS.test(key) ? [] : [unquote(double ?? single ?? '')],
    )
  const [, double, single] = /^(?:"((?:[^"\\]|\\.)*)"|'([^']*)'),?$/.exec(plain) ?? []
  if (double !== undefined || single !== undefined) return [unquote(double ?? single ?? '')]
  return [/^[|>][+-]?$|^[\]}],?$/.test(plain) ? '' : plain]
}

function unquote(text: string): string {
  return text.replace(/\\(["\\/])/g, '$1')
}

function findTags(text: string): Found[] {
  const read = (value: string) =>
    fillTag(
      value
        .replaceAll('&quot;', '"')
        .replaceAll('&apos;', "'")
        .replaceAll('&lt;', '<')
        .replaceAll('&gt;', '>')
        .replaceAll('&amp;', '&'),
    )
  const found: Found[] = [...text.matchAll(/<\w*Exec\b[^>]*?\bCommand\s*=\s*(["'])(.*?)\1/gis)].map(
    ({ 2: line = '', index }) => ({ text: read(line), at: index }),
  )
  for (const { 2: program = '', 3: rest = '', index } of text.matchAll(
    /<exec\b[^>]*?\bexecutable\s*=\s*(["'])(.*?)\1[^>]*>(.{0,4000}?)<\/exec>/gis,
  )) {
    const words = [...rest.matchAll(/<arg\b[^>]*?\b(?:value|line)\s*=\s*(["'])(.*?)\1/gis)].map(
      ([, , word = '']) => word,
    )
    found.push({ text: read([program, ...words].join(' ')), at: index })
  }
  for (const { 2: path = '', index } of text.matchAll(
    /<(?:RemoveDir|Delete)\b[^>]*?\b(?:Directories|Files|dir|file)\s*=\s*(["'])(.*?)\1/gis,
  ))
    for (const one of path.split(';')) found.push({ text: `rm -rf ${read(one)}`, at: index })
  return found
}

/** The folder of the file itself, one that a build makes, or one that is not known. */
function fillTag(text: string): string {
  return text.replace(/[$@%][({]([^(){}\n]*)[)}]/g, (_, name: string) => {
    if (
      /^(MSBuild(Project|ThisFile)Directory|ProjectDir|basedir|CMAKE_(CURRENT_)?(SOURCE|LIST)_DIR|PROJECT_SOURCE_DIR)$/i.test(
        name,
      )
    )
      return '.'
    return /out|build|bin|obj|dist|target|intermediate/i.test(name) ? 'build' : '$VALUE'
  })
}

function findWords(text: string): Found[] {
  const found: Found[] = []
  for (const { 1: words = '', index } of text.matchAll(
    /\bCOMMAND\s+((?:(?!\b(?:COMMAND|DEPENDS|WORKING_DIRECTORY|COMMENT|VERBATIM|BYPRODUCTS|SOURCES|USES_TERMINAL|OUTPUT|MAIN_DEPENDENCY|JOB_POOL)\b)[\s\S]){1,2000})/g,
  )) {
    const line = fillTag(words.replace(/\$\{CMAKE_COMMAND\}/g, 'cmake'))
      .replace(/\s*\)\s*$/, '')
      .replace(/\s+/g, ' ')
      .replace(/\bcmake -E (rm|remove|remove_directory)\b( -[rRf]+)*/g, 'rm -rf')
      .replace(/\bcmake -E (env|time)\b/g, '$1')
      .replace(/\bcmake -E [a-z]\w*\b/g, 'echo')
      .trim()
    found.push({ text: line, at: index })
  }
  for (const { 1: paths = '', index } of text.matchAll(/\bfile\s*\(\s*REMOVE(?:_RECURSE)?\s+([^)]{1,2000})/gi))
    found.push({ text: `rm -rf ${fillTag(paths).replace(/\s+/g, ' ').trim()}`, at: index })
  return found
}

/** Code that empties a database or drops what is in it. */
const EMPTIES =
  /\b(drop_all|drop_tables?|dropTables?|drop_database|dropDatabase|drop_collection|dropSchema|delete_all|destroy_all|deleteMany|delete_many|flush_?all|flush_?db|truncate_(tables?|all))\b|\.\s*drop\s*\(\s*\)|(?<!\b_)\.\s*truncate\s*\((?!\s*(\d|length|str))|\b[Dd](rop|ROP)\s+([Tt]able|TABLE|[Dd]atabase|DATABASE|[Ss]chema|SCHEMA)\b|\b(TRUNCATE|truncate table)\s+\S|\bdelete\s+from\s+[\w."`]+\s*(["'`;)]|$)/im
/** Code that changes something on other machines, or sends a message. */
const REACHES =
  /\bNet::(SSH|SCP|SFTP)\b|\b(paramiko|asyncssh|smtplib|nodemailer|node-ssh)\b|\b(upload_(file|blob|from)\w*|uploadFile|put_object|PutObjectCommand|delete_objects?|DeleteObjects?Command|terminate_instances|send_?mail|deliver_(now|later)|create_?release)\b|\b(requests|httpx|axios|got|ky|HTTParty|Faraday|RestClient|HTTPoison)\s*\.\s*(post|put|patch|delete)\w*!?[\s(](?!\s*["'`](https?:\/\/)?(localhost|127\.0\.0\.1|\/))|\bNet::HTTP(\.|::)(post|put|delete|patch)\w*/i

interface Removal {
  fence: Fence
  cwd: string
}

/** What a task does that nobody should be surprised by: it removes what people write, empties a database, or changes something elsewhere. */
export function explainDeed({ text, is }: TaskText, where: Removal): { why: string; line: number } | undefined {
  const say = (why: string, at: number) => ({ why, line: countLines(text, at) })
  if (is === 'code') {
    const emptied = EMPTIES.exec(text)
    if (emptied) return say(`may lose data (${emptied[0].trim().slice(0, 40)})`, emptied.index)
    const far = REACHES.exec(text)
    if (far) return say(`reaches beyond the project (${far[0].trim().slice(0, 40)})`, far.index)
    for (const match of text.matchAll(REMOVES)) {
      const [before, rest = ''] = [match[1], match[2] ?? match[3] ?? match[4]]
      const lost = findLost(before === undefined ? rest : before, where)
      if (lost !== undefined) return say(`removes ${lost}`, match.index)
    }
  }
  for (const { text: line, line: place } of listCommands({ text, is })) {
    const [, paths] =
      /(?:^|[;&|(]\s*|\bsudo\s+)(?:npx\s+)?(?:rm|rimraf|del-cli|rmdir)\s+((?:[^;&|\n]){1,400})/.exec(line) ?? []
    const lost = paths
      ?.split(/\s+/)
      .find(path => path !== '' && !path.startsWith('-') && !isMade(path.replace(/^["']|["')]+$/g, ''), where))
    if (lost !== undefined) return { why: `removes ${lost}`, line: place }
  }
  return undefined
}

/** Calls that remove files: with what they are given, or on what they are called. */
const REMOVES =
  /\b([\w.]{1,60})\s*\.\s*unlink\s*\(|\b(?:rm_rf|rm_r|rm_f|rmtree|rmSync|rmdirSync|unlinkSync|rimraf(?:\.sync|Sync)?|emptyDir\w*|removeSync|remove_entry\w*|remove_dir_all|RemoveAll|deleteRecursively|deleteDirectory|remove_tree|deltree)\b!?\s*[( ]([^\n]{0,200})|\b(?:os|fs|fsp|promises|Files?|Dir|FileUtils|Deno|shutil)\s*\.\s*(?:remove\w*|unlink|rm|rmdir|delete\w*)!?\s*[( ]([^\n]{0,200})|(?:^|[\s{;])del(?:ete)?\s*\(\s*([^\n]{0,200})/gm

/** What is removed and is none that tools make again: a path in quotes, or else a name in the code. */
function findLost(given: string, where: Removal): string | undefined {
  const strings = [...given.matchAll(/(["'`])([^"'`\n]{1,120})\1/g)].map(([, , path = '']) => path)
  if (strings.length > 0) return strings.find(path => !isMade(path, where))
  const name = given.replace(/[^\w.].*$/s, '')
  return name === '' || NAME_OF_MADE.test(name) ? undefined : name
}

const NAME_OF_MADE =
  /build|dist|out|cache|te?mp|coverage|target|site|gen|scratch|work|bin|obj|log|artifact|report|egg|stale|old/i

/** Whether a path is one that tools make and make again, or one in a folder for that. */
function isMade(path: string, where: Removal): boolean {
  const plain = path.replace(/^\.\//, '').replace(/\/\*+$/, '')
  if (plain.startsWith('/tmp/')) return true
  if (/^\$|\.\.|^[/~]/.test(plain)) return /(^|\/)(dist|build|coverage|\.cache)$/.test(plain) && !/^[/~]/.test(plain)
  return (
    isLeftOver(plain) ||
    /(^|\/)(bin|obj|site|build|out|target|tmp|_site|\.\w+_cache|[\w.*-]+\.(log|tmp|pyc|o|gem|whl))$/.test(plain) ||
    isMadeAgain(plain, where) ||
    isIgnoredData(plain, where)
  )
}

/** Whether git ignores a path that is neither hidden nor a database: what people want to keep they commit. */
function isIgnoredData(path: string, { cwd, fence }: Removal): boolean {
  const place = locatePath(path, cwd, fence)
  if (place.where !== 'inside' || /(^|\/)\.|\.(db|sqlite\w*|key|pem)$|[*?[]/.test(place.relative)) return false
  return isIgnored(place.relative, fence)
}

/** How a file describes its tasks. */
export interface TaskForm {
  /** Lines with which the text of a task begins. One of the groups is its name. */
  begins: RegExp
  /** How the text of a task is written: code with strings for commands, values that are commands, or tags. */
  is: TaskText['is']
  /** The last line of a task, if that is not the one before the next line that is indented as little as its first. */
  ends?: RegExp
  /** The line with which the next one begins. */
  until?: RegExp
  /** Set if it is JSON, in which a key may stand anywhere. */
  json?: true
  /** The tool whose steps the strings of a task are. */
  steps?: string
}

/** A task in a file of the project. */
export interface Definition {
  name: string
  text: string
  file: string
  /** The number of its first line. */
  line: number
  form: TaskForm
}

/** A longer definition is searched as far as this. */
const MAX_TEXT = 20_000

/** The definitions in a text, each with its name. */
export function cutDefinitions(text: string, file: string, form: TaskForm): Definition[] {
  const keys = form.json ? readKeys(text) : undefined
  if (keys)
    return keys.map(([name, value]) => ({
      ...{
        name,
        file,
        form,
        text: JSON.stringify({ [name]: value }, null, 1)
          .slice(1, -1)
          .trim(),
      },
      line: text.slice(0, Math.max(0, text.indexOf(JSON.stringify(name)))).split('\n').length,
    }))
  const lines = text.split('\n')
  const found: Definition[] = []
  let [line, from] = [0, 0]
  for (const match of text.matchAll(form.begins)) {
    const name = match.slice(1).find(group => group !== undefined)
    for (let at = text.indexOf('\n', from); at >= 0 && at < match.index; at = text.indexOf('\n', from)) {
      line++
      from = at + 1
    }
    if (name !== undefined) found.push({ name, text: cutBlock(lines, line, form), file, line: line + 1, form })
    if (found.length >= MAX_FOUND) break
  }
  return found
}

/** Every key of a text in JSON with its value; `undefined` if it is none. */
function readKeys(text: string): [string, unknown][] | undefined {
  const found: [string, unknown][] = []
  const visit = (value: unknown, depth: number): undefined => {
    if (typeof value !== 'object' || value === null || depth > MAX_KEYS) return
    for (const [key, inner] of Object.entries(value)) {
      if (found.length < MAX_FOUND) found.push([key, inner])
      visit(inner, depth + 1)
    }
  }
  try {
    visit(JSON.parse(text), 0)
    return found
  } catch {
    return undefined // a text with comments is read line by line
  }
}

/** Tasks are no deeper than this. */
const MAX_KEYS = 4
/** More definitions than any file of tasks has. */
const MAX_FOUND = 400

/** The lines of a definition, with the decorators above it. */
export function cutBlock(
  lines: readonly string[],
  at: number,
  { ends, until }: Pick<TaskForm, 'ends' | 'until'>,
): string {
  const indent = (line: string) => /^[ \t]*/.exec(line)?.[0].length ?? 0
  const first = lines[at] ?? ''
  const block = [first]
  let size = first.length
  for (let next = at + 1; next < lines.length && size < MAX_TEXT; next++) {
    const line = lines[next] ?? ''
    const isOver =
      until?.test(line) ??
      ends?.test(block.at(-1) ?? '') ??
      (line.trim() !== '' && indent(line) <= indent(first) && !CLOSES.test(line))
    if (isOver) break
    block.push(line)
    size += line.length + 1
  }
  return block.join('\n').slice(0, MAX_TEXT)
}

const CLOSES = /^\s*([)\]}]|end\b|<\/)/
