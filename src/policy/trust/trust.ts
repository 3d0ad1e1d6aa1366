import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { RecordChange } from '../../base/accepted-file.ts'
import type { AppPaths } from '../../base/app-paths.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { lookUp } from '../../base/is-there.ts'
import { quoteForShell } from '../../base/words.ts'
import type { OpenSession, Request, Verdict } from '../../domain/session.ts'
import { filesToTrust, filesToTrustIn, type TrustCheckout, type TrustedFile } from './files.ts'
import type { Agreement } from './record.ts'
import type { TrustStatus } from './setting-sources.ts'
import type { SurfaceKind } from './surface.ts'

export { type LoadableSources, settingSourcesFor } from './setting-sources.ts'
export type { TrustStatus }

/** The files of a project that need trust, and whether a person has agreed to them as they are now. */
export async function trustStatus(paths: AppPaths, directory: string): Promise<TrustStatus> {
  const project = await resolveProject(directory)
  const all = await filesToTrust(paths, project)
  if (all.length === 0) return { project, state: 'nothing-to-trust', files: all, changed: [] }
  const { agreementFor } = await importRecord()
  const agreed = await agreementFor(paths, project)
  const { files, git } = splitGit(all, agreed)
  // What git runs is switched off by itself, so it does not take back what the person agreed to.
  if (files.length === 0)
    return { project, state: agreed && !git.git ? 'trusted' : 'untrusted', files: all, changed: [], ...git }
  if (!agreed) return { project, state: 'untrusted', files: all, changed: [], ...git }
  const changed = findChangedPaths(withoutGit(agreed.files, all), hashesByPath(files))
  const holds = agreed.hash === hashAll(files) && files.every(file => !file.refused)
  return {
    project,
    state: holds ? 'trusted' : 'changed',
    files: all,
    changed: holds ? [] : changed,
    since: agreed.since,
    ...git,
  }
}

/** The files apart from git's, and the settings of git that nobody has agreed to. With one of them in doubt, all are. */
function splitGit(
  all: TrustedFile[],
  agreed: Agreement | undefined,
): { files: TrustedFile[]; git: { git?: string[] } } {
  const ofGit = all.filter(({ kind }) => kind === 'git')
  const waits = ofGit.some(({ path, sha256 }) => agreed?.files[path] !== sha256)
  const names = [...new Set(ofGit.flatMap(({ contains }) => contains.map(({ kind }) => kind)))]
  return { files: all.filter(({ kind }) => kind !== 'git'), git: waits ? { git: names } : {} }
}

function withoutGit(agreed: Record<string, string>, all: TrustedFile[]): Record<string, string> {
  const ofGit = new Set(all.filter(({ kind }) => kind === 'git').map(({ path }) => path))
  return Object.fromEntries(Object.entries(agreed).filter(([path]) => !ofGit.has(path)))
}

/**
 * The files that an agent would load in a worktree of a project, and whether a person has agreed to each of them, with exactly this
 * content, for the project. Changes that another agent has committed there since are not agreed to. A file that the worktree lacks
 * needs no agreement.
 */
export async function trustStatusIn(
  paths: AppPaths,
  { project: path, ...checkout }: TrustCheckout & { project: string },
): Promise<TrustStatus> {
  const project = await resolveProject(path)
  const all = await filesToTrustIn(paths, { project, ...checkout })
  if (all.length === 0) return { project, state: 'nothing-to-trust', files: all, changed: [] }
  const { agreementFor } = await importRecord()
  const agreed = await agreementFor(paths, project)
  const { files, git } = splitGit(all, agreed)
  if (files.length === 0)
    return { project, state: agreed && !git.git ? 'trusted' : 'untrusted', files: all, changed: [], ...git }
  if (!agreed) return { project, state: 'untrusted', files: all, changed: [], ...git }
  const changed = files.filter(file => file.refused || agreed.files[file.path] !== file.sha256).map(file => file.path)
  return {
    project,
    state: changed.length === 0 ? 'trusted' : 'changed',
    files: all,
    changed,
    since: agreed.since,
    ...git,
  }
}

/** Whether the project's own settings may take effect. */
export async function isTrusted(paths: AppPaths, directory: string): Promise<boolean> {
  const { state } = await trustStatus(paths, directory)
  return state === 'trusted' || state === 'nothing-to-trust'
}

