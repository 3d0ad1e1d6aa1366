import { AppError } from '../base/errors.ts'
import { OPEN_STATES, type Task, type TaskState } from '../domain/task.ts'
import type { Store, Tx } from '../store/store.ts'

/** The task whose id is, or begins with, `ref`: with or without `t-`, in upper or lower case. */
export async function findTask(ref: string, { tasks }: Store, tx?: Tx): Promise<Task> {
  const word = ref.trim().toLowerCase()
  const id = word.startsWith('t-') ? word : `t-${word}`
  if (!/^t-[0-9a-f]{1,6}$/.test(id)) throw new AppError('task_not_there', { ref })
  const [first, ...others] = id.length === 8 ? [await tasks.get(id, tx)] : await tasks.beginning(id, tx)
  if (!first) throw new AppError('task_not_there', { ref })
  if (others.length === 0) return first
  const matches = [first, ...others].map(task => task && `${task.id} (${task.title})`).join(', ')
  throw new AppError('task_ambiguous', { ref, matches })
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
  const open = tasks.filter(({ state }) => (OPEN_STATES as readonly TaskState[]).includes(state))
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
