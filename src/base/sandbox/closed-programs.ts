import {
  type Dirent,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { AppError } from '../errors.ts'
import { readRegularFileNow } from '../files.ts'
import { isInside } from '../is-inside.ts'
import { realPathIfAny } from '../is-there.ts'
import type { MovedFolder } from './bubblewrap.ts'
import { idOf, listSettings } from './mount-sources.ts'
import type { SandboxSettings } from './settings.ts'

// Git runs files of the project by itself: hooks, and programs that its settings name. In the person's own checkout their next `git commit` or
// `git status` runs them outside of the sandbox, and files that git ignores are in no diff. So an agent there only reads them.

/** What settings of git name that git runs, as it is written there. */
export interface NamedPrograms {
  /** Folders of hooks, and of templates, whose hooks git copies into new repositories. */
  hooks: string[]
  /** Lines for a shell. */
  commands: string[]
}

const FOLDER_NAMES = 'core\\.hookspath|init\\.templatedir'
const COMMAND_NAMES = [
  'core\\.(fsmonitor|sshcommand|gitproxy|askpass|editor|pager|alternaterefscommand)',
  ...['sequence\\.editor', 'pager\\..*', 'alias\\..*', 'interactive\\.difffilter', 'merge\\..*\\.driver'],
  ...['filter\\..*\\.(clean|smudge|process)', 'diff\\.(external|.*\\.(command|textconv))'],
  ...['(merge|diff|gui)tool\\..*\\.(cmd|path)', '(man|browser)\\..*\\.(cmd|path)', 'submodule\\..*\\.update'],
  ...['gpg\\.(.*\\.)?(program|defaultkeycommand)', 'credential\\.(.*\\.)?helper', 'hook\\..*\\.command'],
  ...['remote\\..*\\.(uploadpack|receivepack)', 'uploadpack\\.packobjectshook', 'trailer\\..*\\.(command|cmd)'],
  ...['tar\\..*\\.command', 'sendemail\\..*cmd', 'lfs\\.(customtransfer|extension)\\..*\\.(path|clean|smudge)'],
].join('|')

/** The names of these settings, for git and for us. */
export const PROGRAM_NAMES = `${FOLDER_NAMES}|${COMMAND_NAMES}`
const FOLDERS = new RegExp(`^(${FOLDER_NAMES})$`, 'i')
const COMMANDS = new RegExp(`^(${COMMAND_NAMES})$`, 'is')

/** Takes note of a setting, which is a name, a line break and a value, if it names something that git runs. */
export function noteProgram(setting: string, { hooks, commands }: NamedPrograms): void {
  const [, name = '', value = ''] = /^([^\n]+)\n(.+)$/s.exec(setting) ?? []
  if (FOLDERS.test(name)) hooks.push(value)
  // An alias that does not begin like this is a command of git.
  else if (COMMANDS.test(name) && (!/^(alias|submodule)\./i.test(name) || value.startsWith('!'))) commands.push(value)
}

export interface ClosedPrograms {
  /** Folders and files that are read-only. None is a link. */
  kept: string[]
  /** The links on the way to them that an agent could replace. Nothing can be mounted on a link, so they are watched. */
  links: string[]
  /**
   * Folders in those of hooks that git ignores and that an older husky writes anew with each installation: the sandbox has a copy, whose changes
   * disappear. A newer one begins with the setting, which it cannot write inside, and leaves the rest.
   */
  rewritten: string[]
}

interface Where extends Pick<SandboxSettings, 'git' | 'branches'> {
  programs: readonly ProgramsAt[]
  home: string
  /** What the agent may write. */
  writable: readonly string[]
}

/**
 * Finds what git runs where an agent may write. In a worktree of a task only what is named by its whole path counts: nobody but the agent
 * commits there, and its hooks are its own to change.
 */
export function findClosedPrograms({ git, branches, programs, home, writable }: Where): ClosedPrograms {
  const roots = [...new Set(writable.flatMap(path => realPathIfAny(path) ?? []))]
  const isWritten = (path: string) => roots.some(root => isInside(path, root))
  const isOfTask = git !== undefined && branches !== undefined
  const counts = (path: string) => path !== '' && (!isOfTask || /^[/~]/.test(path))
  // Where there is no repository nothing runs hooks, and no folder may be made that looks like one.
  const isRepository = (at: string) => git !== undefined || lstatSync(join(at, '.git'), { throwIfNoEntry: false })
  const counted = programs.filter(({ at }) => (isOfTask ? at === git.top : isRepository(at)))
  const folders = counted.flatMap(({ at, named }) =>
    named.hooks.filter(counts).flatMap(path => {
      const known = withHome(path, home)
      return known === undefined ? [] : [resolve(at, known)]
    }),
  )
  // What is in git's own folder of hooks may be links to scripts of the project.
  if (!isOfTask) folders.push(...counted.slice(0, 1).map(({ at }) => join(git?.common ?? join(at, '.git'), 'hooks')))
  const files = counted.flatMap(({ at, named }) => named.commands.flatMap(line => filesIn(line, at, home, counts)))
  const found: ClosedPrograms = { kept: [], links: [], rewritten: [] }
  for (const named of folders) {
    const { real: hooks, links } = lookAlong(named)
    found.links.push(...links.filter(isWritten))
    // The scripts of husky run those of the same name in the folder above.
    const above = dirname(hooks)
    const folder = basename(hooks) === '_' && !roots.includes(above) ? above : hooks
    const inside = entriesOf(folder)
    files.push(...inside.filter(entry => entry.isSymbolicLink()).map(({ name }) => join(folder, name)))
    if (!isWritten(folder)) continue
    if (roots.includes(folder)) {
      // What the person has made writable is meant to be.
      if (![git?.common, ...counted.map(({ at }) => at)].some(at => at !== undefined && isInside(folder, at))) continue
      throw new AppError('sandbox_hooks', { folder })
    }
    found.kept.push(folder)
    const inner = inside.filter(entry => entry.isDirectory()).map(({ name }) => join(folder, name))
    if (folder === hooks) found.rewritten.push(...inner.filter(isIgnoredByItself))
  }
  for (const named of files.filter(path => !INSTALLED.test(path))) {
    const { real, links } = lookAlong(named)
    if (!isFile(real) || INSTALLED.test(real)) continue
    found.links.push(...links.filter(isWritten))
    if (isWritten(real)) found.kept.push(real)
  }
  return { kept: [...new Set(found.kept)], links: [...new Set(found.links)], rewritten: [...new Set(found.rewritten)] }
}

/** Makes the folders that do not exist: what is not there cannot be mounted, and the agent could make it. */
export function makeClosedFolders({ kept }: ClosedPrograms): void {
  for (const path of kept) if (!lstatSync(path, { throwIfNoEntry: false })) mkdirSync(path, { recursive: true })
}

/** Installers replace these folders as a whole, and what is in them runs anyway when the person uses what is installed. */
const INSTALLED = /\/(node_modules|\.venv|venv|\.tox|\.pixi|\.direnv)\//

/** With `~` as git reads it; undefined for the home of somebody else and for a folder of git itself, which are in no project. */
function withHome(path: string, home: string): string | undefined {
  const [begin = ''] = path.split('/')
  if (begin === `~${userInfo().username}`) return `${homedir()}${path.slice(begin.length)}`
  if (begin === '~') return `${home}${path.slice(1)}`
  return path === '' || /^(~|%\(prefix\)$)/.test(begin) ? undefined : path
}

/** What programs read, and nobody runs. */
const DATA = /\.(json[c5]?|md|txt|toml|ya?ml|lock|xml|csv|html?|css|ini|cfg|conf|log)$/i

/** The files that a line for a shell may mean. What follows a substitution (`$(git rev-parse --show-toplevel)/x`) may begin at the top. */
function filesIn(line: string, top: string, home: string, counts: (path: string) => boolean): string[] {
  const whole = line.replace(/^!/, '').replaceAll(/\$\{?HOME\}?(?=\/)/g, home)
  const [first, ...rest] = whole.split(/[\s"'`\\;|&()<>=,{}[\]$]+/).filter(Boolean)
  const words = [whole, first ?? '', ...rest].map(word => withHome(word, home) ?? '')
  // A bare word is looked up in the PATH, and many words of an alias may have the name of some file.
  const isPath = (word: string, at: number) => /[./]/.test(word) || (at > 1 && !line.startsWith('!'))
  const named = words.filter((word, at) => counts(word) && isPath(word, at) && !DATA.test(word))
  return named.flatMap(word => [resolve(top, word), ...(isAbsolute(word) ? [join(top, word)] : [])]).filter(isFile)
}

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true
  } catch {
    return false
  }
}

const MOST_LINKS = 40

/** Where a path leads, also where nothing is yet, and the links on the way. */
function lookAlong(path: string): { real: string; links: string[] } {
  const links: string[] = []
  let names = path.split('/').filter(Boolean)
  let at = '/'
  while (names.length > 0) {
    const [name = '', ...rest] = names
    const next = join(at, name)
    const isLink = statsOf(next)?.isSymbolicLink() === true && links.length < MOST_LINKS
    if (isLink) links.push(next)
    const target = isLink ? resolve(at, readlinkSync(next)) : undefined
    names = target === undefined ? rest : [...target.split('/').filter(Boolean), ...rest]
    at = target === undefined ? next : '/'
  }
  return { real: at, links }
}

function statsOf(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined // a file is in the way, or a folder is closed
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return [] // it is not there, or no folder
  }
}

