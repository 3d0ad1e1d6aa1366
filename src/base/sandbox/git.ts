import { existsSync, type FSWatcher, lstatSync, readlinkSync, rmSync, watch } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { AppError, messageOf } from '../errors.ts'
import { readRegularFileNow } from '../files.ts'
import { isInside } from '../is-inside.ts'
import { realPathIfAny } from '../is-there.ts'
import { runShortSync } from '../process/run-short.ts'
import { pathOutsideProjects } from '../search-path.ts'
import { noteProgram, openModulePrograms, PROGRAM_NAMES, type ProgramsAt } from './closed-programs.ts'
import { folderDigest, idOf, type KeptEntry, readEntries, saveEntries, settle } from './mount-sources.ts'
import type { SandboxSettings } from './settings.ts'

/** This file makes git read the settings of a repository, and with them programs to start, from somewhere else. */
const COMMONDIR = 'commondir'

/** Where an agent in a main checkout could create that file; undefined in a worktree, where it cannot. */
export function plantableFile(git: SandboxSettings['git']): string | undefined {
  return git && git.own === git.common ? join(git.common, COMMONDIR) : undefined
}

export interface GitGuard extends Disposable {
  /**
   * Guards these paths of the project and its repository too, which the sandbox is about to mount read-only; `closed` are folders of the project
   * and links that are guarded as well. They are noted in the sandbox's folder, for a daemon that adopts the agent.
   */
  begin(kept: readonly string[], folder: string, closed?: readonly string[]): void
  /** Goes on guarding what another daemon has noted below this folder, and finds what was replaced meanwhile. */
  goOn(scratch: string): void
  /** Looks for what is to be guarded now. */
  check(): void
  /** Aborts, with the reason, when the agent has created the file, or could write in one of those paths. */
  readonly breached: AbortSignal
}

/**
 * Removes a `commondir` that the agent creates. In a main checkout git writes beside its settings, so the folder itself cannot be made
 * read-only; and an empty `commondir`, which could be mounted read-only, would break every git outside. So the folder is watched while the
 * agent runs, and checked once more when the agent and its processes are gone.
 *
 * What is mounted read-only there is watched too: git outside replaces its settings by another file, and Linux then takes the mount away. The
 * agent is ended, and what it could have written meanwhile is put back.
 */
