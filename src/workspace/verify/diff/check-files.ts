import type { HashedObjects } from '../../git/check-objects.ts'
import { git } from '../../git/git.ts'
import { hasOtherChecks, isPartlyChecks } from './check-parts.ts'
import {
  isCi,
  isDocument,
  isNamedTest,
  isScriptFile,
  isSnapshot,
  isTestFile,
  isTestSupport,
  languageOf,
  nameOf,
} from './file-kind.ts'

export interface CheckFilesRequest {
  /** The checkout, and the folder in it in which commands run. */
  top: string
  directory: string
  base: string
  head: string
  objects?: HashedObjects | undefined
  /** The commands of the gates. */
  commands: readonly string[]
}

export interface CheckFiles {
  /** Checks that the work changed or deleted; and files, also new ones, of which only a part is checks. */
  restored: string[]
  /** Scripts and settings of runners that the work added and that take the place of others. */
  removed: string[]
  /** Tests that the work added: they may need the new version of the restored files. */
  added: string[]
  /** Files of the program that hold tests, of which the work changed some: they have no earlier version of their own. */
  mixed: string[]
  /** Test files where the work began, those that the commands name first. */
  entries: string[]
}

/** Finds the tests and the scripts behind the gates that the work touched; undefined if git cannot say, or the work touched no file. */
export async function findCheckFiles(request: CheckFilesRequest): Promise<CheckFiles | undefined> {
  const { top, base, head, objects: env } = request
  const [listed, diff] = await Promise.all([
    git(top, ['ls-tree', '-r', '-z', '--name-only', base], { env }),
    git(top, ['diff', '--name-status', '-z', '--no-renames', '--no-ext-diff', base, head, '--'], { env }),
  ])
  if (!listed.ok || !diff.ok || diff.stdout === '') return undefined
  const files = listed.stdout.split('\0').filter(path => path !== '')
  const { named, words } = await findNamedFiles(request, files)
  const isCheck = (path: string) => named.has(path) || isCheckFile(path)
  const rows = diff.stdout.split('\0')
  const changed = rows.flatMap((path, at) => (at % 2 === 1 ? [{ path, status: rows[at - 1] ?? '' }] : []))
  const restored: string[] = []
  for (const { path, status } of changed) {
    if (isPartlyChecks(path) ? await hasOtherPart(request, path) : status !== 'A' && isCheck(path)) restored.push(path)
  }
  const fresh = changed.filter(({ status }) => status === 'A').map(({ path }) => path)
  const removed = fresh.filter(path => takesPlace(path, files) || (isScriptFile(path) && words.has(path)))
  return {
    restored,
    removed,
    added: fresh.filter(path => isAddedTest(path) && !removed.includes(path)),
    mixed: await findMixed(
      request,
      changed.filter(({ path, status }) => status !== 'A' && !isCheckFile(path)).map(({ path }) => path),
      words,
    ),
    entries: [...named, ...files].filter((path, at, all) => isEntry(path) && all.indexOf(path) === at),
  }
}

/** In Rust tests and program are in the same file, so only those in `tests/` have an earlier version of their own. */
function isCheckFile(path: string): boolean {
  const isTest = languageOf(path) === 'rust' ? /(^|\/)tests\//.test(path) : isTestFile(path)
  // Texts beside tests are what the tests expect, and a test file may have a name like a document ("docker.test").
  if (isTest || isNamedTest(path) || isTestSupport(path) || isSnapshot(path)) return true
  if (isDocument(path)) return false
  return isScriptFile(path) || isRunnerSettings(path) || isCi(path) || isPartlyChecks(path)
}

/** Whether a tool would read the added file in place of one of these, or include it (`GNUmakefile` hides `Makefile`). Other added scripts are the work itself. */
function takesPlace(path: string, files: readonly string[]): boolean {
  const name = nameOf(path)
  if (isRunnerSettings(path)) return true
  const same = SAME_TOOL.find(names => names.test(name))
  const isNear = (other: string) => name.endsWith('.mk') || folderOf(other) === folderOf(path)
  return same !== undefined && files.some(other => same.test(nameOf(other)) && isNear(other))
}

/** Names under which one tool looks for its file. */
const SAME_TOOL = [
  /^(GNU)?makefile$|\.mk$/i,
  /^\.?justfile$/i,
  /^taskfile(\.dist)?\.ya?ml$/i,
  /^rakefile(\.rb)?$/i,
  /^build\.gradle(\.kts)?$/,
]

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/') + 1)
}

function isAddedTest(path: string): boolean {
  return isEntry(path) || /(^|\/)(__tests__|tests?|specs?|e2e)\//.test(path)
}

const RUNNER_SETTINGS =
  /^(jest|vitest|karma|playwright|cypress|ava|wdio|mocha|nyc|c8|tap|web-test-runner)\.(config|conf|workspace|setup)\b|^\.(mocharc|nycrc|taprc|rspec|coveragerc)\b|^(conftest\.py|\.?pytest\.(ini|toml)|tox\.(ini|toml)|noxfile\.py|nose2?\.cfg|bunfig\.toml|phpunit(\.dist)?\.xml(\.dist)?|nextest\.toml)$/