/** Records a person's agreement to the files that `shown` lists; throws if the files have changed since. */
export async function grantTrust(
  paths: AppPaths,
  shown: TrustStatus,
  { clock = systemClock, record }: { clock?: Clock; record?: RecordChange } = {},
): Promise<void> {
  const refused = shown.files.find(file => file.refused)
  if (refused?.refused) {
    throw new AppError('trust_refused', { path: refused.path, project: shown.project, ...refused.refused })
  }
  const now = await filesToTrust(paths, shown.project)
  const changed = findChangedPaths(hashesByPath(shown.files), hashesByPath(now))
  if (changed.length > 0) throw new AppError('trust_changed', { project: shown.project, files: changed.join(', ') })
  const agreement = {
    hash: hashAll(now.filter(({ kind }) => kind !== 'git')),
    since: clock.now(),
    files: hashesByPath(now),
  }
  const { keepAgreement } = await importRecord()
  await keepAgreement(paths, { project: shown.project, agreement }, record)
}

/** Removes an agreement, also for a project that is gone; returns false if there was none. */
export async function revokeTrust(paths: AppPaths, directory: string, record?: RecordChange): Promise<boolean> {
  const { keepAgreement } = await importRecord()
  const isGone = await realpath(directory).then(
    () => false,
    () => true,
  )
  if (isGone && (await keepAgreement(paths, { project: resolve(directory) }, record))) return true
  return keepAgreement(paths, { project: await resolveProject(directory) }, record)
}

/** A predicate for `loadConfig`: true for a project file only with exactly the content that was agreed to. */
export function trustedFile(status: TrustStatus): (file: { path: string; content: string }) => boolean {
  const agreed = new Set(status.files.filter(({ kind }) => OWN_KINDS.includes(kind)).map(file => file.sha256))
  return ({ content }) => status.state === 'trusted' && agreed.has(sha256(content))
}

/** Files that pcc itself reads. */
const OWN_KINDS: readonly SurfaceKind[] = ['pcc', 'rules', 'layers']

/** Imported on use: most projects have nothing to trust, and then the agreements are never read. */
function importRecord() {
  return import('./record.ts')
}

async function resolveProject(directory: string): Promise<string> {
  const info = lookUp(directory)
  if (!info) throw new AppError('project_missing', { path: directory })
  if (!info.isDirectory()) throw new AppError('project_not_directory', { path: directory })
  return realpath(directory)
}

/** The content hash of each file by its path. */
export function hashesByPath(files: TrustedFile[]): Record<string, string> {
  return Object.fromEntries(files.map(file => [file.path, file.sha256]))
}

/** One hash over the sorted paths and contents. */
export function hashAll(files: TrustedFile[]): string {
  return sha256(files.map(file => `${file.path}\0${file.sha256}\n`).join(''))
}

/** The paths whose hashes differ. */
export function findChangedPaths(before: Record<string, string>, now: Record<string, string>): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)])
  return [...names].filter(path => before[path] !== now[path]).sort()
}

function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(text).digest('hex')
}

/** Tools that load a file of `.claude`: its text, and with it the hooks and allow rules of its front matter. */
const LOADS_PROJECT_FILES = new Set(['Skill', 'SlashCommand', 'Agent', 'Task'])

interface SkillContext {
  paths: AppPaths
  project: string
  /** The worktree in which the agent works. */
  place?: TrustCheckout | undefined
  /** The setting sources that the session was started with. */
  settingSources: OpenSession['settingSources']
}

/**
 * Refuses skills and the project's own subagents if the name may mean a file of the project that nobody has agreed to: one that
 * came with a pull in the middle of the session, or that the agent wrote itself. The files are read anew each time. A session
 * that was started without the project's settings loads none of these files.
 */
export async function judgeSkill(
  { tool, input }: Pick<Request, 'tool' | 'input'>,
  { paths, project, place, settingSources }: SkillContext,
): Promise<Verdict | undefined> {
  if (!LOADS_PROJECT_FILES.has(tool) || !settingSources.includes('project')) return undefined
  const isAgent = tool === 'Agent' || tool === 'Task'
  if (isAgent && input['subagent_type'] === undefined) return undefined
  const { state, files } = await (place ? trustStatusIn(paths, { project, ...place }) : trustStatus(paths, project))
  if (state === 'trusted' || state === 'nothing-to-trust') return undefined
  const waiting = files.filter(({ kind, path }) => kind === 'prompts' && (!isAgent || /\.claude\/agents\//.test(path)))
  if (waiting.length === 0) return undefined
  const names = waiting.map(({ path }) => path).slice(0, 3)
  const more = waiting.length > names.length ? ` and ${waiting.length - names.length} more` : ''
  const reason = `${names.join(', ')}${more} can run code or widen rights, and nobody has agreed to that; go on without ${isAgent ? 'that subagent' : 'skills'}. To allow it, the person has to run pcc trust ${quoteForShell(project)}`
  return { verdict: 'deny', risk: 'HIGH', reason, confidence: 1, by: 'policy' }
}