export function guardGit(
  git: SandboxSettings['git'],
  { reading, log, isAdopted = false }: { reading: boolean; log: (line: string) => void; isAdopted?: boolean },
): GitGuard {
  const breach = new AbortController()
  const file = reading ? undefined : plantableFile(git)
  const nothing = () => undefined
  if (reading || !git)
    return { breached: breach.signal, begin: nothing, goOn: nothing, check: nothing, [Symbol.dispose]: nothing }
  const isPersons = file !== undefined && exists(file) && !isAdopted
  const entries = new Map<string, KeptEntry>()
  const watchers = new Map<string, FSWatcher>()
  const failed = new Set<string>()
  // The person or the agent may remove a folder in any moment, and a watcher has nobody who would catch an error.
  const attempt = (path: string, work: () => void) => {
    try {
      work()
    } catch (error) {
      breach.abort(new Error(`${path} could not be read or put back, so that the agent may have changed it`))
      if (failed.has(path)) return
      failed.add(path)
      log(`${path} could not be put back as it was, which is tried again when the agent has ended: ${messageOf(error)}`)
    }
  }
  const removeCommondir = (path: string) => {
    if (!exists(path)) return
    breach.abort(new Error(`it has put a ${COMMONDIR} into ${git.common}, by which git outside would run what it says`))
    rmSync(path, { recursive: true, force: true })
  }
  const putBack = (entry: KeptEntry) => {
    const id = idOf(entry.path)
    if (id === entry.id && !entry.isOpen) return
    entry.isOpen = true
    breach.abort(
      new Error(
        `${entry.path} was replaced meanwhile, as git config and git push -u do, so that the agent could have written there: it goes on in a new sandbox`,
      ),
    )
    // Its folder is gone, and with it what could be written there.
    if (!exists(dirname(entry.path))) return
    settle(entry, git.common, log)
    entry.id = idOf(entry.path)
  }
  const check = () => {
    if (file !== undefined && !isPersons) attempt(file, () => removeCommondir(file))
    for (const entry of entries.values()) attempt(entry.path, () => putBack(entry))
  }
  const watchFolder = (folder: string) => {
    if (watchers.has(folder)) return
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => {
        if (name === COMMONDIR || name === null || entries.has(join(folder, name))) check()
      })
      // A folder that cannot be watched any more is still checked at the end.
      watcher.on('error', () => undefined)
      watchers.set(folder, watcher)
    } catch (error) {
      // In a main checkout git outside would run at once what an agent puts there.
      if (file !== undefined) throw error
      log(`${folder} is only checked when the agent has ended, because it cannot be watched: ${messageOf(error)}`)
    }
  }
  const add = (entry: KeptEntry) => {
    entries.set(entry.path, entry)
    watchFolder(dirname(entry.path))
  }
  if (file !== undefined) watchFolder(git.common)
  check()
  return {
    breached: breach.signal,
    check,
    begin(kept, folder, closed = []) {
      const [top, common] = [git.top, git.common].map(each => realPathIfAny(each) ?? each) as [string, string]
      for (const path of new Set([...kept, ...closed])) {
        // Of folders only those of a main checkout's repository can be replaced beside an agent, and put back.
        const stats = lstatSync(path, { throwIfNoEntry: false })
        const isFolder = stats?.isDirectory() === true
        // In a worktree nothing can be written beside the settings of the repository, so they stay closed when git replaces them.
        const isOpenable = isInside(path, common)
          ? !isFolder && dirname(path) !== common
          : !isFolder && isInside(path, top)
        const isInMain = file !== undefined && isInside(path, common)
        const isClosed = closed.includes(path)
        if (entries.has(path) || !(isOpenable || isInMain || isClosed)) continue
        const link = isClosed && stats?.isSymbolicLink() ? readlinkSync(path) : undefined
        const content = isFolder ? (isClosed && !isInMain ? folderDigest(path) : undefined) : readRegularFileNow(path)
        add({ path, id: idOf(path), isFolder, content, link, mode: stats?.mode, isOpen: false })
      }
      saveEntries(folder, [...entries.values()])
    },
    goOn(scratch) {
      for (const entry of readEntries(scratch)) if (exists(dirname(entry.path))) add(entry)
      check()
    },
    [Symbol.dispose]: () => {
      for (const watcher of watchers.values()) watcher.close()
      check()
    },
  }
}

function exists(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined
}

interface GitSettings {
  /** All files from which git reads settings, of the person and of the repository. */
  files: string[]
  /** What the sandbox shows of the person's. */
  shown: string[]
  /** What they name that git runs, in the checkout and in its submodules. */
  programs: ProgramsAt[]
}

/** The checkout, and where it keeps its settings if it is one of a repository. */
type Checkout = Pick<NonNullable<SandboxSettings['git']>, 'top'> & Partial<NonNullable<SandboxSettings['git']>>
type Env = Record<string, string | undefined>
export type ReadGitSettings = (checkout: Checkout, env: Env) => GitSettings

const MOST_KNOWN = 100

/**
 * Asks git for the files of its settings, and asks again only if one of the places has changed where git looks for them. Every command in a
 * sandbox, and every task of a process that is used for many, would otherwise wait for a git first.
 */
export function openGitSettings(): ReadGitSettings {
  const known = new Map<string, { places: string; found: GitSettings }>()
  const readModules = openModulePrograms()
  return (checkout, env) => {
    const found = read(checkout, env)
    const ofModules = checkout.common === undefined ? [] : readModules(checkout.common)
    return { ...found, programs: [...found.programs, ...ofModules] }
  }

  function read(checkout: Checkout, env: Env): GitSettings {
    const question = JSON.stringify([checkout, env['HOME'], env['XDG_CONFIG_HOME'], env['GIT_CONFIG_GLOBAL']])
    const places = describePlaces(checkout, env)
    const before = known.get(question)
    if (before && before.places === places) return before.found
    const { isFinal, ...found } = findGitSettings(checkout, env)
    known.delete(question)
    // What another file is included for, and which, only git knows. What was changed meanwhile is asked for the next time.
    if (!isFinal || places === undefined || places !== describePlaces(checkout, env)) return found
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(question, { places, found })
    return found
  }
}