/** Settings of a test runner, or of the tool that starts it. */
function isRunnerSettings(path: string): boolean {
  return RUNNER_SETTINGS.test(nameOf(path)) || /(^|\/)(\.npmrc|\.yarnrc(\.yml)?|\.cargo\/config(\.toml)?)$/.test(path)
}

function isEntry(path: string): boolean {
  return isTestFile(path, 'test(') || isNamedTest(path)
}

/** Finds files in which the work changed or removed a line of a test: Rust's own tests, and doctests where the commands run them. */
async function findMixed(
  { top, base, head, commands, objects: env }: CheckFilesRequest,
  changed: readonly string[],
  words: ReadonlySet<string>,
): Promise<string[]> {
  const all = [...words, ...commands.flatMap(wordsIn)]
  const runsDoctests = all.some(word => word.includes('doctest'))
  const mixed: string[] = []
  for (const path of changed) {
    const language = languageOf(path)
    const read = language === 'rust' ? rustTestLines : language === 'python' && runsDoctests ? doctestLines : undefined
    if (!read) continue
    const [before, after] = await Promise.all([base, head].map(at => git(top, ['show', `${at}:${path}`], { env })))
    const now = read(after?.ok ? after.stdout : '').values()
    // Each earlier line has to be there still, in the same order; more may stand between them.
    if (!read(before?.stdout ?? '').every(line => now.some(other => other === line))) mixed.push(path)
  }
  return mixed
}

/** Tests are at the end of a Rust file, by custom. What `#[cfg(test)]` says of a line (`mod tests;`) is no test. */
function rustTestLines(text: string): string[] {
  const lines = text.split('\n').map(line => line.trim())
  const at = lines.findIndex(
    (line, at) => isTestFile('a.rs', line) && !(line.includes('cfg') && /;$/.test(lines[at + 1] ?? '')),
  )
  return at < 0 ? [] : lines.slice(at).filter(line => line !== '' && !/^\}|^\/\//.test(line))
}

/** Examples and what they print, up to an empty line or the end of the text. */
function doctestLines(text: string): string[] {
  let isInside = false
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => {
      isInside = line.startsWith('>>>') || (isInside && line !== '' && !/^('''|""")/.test(line))
      return isInside
    })
}

/** How many scripts are followed, and from how many bytes. */
const MOST_FOLLOWED = 40
const MOST_TEXT = 200_000

/**
 * The files that the commands name, and that the scripts among them name: `make test` runs a Makefile, which runs `test.sh`. A
 * program that a script runs is what is checked, not a check, unless its name says otherwise. `words` are those of the scripts.
 */
async function findNamedFiles(
  { top, base, commands, objects: env }: CheckFilesRequest,
  files: readonly string[],
): Promise<{ named: Set<string>; words: Set<string> }> {
  const named = new Set<string>()
  const texts = [...commands]
  const implied = files.filter(path =>
    /^(GNU)?[Mm]akefile$|^[Jj]ustfile$|^Taskfile\.ya?ml$|^Rakefile$|^package\.json$/.test(path),
  )
  const follow = async (path: string) => {
    const { ok, stdout } = await git(top, ['show', `${base}:${path}`], { env })
    if (ok) texts.push(stdout.slice(0, MOST_TEXT))
  }
  for (const path of implied) await follow(path)
  const direct = new Set(commands.flatMap(wordsIn))
  for (let at = 0; at < texts.length && named.size < MOST_FOLLOWED; at += 1) {
    const words = new Set(wordsIn(texts[at] ?? ''))
    for (const path of files) {
      if (named.has(path) || !words.has(path)) continue
      const isChecking = isCheckFile(path) || CHECKING.test(nameOf(path)) || (direct.has(path) && !PROGRAM.test(path))
      if (!isChecking) continue
      named.add(path)
      if (isScriptFile(path) || !/\.\w+$/.test(path)) await follow(path)
    }
  }
  return { named, words: new Set(texts.slice(commands.length).flatMap(wordsIn)) }
}

function wordsIn(text: string): string[] {
  return text.split(/[\s"'`;&|()<>=,]+/).map(word => word.replace(/^(\.\/|[-@+]+(?=[\w./]))/, ''))
}

const CHECKING = /(check|test|spec|verify|validate|assert|lint|ci)/i
/** Where programs are that a command may run to try them. */
const PROGRAM = /^(src|lib|app|bin|cmd|pkg|internal|dist|build)\//

async function hasOtherPart({ top, base, head, objects: env }: CheckFilesRequest, path: string): Promise<boolean> {
  const [before, now] = await Promise.all([base, head].map(at => git(top, ['show', `${at}:${path}`], { env })))
  return hasOtherChecks(path, before?.ok ? before.stdout : '', now?.ok ? now.stdout : '')
}
