import { rm } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Place } from '../../../domain/workspace/place.ts'
import { type Dependencies, readNote, writeNote } from '../notes/place-note.ts'
import { setUp } from '../ready/set-up.ts'
import { copyOne } from './copy.ts'
import { type FolderState, folderState } from './folder-state.ts'
import { mirror } from './mirror.ts'
import { unknownFolders } from './note-dependencies.ts'

/** Where dependencies come from, and by what. */
export interface DependencySource {
  project: string
  /** `worktrees.setup`. */
  setup: string | undefined
  setupMs: number
  env: Record<string, string | undefined>
  signal: AbortSignal
  /** Whether the work changes what is to be installed: a manifest, or what locks its versions. */
  changesManifest(): Promise<boolean>
}

/** What was found out about the dependencies of a worktree. `failed`: they could not be put right, and no gate can be believed. */
export interface DependencyReport {
  kind: 'mended' | 'unknown' | 'failed'
  text: string
}

/**
 * Makes sure that gates run with the dependencies that were set up, and not with what an agent made of them: a runner that was
 * edited passes everything. One look at the change times of files; more only where something was changed.
 */
export async function mendDependencies(place: Place, source: DependencySource): Promise<DependencyReport[]> {
  const { dependencies } = await readNote(place.top)
  const inside = relative(place.top, place.directory)
  const reports: DependencyReport[] = []
  const kept: Dependencies[] = []
  const anew: Dependencies[] = []
  for (const noted of dependencies) {
    const now = await folderState(join(place.top, noted.folder))
    if (now) await dropCompiled(join(place.top, noted.folder), now, noted.latest)
    if (now && now.latest <= noted.latest && now.names === noted.names) {
      kept.push(noted)
      continue
    }
    const copied = noted.copied && (await putBack({ place, inside, noted, now }, source))
    if (copied) reports.push(...copied)
    else anew.push(noted)
    if (copied) kept.push(await renewed(place.top, noted))
  }
  if (anew.length > 0) reports.push(await setUpAnew(place, anew, source))
  for (const noted of anew) kept.push(await renewed(place.top, noted))
  if (kept.some((each, index) => each !== dependencies[index])) await writeNote(place.top, { dependencies: kept })
  const unknown = await unknownFolders(place.top, inside, kept)
  return [...reports, ...unknown.map(madeByAgent)]
}

interface Changed {
  place: Place
  inside: string
  noted: Dependencies
  now: FolderState | undefined
}

/** From the project's own; nothing where that is gone, or where the set-up command makes what the work wants now. */
async function putBack(
  { place, inside, noted, now }: Changed,
  source: DependencySource,
): Promise<DependencyReport[] | undefined> {
  const onlySame = await source.changesManifest()
  if (onlySame && source.setup !== undefined) return undefined
  const [mine, theirs] = [join(place.top, noted.folder), join(source.project, relative(inside, noted.folder))]
  const project = await folderState(theirs)
  if (!project) return undefined
  if (!now) {
    await rm(mine, { recursive: true, force: true })
    const done = await copyOne(noted.folder, { from: theirs, to: mine, signal: source.signal })
    return [{ kind: done.isCopied ? 'mended' : 'failed', text: `${noted.folder} was gone: ${done.said}.` }]
  }
  const mended = await mirror({ mine, theirs, now, project, since: noted.latest, onlySame })
  if (mended.length === 0) return []
  const some = mended.slice(0, MOST_TOLD).map(path => `${noted.folder}/${path}`)
  const rest = mended.length > MOST_TOLD ? ` and ${mended.length - MOST_TOLD} more` : ''
  const why = onlySame ? 'in a version that the work does not change' : 'and the work changes no manifest'
  const text = `Installed files were changed, ${why}: ${some.join(', ')}${rest}. They are as in the project again.`
  return [{ kind: 'mended', text }]
}

const MOST_TOLD = 5

async function setUpAnew(
  place: Place,
  folders: readonly Dependencies[],
  { setup, setupMs, env, signal }: DependencySource,
): Promise<DependencyReport> {
  const names = folders.map(({ folder }) => folder).join(', ')
  if (setup === undefined) {
    const text = `${names}: changed since it was set up, and nothing is left to set it up with (worktrees.setup is not set).`
    return { kind: 'failed', text }
  }
  for (const { folder } of folders) await rm(join(place.top, folder), { recursive: true, force: true })
  const { said, ok } = await setUp({ command: setup, directory: place.directory, env, timeoutMs: setupMs, signal })
  return { kind: ok ? 'mended' : 'failed', text: `${names}: changed since it was set up, and set up anew. ${said}` }
}

function madeByAgent(folder: string): DependencyReport {
  const text =
    `${folder} was made while the agent worked, so that nobody can say what is in it. ` +
    'Name the command that makes it in worktrees.setup.'
  return { kind: 'unknown', text }
}

async function dropCompiled(folder: string, { compiled }: FolderState, since: number): Promise<void> {
  const late = compiled.filter(({ changed }) => changed > since)
  await Promise.all(late.map(({ path }) => rm(join(folder, path), { force: true })))
}

async function renewed(top: string, noted: Dependencies): Promise<Dependencies> {
  const state = await folderState(join(top, noted.folder))
  return state ? { ...noted, latest: state.latest, names: state.names } : noted
}