/** Whether the folder itself says that git ignores all of it, as husky's does. */
function isIgnoredByItself(folder: string): boolean {
  return readRegularFileNow(join(folder, '.gitignore'), 100, { follow: false })?.toString().trim() === '*'
}

const MOST_COPIED = 100
const LARGEST_COPIED = 1_000_000

/** Copies of these folders in a folder of ours. One that holds more than a few small files has none, and stays read-only. */
export function copyRewritten({ rewritten }: ClosedPrograms, scratch: string): MovedFolder[] {
  return rewritten.flatMap(to => {
    const entries = readdirSync(to, { withFileTypes: true })
    if (entries.length > MOST_COPIED || !entries.every(entry => entry.isFile())) return []
    const from = mkdtempSync(join(scratch, 'hooks-'))
    for (const { name } of entries) {
      const content = readRegularFileNow(join(to, name), LARGEST_COPIED, { follow: false })
      if (content === undefined) return []
      writeFileSync(join(from, name), content, { mode: (statsOf(join(to, name))?.mode ?? 0o755) & 0o777 })
    }
    return [{ from, to }]
  })
}

const MOST_KNOWN = 500
const DEEPEST = 8

/** What settings name, and the top of the checkout in which they count. */
export interface ProgramsAt {
  at: string
  named: NamedPrograms
}

