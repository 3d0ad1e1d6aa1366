import { closeSync, fstatSync, readFileSync } from 'node:fs'
import { link, open, realpath, rm, rmdir, stat } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { AppError, messageOf } from '../base/errors.ts'
import { openRegularFile } from '../base/files.ts'
import { secretId, shortId } from '../base/ids.ts'
import { openFolderBelow } from '../base/real-folder.ts'
import { DOCUMENTS, type DocumentKind, MAX_DOCUMENT } from '../domain/feature-phase.ts'
import type { ImportedTask } from '../domain/task-requests.ts'
import { readTasks } from './files/read-tasks.ts'
import { HAS_BOX } from './files/task-text.ts'

/** The project and the name of a feature, which determine where its files are. */
export interface FeatureLocation {
  project: string
  name: string
}

/** The directory of a feature, which the person edits and commits. */
export function featureDirectory(home: FeatureLocation): string {
  return join(home.project, featureFolder(home))
}

function featureFolder({ name }: FeatureLocation): string {
  return join('.perpetualcc', 'features', name)
}

export function documentPath(home: FeatureLocation, kind: DocumentKind): string {
  return join(featureDirectory(home), `${kind}.md`)
}

/** The spec or the plan as it is now; undefined if there is none. Throws `feature_file` if it cannot be used. */
export async function readDocument(home: FeatureLocation, kind: DocumentKind): Promise<string | undefined> {
  const path = documentPath(home, kind)
  const real = await realpath(path).catch(() => undefined)
  if (real === undefined) return undefined
  const refused = (problem: string) => new AppError('feature_file', { path, problem })
  // A link in a project could bring any file of the machine into a prompt.
  using folder = openInProject(home, relative(await realpath(home.project), dirname(real)), path)
  const file = openRegularFile(folder.at(basename(real)))
  if (file === undefined) throw refused('it is not a file')
  try {
    if (fstatSync(file).size > MAX_DOCUMENT * 4) throw refused(TOO_LONG)
    const text = readFileSync(file, 'utf8')
    if (text.length > MAX_DOCUMENT) throw refused(TOO_LONG)
    return text.trim() === '' ? undefined : text
  } finally {
    closeSync(file)
  }
}

const TOO_LONG = `it is longer than ${MAX_DOCUMENT.toLocaleString('en')} characters`

/** Opens a folder of the project and holds it: an agent may put a link in its place at any moment. */
function openInProject({ project }: FeatureLocation, folder: string, path: string, options: { make?: boolean } = {}) {
  let problem = 'it is outside the project'
  try {
    const opened = openFolderBelow(project, folder, options)
    if (opened) return opened
  } catch (error) {
    problem = messageOf(error)
  }
  throw new AppError('feature_file', { path, problem })
}

/** Writes a document where there is none. False if a person has written one meanwhile, which stays. */
export async function writeDocument(home: FeatureLocation, kind: DocumentKind, text: string): Promise<boolean> {
  const path = documentPath(home, kind)
  using folder = openInProject(home, featureFolder(home), path, { make: true })
  const aside = folder.at(`.${kind}.${secretId(6)}.tmp`)
  try {
    await using file = await open(aside, 'wx', 0o644)
    await file.writeFile(text)
    await file.sync()
    // The document appears complete or not at all, and replaces nothing: linking fails where a file exists.
    await link(aside, folder.at(`${kind}.md`))
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw new AppError('feature_file', { path, problem: messageOf(error) })
  } finally {
    await rm(aside, { force: true })
  }
}

/** Removes the spec and the plan of a feature, and its directory if nothing else is in it: other files are the person's. */
export async function removeDocuments(home: FeatureLocation): Promise<void> {
  const directory = featureDirectory(home)
  if (!(await stat(directory).catch(() => undefined))) return
  using folder = openInProject(home, featureFolder(home), directory)
  for (const kind of DOCUMENTS) await rm(folder.at(`${kind}.md`), { force: true })
  await rmdir(directory).catch(() => undefined)
}

/** The tasks of the check-list in a plan. Throws `no_plan` if it has none. */
export async function readPlanTasks(plan: string | undefined, home: FeatureLocation): Promise<ImportedTask[]> {
  const path = documentPath(home, 'plan')
  // A plan is prose with lists of all kinds: only its boxes are tasks.
  if (plan === undefined || !HAS_BOX.test(plan)) throw new AppError('no_plan', { name: home.name, path })
  return readTasks(plan, 'markdown', path)
}

/** How many tasks an agent may add to one feature: a person could not review a longer plan. */
export const MAX_DRAFTED_TASKS = 300

type Draft = readonly ImportedTask[]

/** The changed draft with the id of the task, or why the change was refused. */
export type DraftResult = { draft: ImportedTask[]; id: string; isNew: boolean } | { refused: string }

/** Adds a task to a draft. A task with the same title is the same task: an interrupted agent may start again. */
export function addToDraft(draft: Draft, { after = [], ...task }: Omit<ImportedTask, 'id'>): DraftResult {
  const same = draft.find(({ title }) => title === task.title)
  if (same?.id !== undefined) return { draft: [...draft], id: same.id, isNew: false }
  if (draft.length >= MAX_DRAFTED_TASKS)
    return {
      refused: `there are ${draft.length} tasks, and ${MAX_DRAFTED_TASKS} is the most: make them larger, do not add more`,
    }
  const blockers = after.map(ref => findId(ref, draft))
  if (blockers.includes(undefined))
    return { refused: describeUnknownTask(after[blockers.indexOf(undefined)] ?? '', draft) }
  const id = newId(draft)
  const edges = blockers.length > 0 ? { after: [...new Set(blockers.filter(blocker => blocker !== undefined))] } : {}
  return { draft: [...draft, { ...task, id, ...edges }], id, isNew: true }
}

/** Makes a task of a draft come after another one. */
export function linkInDraft(draft: Draft, edge: { task: string; after: string }): DraftResult {
  const [task, after] = [findId(edge.task, draft), findId(edge.after, draft)]
  if (task === undefined) return { refused: describeUnknownTask(edge.task, draft) }
  if (after === undefined) return { refused: describeUnknownTask(edge.after, draft) }
  if (dependsOn(after, task, draft))
    return { refused: `${task} would wait for itself: ${after} is it, or comes after it` }
  const linked = draft.map(drafted =>
    drafted.id === task ? { ...drafted, after: [...new Set([...(drafted.after ?? []), after])] } : drafted,
  )
  return { draft: linked, id: task, isNew: true }
}

/** Finds a task by its id or title: an agent that adds several tasks at once does not know their ids yet. */
function findId(ref: string, draft: Draft): string | undefined {
  return (draft.find(({ id }) => id === ref) ?? draft.find(({ title }) => title === ref))?.id
}

/** Whether a task is, or comes after, another one. */
function dependsOn(from: string, to: string, draft: Draft): boolean {
  const seen = new Set<string>()
  const waiting = [from]
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (id === to) return true
    if (seen.has(id)) continue
    seen.add(id)
    waiting.push(...(draft.find(task => task.id === id)?.after ?? []))
  }
  return false
}

function describeUnknownTask(ref: string, draft: Draft): string {
  const latest = draft.slice(-10).map(({ id, title }) => `${id} (${title})`)
  return `no task of this plan has the id or title ${JSON.stringify(ref.slice(0, 60))}; the last ones are: ${latest.join(', ') || 'none yet'}`
}

function newId(draft: Draft): string {
  for (;;) {
    const id = shortId('t')
    if (!draft.some(task => task.id === id)) return id
  }
}
