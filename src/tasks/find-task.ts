import { AppError } from '../base/errors.ts'
import { OPEN_STATES, type Task } from '../domain/task.ts'
import type { Store, Tx } from '../store/store.ts'

/** Where a task is looked for first; a reference of the form `project#name` says it itself. */
interface FindOptions {
  project?: string | undefined
  /** Tasks of other projects count as not there: whoever asks may not know of them. */
  only?: boolean | undefined
  tx?: Tx | undefined
}

/**
 * The task whose id is, or begins with, `ref`: with or without `t-`, in upper or lower case. Or the task that has this id in the file
 * from which it was imported: one of the project first, then of any other.
 */
export async function findTask(reference: string, store: Store, options: FindOptions = {}): Promise<Task> {
  const readings = readReference(reference, options.project)
  for (const reading of readings) {
    const found = await lookUpTask(reading, store, options)
    if (found) return found
  }
  throw new AppError('task_not_there', { ref: readings.at(-1)?.ref ?? reference })
}

interface Reading {
  project: string | undefined
  ref: string
  /** Whether the reference can be read in other ways too: then the beginning of an id means a task of this project only. */
  isOneOfSeveral: boolean
}

/** What a reference may mean: both the path of a project and the name of a task, such as `owner/name#7`, may have a `#` in it. */
function readReference(reference: string, project: string | undefined): Reading[] {
  const marks = reference.startsWith('/') ? [...reference.matchAll(/#/g)].map(({ index }) => index) : []
  if (marks.length === 0) return [{ project, ref: reference, isOneOfSeveral: false }]
  const isOneOfSeveral = marks.length > 1
  return marks.map(at => ({ project: reference.slice(0, at), ref: reference.slice(at + 1), isOneOfSeveral }))
}

async function lookUpTask(
  { project, ref, isOneOfSeveral }: Reading,
  { tasks }: Store,
  { project: asking, only = false, tx }: FindOptions,
): Promise<Task | undefined> {
  const isSeen = (task: Task) => !only || task.project === asking
  const word = ref.trim().toLowerCase()
  const id = word.startsWith('t-') ? word : `t-${word}`
  const exact = id.length === 8 ? await tasks.get(id, tx) : undefined
  if (exact) return isSeen(exact) ? exact : undefined
  const named = word === '' ? [] : (await tasks.named(ref.trim(), tx)).filter(isSeen)
  // A file that was imported as a copy gives its names to the newest tasks.
  const own = named.findLast(task => task.project === project)
  if (own) return own
  const isId = /^t-[0-9a-f]{1,5}$/.test(id)
  const beginning = isId ? (await tasks.beginning(id, tx)).filter(isSeen) : []
  const meant = isOneOfSeveral ? beginning.filter(task => task.project === project) : beginning
  const [first, ...others] = [...meant, ...named]
  if (!first || others.length === 0) return first
  throw new AppError('task_ambiguous', { ref, matches: nameTasks([first, ...others]) })
}

/** How many tasks an error names. */
const SHOWN = 8

/**
 * The task of a session that a person means: by a whole id or title, else by a beginning that matches only one task. Open tasks
 * are preferred to ended ones.
 */
export async function resolveTask(
  { ref, session }: { ref: string; session: string },
  store: Store,
  tx?: Tx,
): Promise<Task> {
  // With a whole id the other tasks, of which a queue may have a thousand, need not be read.
  const exact = await store.tasks.get(ref, tx)
  if (exact?.session_id === session) return exact
  const tasks = await store.tasks.list({ session }, tx)
  const open = tasks.filter(({ state }) => OPEN_STATES.includes(state))
  const word = ref.trim().toLowerCase()
  const matchers: ((task: Task) => boolean)[] = [
    ({ id }) => id === word || id === `t-${word}`,
    ({ title }) => title.toLowerCase() === word,
    ({ id, title }) => [id, id.slice(2), title.toLowerCase()].some(name => name.startsWith(word)),
  ]
  for (const candidates of word === '' ? [] : [open, tasks]) {
    for (const isMatch of matchers) {
      const [match, ...others] = candidates.filter(isMatch)
      if (!match) continue
      if (others.length === 0) return match
      throw new AppError('task_ambiguous', { ref, matches: nameTasks([match, ...others]) })
    }
  }
  const known = nameTasks(open.length > 0 ? open : tasks)
  throw new AppError('task_unknown', { session, ref, known: known || 'no task yet' })
}

/** Names the first few tasks, for an error. */
export function nameTasks(tasks: readonly Task[]): string {
  const names = tasks.slice(0, SHOWN).map(({ id, title }) => `${id} (${title})`)
  return [...names, ...(tasks.length > SHOWN ? [`${tasks.length - SHOWN} more`] : [])].join(', ')
}