/** All places where git looks for settings, as the file system knows them; undefined where a link or another repository may lead elsewhere. */
function describePlaces({ top, own, common }: Checkout, env: Env): string | undefined {
  const folders = [...new Set([own, common])].filter(folder => folder !== undefined)
  const names = ['config', 'config.worktree', COMMONDIR, 'gitdir']
  const places = [
    SYSTEM_FILE,
    ...personsFiles(env),
    join(top, '.git'),
    ...folders.flatMap(folder => names.map(name => join(folder, name))),
  ]
  const ids = places.map(identify)
  // Without a repository of its own it may be in one above it, or be a bare one.
  const above =
    own === undefined ? foldersAbove(top).flatMap(folder => [join(folder, '.git'), join(folder, 'HEAD')]) : []
  return ids.includes(undefined) || above.some(exists) ? undefined : JSON.stringify([places, ids])
}

/** The settings of the machine, where git has no other place for them. */
const SYSTEM_FILE = '/etc/gitconfig'

/** Where git looks for the settings of the person. */
function personsFiles({ HOME = '/', XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL }: Env): string[] {
  if (GIT_CONFIG_GLOBAL) return [GIT_CONFIG_GLOBAL]
  return [join(HOME, '.gitconfig'), join(XDG_CONFIG_HOME || join(HOME, '.config'), 'git/config')]
}

/** Where git looks for the settings of the repository; without one of its own it may be in one above. */
function repositoryFiles({ top, own, common }: Checkout): string[] {
  const folders =
    own === undefined || common === undefined ? foldersAbove(top).map(each => join(each, '.git')) : [common, own]
  return folders.flatMap(folder => ['config', 'config.worktree'].map(name => join(folder, name)))
}

/** Undefined for a link, and for what cannot be looked at. Of a folder, in which files come and go, only that it is the same. */
function identify(path: string): string | undefined {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true })
    if (!stats) return ''
    const { dev, ino, birthtimeNs, size, mtimeNs, ctimeNs } = stats
    if (stats.isDirectory()) return `${dev} ${ino} ${birthtimeNs}`
    return stats.isFile() ? `${dev} ${ino} ${birthtimeNs} ${size} ${mtimeNs} ${ctimeNs}` : undefined
  } catch {
    return undefined
  }
}

function foldersAbove(folder: string): string[] {
  return dirname(folder) === folder ? [folder] : [folder, ...foldersAbove(dirname(folder))]
}

/**
 * The files that settings include, and those that these include, on conditions that do not hold now too: an agent can make them hold. They
 * are read file by file, because in a checkout whose HEAD an agent has broken git finds no repository, and none of its settings.
 */
function listIncluded(
  roots: readonly string[],
  { top, at: programs }: { top: string; at: ProgramsAt },
  { HOME }: Env,
): { file: string; included: string }[] {
  const found: { file: string; included: string }[] = []
  const files = new Set(roots)
  for (const file of files) {
    const text = readRegularFileNow(file)?.toString('latin1') ?? ''
    // What these files themselves name is known.
    if (!(roots.includes(file) ? /include/i : NAMES_SOMETHING).test(text)) continue
    const { stdout } = runShortSync({
      command: 'git',
      args: [
        ...['config', '--file', file, '--no-includes', '--null', '--type=path'],
        ...['--get-regexp', `^(include(if\\..*)?\\.path|${PROGRAM_NAMES})$`],
      ],
      ...{ cwd: '/', env: { PATH: pathOutsideProjects(process.env['PATH'], [top]), HOME } },
      ...{ timeoutMs: 10_000, maxBytes: 8_000_000 },
    })
    for (const setting of stdout.split('\0')) {
      const path = /^include.*?\n(.+)$/is.exec(setting)?.[1]
      if (path === undefined) {
        noteProgram(setting, programs.named)
        continue
      }
      const included = resolve(dirname(file), path)
      found.push({ file, included })
      files.add(included)
    }
  }
  return found
}

/** Words of which one is in every file that includes another, or names something that git runs. */
const NAMES_SOMETHING =
  /include|path|templatedir|fsmonitor|command|proxy|askpass|editor|pager|clean|smudge|process|external|textconv|driver|cmd|program|helper|update|pack|alias|filter/i