/** Reads what the settings of submodules name. A file is read again only after it has changed: no agent writes these. */
export function openModulePrograms(): (common: string) => ProgramsAt[] {
  const known = new Map<string, { id: string; settings: string[] }>()
  const settingsIn = (file: string): string[] => {
    const stats = statsOf(file)
    if (!stats?.isFile()) return []
    const id = `${idOf(file)} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`
    const before = known.get(file)
    if (before?.id === id) return before.settings
    const settings = listSettings(file) ?? []
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(file, { id, settings })
    return settings
  }
  return common =>
    modulesIn(join(common, 'modules')).flatMap(folder => {
      const settings = ['config', 'config.worktree'].flatMap(name => settingsIn(join(folder, name)))
      const tree = settings.findLast(setting => setting.startsWith('core.worktree\n'))?.slice('core.worktree\n'.length)
      const named: NamedPrograms = { hooks: [], commands: [] }
      for (const setting of settings) noteProgram(setting, named)
      return tree === undefined ? [] : [{ at: resolve(folder, tree), named }]
    })
}

/** The repositories of submodules. A name may have slashes in it, and a submodule keeps those of its own in its repository. */
function modulesIn(folder: string, depth = 0): string[] {
  if (depth > DEEPEST) return []
  const inside = entriesOf(folder).filter(entry => entry.isDirectory())
  return inside.flatMap(({ name }) => {
    const inner = join(folder, name)
    const isOne = statsOf(join(inner, 'config'))?.isFile()
    return isOne ? [inner, ...modulesIn(join(inner, 'modules'), depth + 1)] : modulesIn(inner, depth + 1)
  })
}
