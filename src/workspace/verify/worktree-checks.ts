import { lstat, mkdir, readdir, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { decodeNames, encodeNames } from '../../base/names.ts'
import { openRealFolder, removeInside, setTimesToNow } from '../../base/real-folder.ts'
import { clearScratch } from '../../base/sandbox/home.ts'
import type { Finding } from '../../domain/evidence.ts'
import type { Worktree } from '../../domain/worktree.ts'
import type { HashedObjects } from '../git/check-objects.ts'
import { findUnseen, openCheckout } from '../git/checkout-state.ts'
import { git } from '../git/git.ts'
import { findGitFolder, type GitFolder } from '../git/git-folder.ts'
import {
  CACHES_IN_PACKAGES,
  hidesWrites,
  isToolData,
  readDependencyFolder,
  waitForNextTick,
} from '../worktrees/dependencies.ts'
import { type DependencyReport, mendDependencies } from '../worktrees/mend-dependencies.ts'
import { changesManifest, isCache } from '../worktrees/warm-files.ts'
import {
  asideOf,
  type Beside,
  noteGated,
  openLate,
  readGateMadeFiles,
  readNote,
  readSharedFiles,
} from '../worktrees/worktree-note.ts'
import { languageOf } from './diff/file-kind.ts'
import type { WorkStart } from './regression.ts'
import { type GateCheck, gateCheck, type VerifyDeps, type VerifyRequest } from './request.ts'
import { blockingFinding, restoreConverted } from './tree-watch.ts'

interface CleanContext extends Pick<VerifyDeps, 'env' | 'sandbox' | 'store'> {
  head: string | null
  /** Where git keeps its own files; undefined without git. */
  folder: GitFolder | undefined
  /** What the work holds, hashed. */
  objects: HashedObjects | undefined
  ignored: readonly string[]
}

/** The result of cleaning, and paths that were moved away: they come back when the gates are over. */
export interface CleanWorktree {
  checks: GateCheck[]
  aside: string[]
}

/**
 * Makes a worktree what a checkout of the commit would be, with the dependencies that pcc set up, before the gates run in it: changed
 * dependencies are restored, caches of checkers are removed, with which they would skip files that have problems, files that git changes as it
 * stores them are written as git would, and what the agent made besides is moved away: no commit contains it, and a planted package, a
 * setting or a `.env` would decide what the gates find.
 */
export async function cleanWorktree(request: VerifyRequest, context: CleanContext): Promise<CleanWorktree> {
  const { worktree } = request
  if (!worktree) return { checks: [], aside: [] }
  await removeCaches(worktree, context.ignored)
  const aside: string[] = []
  const reports: DependencyReport[] = []
  const moveAway = async (paths: readonly string[]) => {
    const { moved, stuck } = await moveAside(worktree, paths)
    aside.push(...moved)
    if (stuck !== undefined)
      reports.push({ kind: 'failed', text: `${stuck} was made by the agent and cannot be moved.` })
  }
  if (request.dependencies) reports.push(...(await cleanInstalled(request, context, { worktree, moveAway })))
  const { folder, objects } = context
  const note = await readNote(worktree.top)
  const left = reports.flatMap(report => report.folder ?? [])
  const unseen = folder && (await findUnseen(folder, [...note.dependencies.map(noted => noted.folder), ...left]))
  if (unseen) await moveAway(await collectLate(worktree.top, unseen.paths, await openLate(worktree.top, note)))
  if (folder && unseen) reports.push(...convertedReports(await restoreConverted(folder, { ...unseen, objects })))
  if (aside.length > 0) reports.push({ kind: 'mended', text: asideText(aside) })
  return { checks: reports.length === 0 ? [] : [dependencyGate(reports)], aside }
}

/**
 * Makes rights and times of a worktree what they would be in a checkout (`openCheckout`): rights before its work is committed, and times, by what is
 * returned, as soon as it is known which files are part of the work. What gates have built before stays as old as it is.
 */
export async function openWorktree({ top }: Worktree): Promise<() => Promise<void>> {
  await bringBack(top) // a daemon that died, or gates that were called off, have left it there
  await clearScratch(asideOf(top))
  const { ready, dependencies } = await readNote(top)
  const since = (await hidesWrites(top)) ? null : (ready ?? 0)
  const misdated = await openCheckout(top, { since, skip: dependencies.map(({ folder }) => folder) })
  return async () => {
    if (misdated.length === 0) return
    const listed = await git(top, ['ls-files', '-z'], { maxBytes: MOST_BYTES })
    const isPart = new Set(listed.stdout.split('\0'))
    // Where git cannot say, an older time than that of what was built is the greater harm.
    await setTimesToNow(top, listed.ok ? misdated.filter(path => isPart.has(path)) : misdated)
  }
}

/** A list of the files of a very large repository. */
const MOST_BYTES = 512_000_000

interface Cleaning {
  worktree: Worktree
  moveAway(paths: readonly string[]): Promise<void>
}

/** Restores the dependencies, and moves away other ignored files that the agent made. */
async function cleanInstalled(
  { dependencies, signal, gates: { caps } }: VerifyRequest,
  { head, env, ignored, sandbox, store: { sessions } }: CleanContext,
  { worktree, moveAway }: Cleaning,
): Promise<DependencyReport[]> {
  if (!dependencies) return []
  const { project, setup, setupMs } = dependencies
  const touchesManifest = async () => head !== null && changesManifest(worktree.top, worktree.base, head)
  const source = { project, setup, setupMs, env, sandbox, signal, caps, sessions, changesManifest: touchesManifest }
  await moveAway(await findLateToolData(worktree, async () => setup === undefined && (await touchesManifest())))
  const reports = await mendDependencies(worktree, source)
  const left = new Set(reports.flatMap(({ folder }) => folder ?? []))
  await moveAway(await findLateFiles(worktree, ignored, left))
  return reports
}

function dependencyGate(reports: readonly DependencyReport[]): GateCheck {
  const findings = reports.map(({ kind, text }): Finding => {
    if (kind === 'failed') return { code: 'dependencies.lost', weight: 'block', text }
    if (kind === 'unknown') return { code: 'dependencies.unknown', weight: 'review', text }
    return { code: 'dependencies.changed', weight: 'note', text }
  })
  const status = reports.some(({ kind }) => kind === 'failed') ? 'broken' : 'passed'
  return gateCheck({ gate: 'dependencies', kind: 'diff', status, findings })
}

function convertedReports(restored: string | string[]): DependencyReport[] {
  if (typeof restored === 'string') return [{ kind: 'failed', text: `Nobody can tell what git changes: ${restored}` }]
  const text = `Git changes files as it stores them. These are as a checkout of the commit has them now: ${nameSome(restored)}.`
  return restored.length === 0 ? [] : [{ kind: 'mended', text }]
}

function asideText(paths: readonly string[]): string {
  return `Files that were made since the set-up and are in no commit are not there for the gates: ${nameSome(paths)}.`
}

function nameSome(paths: readonly string[]): string {
  const rest = paths.length > MAX_NAMED_SOURCES ? ` and ${paths.length - MAX_NAMED_SOURCES} more` : ''
  return `${paths.slice(0, MAX_NAMED_SOURCES).join(', ')}${rest}`
}

/**
 * Data of tools in the installed folders (`node_modules/.prisma`) that was made or changed since the set-up. Where something is missing then, it
 * is restored like a package. What the work installs itself stays, and is reported.
 */
async function findLateToolData({ top }: Worktree, staysInstalled: () => Promise<boolean>): Promise<string[]> {
  const late: string[] = []
  for (const { folder, latest } of (await readNote(top)).dependencies) {
    const isFolder = (await lstat(join(top, folder)).catch(() => undefined))?.isDirectory()
    if (basename(folder) !== 'node_modules' || !isFolder) continue
    const names = (await readdir(join(top, folder))).filter(isToolData)
    const paths = names.map(name => join(folder, name))
    // What was moved there is found by `mendDependencies`.
    const found = await collectLate(top, paths, each => each.changed > latest || each.path.endsWith('.tsbuildinfo'))
    const stays = found.length > 0 && (await staysInstalled())
    late.push(...(stays ? found.filter(path => path.endsWith('.tsbuildinfo')) : found))
  }
  return late
}

/**
 * Ignored files and folders that are not as the set-up left them, and files that gates made. What gates that passed have made stays, so that
 * builds need not begin anew, except for packages, which no gate installs.
 */
async function findLateFiles(
  { top }: Worktree,
  listed: readonly string[],
  left: ReadonlySet<string>,
): Promise<string[]> {
  const note = await readNote(top)
  if (note.ready === null) return [] // it was set up before this was noted
  // Where change times do not tell, nobody knows what a file held then.
  const isLate = (await hidesWrites(top)) ? () => true : await openLate(top, note)
  const ours = [...note.dependencies.map(({ folder }) => folder), ...left]
  const isOurs = (path: string) => ours.some(known => path === known || path.startsWith(`${known}/`))
  const folders = new Set(listed.filter(path => path.endsWith('/')).map(path => path.slice(0, -1)))
  // Git also lists a folder within another one.
  const isWithin = (path: string): boolean => {
    const above = dirname(path)
    return above !== '.' && (folders.has(above) || isWithin(above))
  }
  const paths = [...listed.map(name => name.replace(/\/$/, '')), ...(await readGateMadeFiles(top))]
  const others = paths.filter(name => !isOurs(name) && !isWithin(name))
  return collectLate(top, others, entry => !isOurs(entry.path) && isLate(entry))
}

/** Those of these files, and of the files in these folders, that are late; a folder as a whole if all in it are. */
async function collectLate(
  top: string,
  paths: readonly string[],
  isLate: (entry: Beside) => boolean,
): Promise<string[]> {
  const late: string[] = []
  for (const path of paths) {
    const folder = await readDependencyFolder(join(top, path), { all: true })
    const files = folder ? [...folder.entries, ...folder.compiled, ...folder.private] : []
    const above = await placedAbove(top, folder ? path : dirname(path))
    const found = files.filter(entry =>
      isLate({ ...entry, path: join(path, entry.path), placed: Math.max(above, entry.placed) }),
    )
    if (files.length === 0) {
      const stats = await lstat(encodeNames(join(top, path))).catch(() => undefined)
      // Every use of an empty folder changes its change time.
      const changed = stats?.isDirectory() ? stats.birthtimeMs || stats.ctimeMs : stats?.ctimeMs
      const isOne = changed !== undefined && isLate({ path, changed, placed: above, inode: stats?.ino ?? 0 })
      // Nobody reads the times in a folder whose name is not UTF-8.
      if (stats && (isOne || !path.isWellFormed())) late.push(path)
    } else if (found.length === files.length) late.push(path)
    else late.push(...found.map(entry => join(path, entry.path)))
  }
  return late
}

/** The latest time at which a folder on the way to what is in this one may have been moved there, as `DependencyEntry.placed` has it. */
async function placedAbove(top: string, folder: string): Promise<number> {
  if (folder === '.') return 0
  const timeOf = async (path: string) =>
    (await lstat(encodeNames(join(top, path))).catch(() => undefined))?.ctimeMs ?? 0
  const times = await Promise.all([folder, dirname(folder)].map(timeOf))
  return Math.max(Math.min(...times), await placedAbove(top, dirname(folder)))
}

async function moveAside({ top }: Worktree, paths: readonly string[]): Promise<{ moved: string[]; stuck?: string }> {
  const moved: string[] = []
  if (paths.length > 0) await mkdir(asideOf(top), { recursive: true, mode: 0o700 })
  for (const path of paths) {
    if (!(await moveRest(top, asideOf(top), path))) return { moved, stuck: path }
    moved.push(path)
  }
  return { moved }
}

/** Moves a path to a folder in which parts of it may be already. */
async function moveRest(from: string, to: string, path: string): Promise<boolean> {
  if (await moveBetween(from, to, path)) return true
  await using folder = await openRealFolder(from, path)
  await using there = await openRealFolder(to, path)
  if (!folder || !there) return false
  for (const name of (await readdir(folder.at('.'), 'buffer')).map(decodeNames))
    if (!(await moveRest(from, to, join(path, name)))) return false
  return removeInside(from, path)
}

/** Called when the gates are over: what they made meanwhile stays, for the next gates only if they passed, and the agent has its other files again. */
export async function endGates(
  { top }: Worktree,
  { aside, began, isPassed }: { aside: readonly string[]; began: number; isPassed: boolean },
): Promise<void> {
  const now = isPassed ? await noteGated(top, began) : Date.now()
  if (aside.length === 0) return
  await waitForNextTick(now) // what comes back must not look as if a gate had made it
  await bringBack(top)
  await clearScratch(asideOf(top)) // an agent may have closed its folders to their owner
}

/** Moves what was set aside back to every place that is empty. */
async function bringBack(top: string, path = '.'): Promise<void> {
  await using folder = await openRealFolder(asideOf(top), path)
  if (!folder) return
  for (const name of (await readdir(folder.at('.'), 'buffer')).map(decodeNames)) {
    const each = join(path, name)
    if (!(await lstat(encodeNames(join(top, each))).catch(() => undefined))) await moveBetween(asideOf(top), top, each)
    else await bringBack(top, each)
  }
}

/** Moves a path from one folder to another without following a link; false if that is not possible. */
async function moveBetween(from: string, to: string, path: string): Promise<boolean> {
  await using source = await openRealFolder(from, dirname(path))
  await using target = await openRealFolder(to, dirname(path), { make: true })
  if (!source || !target) return false
  try {
    await rename(encodeNames(source.at(basename(path))), encodeNames(target.at(basename(path))))
    return true
  } catch {
    return false // it is gone, or something is in its place
  }
}

async function removeCaches({ top }: Worktree, listed: readonly string[]): Promise<void> {
  const ignored = listed.map(path => path.replace(/\/$/, ''))
  const caches = ignored.filter(isCache)
  const packages = ignored.filter(path => basename(path) === 'node_modules')
  const inPackages = packages.flatMap(path => CACHES_IN_PACKAGES.map(name => join(path, name)))
  // An agent may have linked node_modules to a folder elsewhere: what is in there is not the worktree's.
  await Promise.all([...caches, ...inPackages].map(path => removeInside(top, path)))
}

/**
 * Finds changes to the shared repository that make git show a wrong state. They are left to a person: an agent cannot be told to
 * undo them, and the person may have made them.
 */
export async function checkSharedRepository(worktree: Worktree, folder: GitFolder): Promise<Finding[]> {
  const { shared, bases } = await readNote(worktree.top)
  const findings: Finding[] = []
  const now = shared ? await readSharedFiles(folder.common, folder.own) : {}
  for (const [name, before] of Object.entries(shared ?? {})) {
    // Files that this list hides are checked one by one (`findIgnoredSources`).
    if (name === 'info/exclude' || now[name] === before) continue
    findings.push(
      blockingFinding('git.shared', `${name} of ${folder.common} was changed since the work began. ${OR_ALLOW}`),
    )
  }
  const isKnown = bases.length === 0 || bases.includes(worktree.base) || (await isTargetReset(worktree, bases[0] ?? ''))
  if (!isKnown) findings.push(blockingFinding('git.target', targetMovedText(worktree, bases[0] ?? '')))
  return findings
}

const OR_ALLOW =
  'Restore it or, if you changed it yourself, allow the finding in gates.allow; then have it checked again.'

/** Whether the person has reset the target to an older commit. */
async function isTargetReset({ top, base }: Worktree, made: string): Promise<boolean> {
  return (await git(top, ['merge-base', '--is-ancestor', base, made])).ok
}

function targetMovedText({ target, base }: Worktree, made: string): string {
  const moved = `${target} contains ${base.slice(0, 10)}, a commit of this work that pcc has not put there.`
  return `${moved} If it was not you: git update-ref refs/heads/${target} ${made.slice(0, 10)}. ${OR_ALLOW}`
}

/** Ignored paths of a checkout; a folder that is ignored as a whole ends in a slash. */
export async function listIgnored(top: string): Promise<string[]> {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z']
  return (await git(top, args)).stdout.split('\0').filter(path => path !== '')
}

/** Most files that a report names. */
const MAX_NAMED_SOURCES = 10

/**
 * Source files that git was told to ignore after the work began: the gates see them, but no commit contains them. Files that were
 * ignored before, and whole folders of generated files, are left alone.
 */
export async function findIgnoredSources(
  { top, base, objects }: Omit<WorkStart, 'directory'>,
  listed: readonly string[],
): Promise<Finding[]> {
  const shared = await findNewExcludes(top)
  const isSource = (path: string) => !path.endsWith('/') && languageOf(path) !== undefined
  const sources = shared ? listed : listed.filter(isSource)
  if (sources.length === 0) return []
  const rules = await git(top, ['check-ignore', '-v', '-z', '--stdin'], { input: sources.join('\0') })
  const fields = rules.stdout.split('\0')
  const linesAtBase = new Map<string, string[]>()
  const findings: Finding[] = []
  for (let at = 0; at + 3 < fields.length && findings.length < MAX_NAMED_SOURCES; at += 4) {
    const [list = '', , pattern = '', file = ''] = fields.slice(at, at + 4)
    if (!linesAtBase.has(list)) linesAtBase.set(list, await readLinesAt({ top, base, objects }, list))
    const isHidden = EXCLUDE.test(list)
      ? shared?.has(pattern)
      : isInTree(list) && isSource(file) && !linesAtBase.get(list)?.includes(pattern)
    if (!isHidden) continue
    const text = `${file} is ignored (${list}: ${pattern}), so no commit contains it: commit it, or remove it.`
    findings.push({ code: 'diff.ignored', weight: 'block', text, file })
  }
  return findings
}

/** The ignore list that all checkouts share and that is in no commit. */
const EXCLUDE = /(^|\/)info\/exclude$/

/** Patterns that were added to that list after the work began: an agent's git can write there, and hide any file. */
async function findNewExcludes(top: string): Promise<Set<string> | undefined> {
  const { shared } = await readNote(top)
  const folder = shared && (await findGitFolder(top))
  if (!shared || !folder) return undefined
  const now = (await readSharedFiles(folder.common, folder.own))['info/exclude'] ?? ''
  const before = shared['info/exclude'] ?? ''
  return now === before ? undefined : new Set(now.split(/\r?\n/)).difference(new Set(before.split(/\r?\n/)))
}

/** Whether an ignore list is part of the tree; the others are the person's own. */
function isInTree(list: string): boolean {
  return /(^|\/)\.gitignore$/.test(list) && !list.startsWith('/')
}

async function readLinesAt({ top, base, objects }: Omit<WorkStart, 'directory'>, list: string): Promise<string[]> {
  if (!isInTree(list)) return []
  const { stdout } = await git(top, ['cat-file', 'blob', `${base}:${list}`], { env: objects })
  return stdout.split(/\r?\n/)
}
