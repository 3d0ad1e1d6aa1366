import { lstat, readlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { readRegularFile } from '../../base/files.ts'
import { copyInside, openRealFolder, type PathBelow, removeInside } from '../../base/real-folder.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { Store } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import type { CommandCaps } from '../command/command-caps.ts'
import type { OpenCommandSandbox } from '../command/plan-sandbox.ts'
import { findGitFolder } from '../git/git-folder.ts'
import {
  copyDependencyFolder,
  type DependencyEntry,
  type DependencyFolder,
  findInstalledFolders,
  findUnknownFolders,
  readDependencyFolder,
  runSetupCommand,
} from './dependencies.ts'
import { type NotedDependencies, noteGated, readNote, writeNote } from './worktree-note.ts'

/** Where dependencies come from, and how they are installed. */
export interface DependencySource {
  project: string
  /** `worktrees.setup`. */
  setup: string | undefined
  setupMs: number
  caps?: CommandCaps | undefined
  env: Record<string, string | undefined>
  sandbox?: OpenCommandSandbox | undefined
  signal: AbortSignal
  /** Whether the work changes what is to be installed: a manifest or a lock file. */
  changesManifest(): Promise<boolean>
  sessions: Pick<Store['sessions'], 'list'>
}

/**
 * The session in the project itself while which something in an installed folder of the project was changed, by change times, which nobody can set
 * back: code that its agent ran may have written it, and every worktree gets a copy. Undefined if there is none; whoever installs the folder again
 * later changes all of it.
 */
export async function findDoubt(
  { top, directory }: Pick<Worktree, 'top' | 'directory'>,
  folder: string,
  { project, sessions }: Pick<DependencySource, 'project' | 'sessions'>,
): Promise<string | undefined> {
  const inside = relative(top, directory)
  // An agent may have worked in the whole of a repository of which this project is a folder.
  const folders = [project]
  for (let left = inside; left !== '' && left !== '.'; left = dirname(left)) folders.push(dirname(folders.at(-1) ?? ''))
  const listed = await Promise.all(folders.map(each => sessions.list({ project: each })))
  const inPlace = listed.flat().filter(({ options }) => !options.place)
  const installed = inPlace.length > 0 && (await readDependencyFolder(join(project, relative(inside, folder))))
  if (!installed) return undefined
  const times = installed.entries.map(({ changed, placed }) => Math.max(changed, placed))
  const isFrom = ({ created_at, ended_at }: SessionRow) =>
    times.some(at => at >= created_at && at <= (ended_at ?? Number.POSITIVE_INFINITY) + LEAVES_WITHIN_MS)
  return inPlace.find(isFrom)?.id
}

/** Processes of an agent may end a little after their session. */
const LEAVES_WITHIN_MS = 10_000

/** A finding about the dependencies of a worktree. `failed`: they could not be restored, so that no gate can be trusted. */
export interface DependencyReport {
  kind: 'mended' | 'unknown' | 'failed'
  text: string
  /** The folder of which nobody knows what is in it. */
  folder?: string
}

/**
 * Makes sure that gates run with the dependencies that were set up, and not with those that an agent changed: an edited test
 * runner passes everything. Only the change times of files are read, unless something was changed.
 */
export async function mendDependencies(worktree: Worktree, source: DependencySource): Promise<DependencyReport[]> {
  const { dependencies } = await readNote(worktree.top)
  const inside = relative(worktree.top, worktree.directory)
  const reports: DependencyReport[] = []
  let kept: NotedDependencies[] = []
  const anew: NotedDependencies[] = []
  for (const noted of dependencies) {
    if (!(await isReachable(worktree.top, noted.folder))) {
      reports.push(linkedReport(noted.folder))
      kept.push(noted)
      continue
    }
    const now = await readDependencyFolder(join(worktree.top, noted.folder))
    if (now) await dropCompiled(worktree.top, noted, now)
    if (now && now.latest <= noted.latest && now.names === noted.names) {
      kept.push(noted)
      continue
    }
    const copied = noted.copied && (await restoreFromProject({ worktree, inside, noted, now }, source))
    if (copied) reports.push(...copied)
    else anew.push(noted)
    const doubt = copied && (await findDoubt(worktree, noted.folder, source))
    if (copied) kept.push({ ...(await refreshNoted(worktree.top, noted)), ...(doubt && { doubt }) })
  }
  reports.push(...kept.flatMap(({ folder, doubt }) => (doubt === undefined ? [] : [doubtReport(folder, doubt)])))
  if (anew.some(({ isSubmodule }) => isSubmodule)) {
    // Their repositories are one folder, which the agent can write: all of them are made anew.
    anew.push(...kept.filter(({ isSubmodule }) => isSubmodule))
    kept = kept.filter(({ isSubmodule }) => !isSubmodule)
  }
  let hadFolders: Set<string> | undefined
  const setUpAnew = async (folders: readonly NotedDependencies[]) => {
    hadFolders ??= new Set(await findInstalledFolders(worktree.top))
    reports.push(await setUpFoldersAnew(worktree, folders, source))
  }
  if (anew.length > 0) await setUpAnew(anew)
  for (const { doubt: _, ...noted } of anew) kept.push(await refreshNoted(worktree.top, noted))
  const unknown = await findUnknownFolders(worktree.top, inside, kept)
  // The work installs something where nothing was installed before; without a manifest that says so, it is moved away with the rest.
  const isInstalling = unknown.length > 0 && (await source.changesManifest())
  if (isInstalling && source.setup !== undefined) {
    const made = unknown.map(folder => ({ folder, latest: 0, names: '', copied: false }))
    await setUpAnew(made)
    anew.push(...made)
    for (const noted of made) kept.push(await refreshNoted(worktree.top, noted))
  } else if (isInstalling) reports.push(...unknown.map(unknownFolderReport))
  // The set-up may have made more of them than before.
  for (const folder of anew.length > 0 ? await findInstalledFolders(worktree.top) : []) {
    if (hadFolders?.has(folder) || kept.some(noted => noted.folder === folder)) continue
    kept.push(await refreshNoted(worktree.top, { folder, latest: 0, names: '', copied: false }))
  }
  if (kept.length !== dependencies.length || kept.some((noted, index) => noted !== dependencies[index]))
    await writeNote(worktree.top, { dependencies: kept })
  return reports
}

interface ChangedDependencies {
  worktree: Worktree
  inside: string
  noted: NotedDependencies
  now: DependencyFolder | undefined
}

/**
 * Restores a folder from the project's own. Undefined if the project has none, or if the work changes what is installed and
 * the set-up command makes it.
 */
async function restoreFromProject(
  { worktree, inside, noted, now }: ChangedDependencies,
  source: DependencySource,
): Promise<DependencyReport[] | undefined> {
  const onlySame = await source.changesManifest()
  if (onlySame && source.setup !== undefined) return undefined
  const project = await readDependencyFolder(join(source.project, relative(inside, noted.folder)))
  if (!project) return undefined
  if (!now) {
    await removeInside(worktree.top, noted.folder)
    const from = { root: source.project, path: relative(inside, noted.folder) }
    const done = await copyDependencyFolder(noted.folder, { from, top: worktree.top, signal: source.signal })
    return [{ kind: done.isCopied ? 'mended' : 'failed', text: `${noted.folder} was gone: ${done.report}.` }]
  }
  const { mended, added } = await mirrorFolder({
    mine: { root: worktree.top, path: noted.folder },
    theirs: { root: source.project, path: relative(inside, noted.folder) },
    ...{ now, project, since: now.hidesWrites ? 0 : noted.latest, onlySame },
  })
  const reports = added.length > 0 ? [addedReport(noted.folder, added)] : []
  if (mended.length === 0) return reports
  const named = mended.slice(0, MOST_NAMED).map(path => `${noted.folder}/${path}`)
  const rest = mended.length > MOST_NAMED ? ` and ${mended.length - MOST_NAMED} more` : ''
  const why = onlySame ? 'in a version that the work does not change' : 'and the work changes no manifest'
  const text = `Installed files were changed, ${why}: ${named.join(', ')}${rest}. They are as in the project again.`
  return [...reports, { kind: 'mended', text }]
}

const MOST_NAMED = 5

function addedReport(folder: string, added: readonly string[]): DependencyReport {
  const names = [...new Set(added.map(packageOf))]
  const rest = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : ''
  const text =
    `The work changes a manifest, and its agent installed this in ${folder} itself: ${names.slice(0, MOST_NAMED).join(', ')}${rest}. ` +
    'Nobody can say what is in it. Name the command that makes it in worktrees.setup.'
  return { kind: 'unknown', text }
}

async function setUpFoldersAnew(
  worktree: Worktree,
  folders: readonly NotedDependencies[],
  { setup, setupMs, env, signal, sandbox, caps }: DependencySource,
): Promise<DependencyReport> {
  const names = folders.map(({ folder }) => folder).join(', ')
  if (setup === undefined) {
    const text = `${names}: changed since it was set up, and nothing is left to set it up with (worktrees.setup is not set).`
    return { kind: 'failed', text }
  }
  for (const { folder } of folders) await removeInside(worktree.top, folder)
  const own = folders.some(({ isSubmodule }) => isSubmodule) && (await findGitFolder(worktree.top))?.own
  if (own) await removeInside(own, 'modules')
  const began = Date.now()
  const { report, ok } = await runSetupCommand({
    command: setup,
    directory: worktree.directory,
    env,
    timeoutMs: setupMs,
    signal,
    sandbox,
    caps,
  })
  await noteGated(worktree.top, began)
  return { kind: ok ? 'mended' : 'failed', text: `${names}: changed since it was set up, and set up anew. ${report}` }
}

function unknownFolderReport(folder: string): DependencyReport {
  const text =
    `${folder} was made while the agent worked, so that nobody can say what is in it. ` +
    'Name the command that makes it in worktrees.setup.'
  return { kind: 'unknown', text, folder }
}

function doubtReport(folder: string, session: string): DependencyReport {
  const text =
    `${folder} is a copy from the project, where it was changed while session ${session} worked in the project itself, so that nobody can say what is ` +
    'in it. Look at it, and install it again there (npm ci and the like) for the tasks to come, or name the command that makes it in worktrees.setup.'
  return { kind: 'unknown', text }
}

async function dropCompiled(top: string, noted: NotedDependencies, now: DependencyFolder): Promise<void> {
  const late = now.compiled.filter(({ changed }) => now.hidesWrites || changed > noted.latest)
  await Promise.all(late.map(({ path }) => removeInside(top, join(noted.folder, path))))
}

/** Whether no parent of a path is a link: files behind a link are outside of the worktree. A missing parent is made again. */
async function isReachable(top: string, path: string): Promise<boolean> {
  await using parent = await openRealFolder(top, dirname(path), { make: true })
  return parent !== undefined
}

function linkedReport(folder: string): DependencyReport {
  const text = `${folder}: a folder above it is a link now, so it is left alone. Remove the link and restore the folder.`
  return { kind: 'failed', text }
}

async function refreshNoted(top: string, noted: NotedDependencies): Promise<NotedDependencies> {
  const state = await readDependencyFolder(join(top, noted.folder))
  return state ? { ...noted, latest: state.latest, names: state.names } : noted
}

export interface MirrorRequest {
  /** The folder in the worktree, and the project's. */
  mine: PathBelow
  theirs: PathBelow
  /** The current content of the worktree's folder. */
  now: DependencyFolder
  project: DependencyFolder
  /** A file that was changed later, or whose folder was, may be another one than was set up. */
  since: number
  /** Restores only packages that both have in the same version, since the work changes what is to be installed. */
  onlySame: boolean
}

/**
 * Restores the files of a dependency folder that were changed after the set-up from the project's. Returns their paths, and those that
 * stay because the work adds them.
 */
async function mirrorFolder({
  mine,
  theirs,
  now,
  project,
  since,
  onlySame,
}: MirrorRequest): Promise<{ mended: string[]; added: string[] }> {
  const both: [string, string] = [join(mine.root, mine.path), join(theirs.root, theirs.path)]
  const wanted = new Map(project.entries.filter(({ kind }) => kind !== 'odd').map(entry => [entry.path, entry]))
  const versions = new Map<string, Promise<boolean>>()
  const isSame = (path: string): Promise<boolean> => {
    const name = packageOf(path)
    const isSameVersion = versions.get(name) ?? hasSameVersion(...both, name)
    versions.set(name, isSameVersion)
    return isSameVersion
  }
  const mended: string[] = []
  const added: string[] = []
  for (const entry of now.entries.filter(({ changed, placed }) => Math.max(changed, placed) > since)) {
    const original = wanted.get(entry.path)
    if (original && (await isEqual(entry, original, both))) continue
    if (onlySame && !(original && (await isSame(entry.path)))) {
      added.push(entry.path)
      continue
    }
    await removeInside(mine.root, join(mine.path, entry.path))
    mended.push(entry.path)
  }
  const present = new Set(now.entries.map(({ path }) => path))
  const missing = onlySame ? [] : [...wanted.keys()].filter(path => !present.has(path))
  for (const path of [...mended, ...missing].filter(name => wanted.has(name))) {
    const to = { root: mine.root, path: join(mine.path, path) }
    await removeInside(to.root, to.path)
    await copyInside({ root: theirs.root, path: join(theirs.path, path) }, to)
  }
  return { mended: [...mended, ...missing], added }
}

/** The largest file that can be read at once. */
const MOST_BYTES = 2_000_000_000

async function isEqual(
  one: DependencyEntry,
  other: DependencyEntry,
  [mine, theirs]: [string, string],
): Promise<boolean> {
  if (one.kind !== other.kind) return false
  const [left, right] = [join(mine, one.path), join(theirs, other.path)]
  if (one.kind === 'link') return (await readlink(left)) === (await readlink(right))
  const [leftStats, rightStats] = [await lstat(left), await lstat(right)]
  if (leftStats.size !== rightStats.size || (leftStats.mode & 0o111) !== (rightStats.mode & 0o111)) return false
  return (await readRegularFile(left, MOST_BYTES)).equals(await readRegularFile(right, MOST_BYTES))
}

/** `a/b.js` belongs to `a`, `@s/a/b.js` to `@s/a`, `a/node_modules/c/d.js` to `a/node_modules/c`. Commands belong to none. */
function packageOf(path: string): string {
  const parts = path.split('/')
  const first = parts.lastIndexOf('node_modules', parts.length - 2) + 1
  const isScoped = parts[first]?.startsWith('@') ?? false
  return parts.slice(0, first + (isScoped ? 2 : 1)).join('/')
}

/** Whether both folders have a package in the same version. Commands in `.bin` belong to no package and count as the same. */
async function hasSameVersion(mine: string, theirs: string, name: string): Promise<boolean> {
  if (name === '.bin') return true
  const [one, other] = await Promise.all([readVersion(join(mine, name)), readVersion(join(theirs, name))])
  return one !== undefined && one === other
}

async function readVersion(folder: string): Promise<string | undefined> {
  try {
    const { version } = JSON.parse((await readRegularFile(join(folder, 'package.json'))).toString('utf8')) as {
      version?: unknown
    }
    return typeof version === 'string' ? version : undefined
  } catch {
    return undefined // no package.json, or one that cannot be read
  }
}