/** The path of an included file where an agent writes, also behind a link. One that does not exist could be written by the agent. */
function pathInProject(
  { file, included }: { file: string; included: string },
  { top, own, common }: Checkout,
): string | undefined {
  const folder = realPathIfAny(dirname(included))
  const paths = [included, realPathIfAny(included), folder && join(folder, basename(included))]
  const folders = [top, own, common].filter(each => each !== undefined)
  const path = paths.find(each => each !== undefined && folders.some(writable => isInside(each, writable)))
  if (path !== undefined && !existsSync(included)) throw new AppError('sandbox_include', { file, included })
  return path
}

/** Whether a file of settings is in the project or in its repository, which may be above it. */
function isOwnFile(file: string, { top, own, common }: Checkout): boolean {
  const real = realPathIfAny(file) ?? file
  const folders = [top, own, common, ...foldersAbove(top).map(folder => join(folder, '.git'))]
  return folders.some(folder => folder !== undefined && isInside(real, realPathIfAny(folder) ?? folder))
}

/** Files that the person's settings of git name: without them an ignored file is committed, and `git blame` fails. */
const NAMED_FILE =
  /^(core\.(excludesfile|attributesfile|hookspath)|commit\.template|mailmap\.file|blame\.ignorerevsfile)\n(.+)$/i

/**
 * Finds the files of git's settings, with those that they include: who commits is often said in one of these. A file of the project may be
 * among them, and git starts programs named in it like any other. Reading settings starts nothing. `isFinal` if no file includes another.
 */
function findGitSettings(checkout: Checkout, env: Env): GitSettings & { isFinal: boolean } {
  const { top } = checkout
  const list = (scope: string[], global: Record<string, string | undefined>) =>
    runShortSync({
      command: 'git',
      args: ['config', ...scope, '--includes', '--list', '--show-scope', '--show-origin', '--null'],
      cwd: top,
      env: { PATH: pathOutsideProjects(process.env['PATH'], [top]), ...global },
      timeoutMs: 10_000,
      maxBytes: 8_000_000,
    })
  const { HOME, XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL } = env
  const all = list([], { HOME, XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL })
  // If git cannot read the person's settings, those of the repository count nevertheless.
  const { code, stdout } = all.code === 0 ? all : list(['--local'], { GIT_CONFIG_GLOBAL: '/dev/null' })
  if (code !== 0) return { files: [], shown: [], programs: [], isFinal: false } // settings that git cannot read are of no use to an agent either
  const files = new Set<string>()
  const shown = new Set<string>()
  // Without a repository of its own a folder may be part of a checkout, at whose top git runs what they name.
  const around = checkout.own === undefined ? foldersAbove(top).find(folder => exists(join(folder, '.git'))) : top
  const programs: ProgramsAt = { at: around ?? top, named: { hooks: [], commands: [] } }
  // Entries come in threes: a scope, an origin and a setting.
  const words = stdout.split('\0')
  for (let at = 0; at + 2 < words.length; at += 3) {
    const [scope, origin = '', setting = ''] = words.slice(at, at + 3)
    noteProgram(setting, programs.named)
    if (scope === 'system' || !origin.startsWith('file:')) continue
    const file = resolve(top, origin.slice('file:'.length))
    const isOfRepository = scope === 'local' || scope === 'worktree'
    // The sandbox shows these files: settings of the repository could name a file of the person, or the daemon's token.
    if (isOfRepository && !isOwnFile(file, checkout)) continue
    files.add(file)
    if (scope !== 'global') continue
    shown.add(file)
    const named = NAMED_FILE.exec(setting)?.[3]?.replace(/^~(?=\/)/, HOME ?? '~')
    if (named?.startsWith('/')) shown.add(named)
  }
  const read = [...new Set([...personsFiles(env), ...repositoryFiles(checkout), ...files])]
  const included = listIncluded(read, { top, at: programs }, env)
  for (const path of included.map(each => pathInProject(each, checkout))) if (path !== undefined) files.add(path)
  return { files: [...files], shown: [...shown], programs: [programs], isFinal: included.length === 0 }
}
