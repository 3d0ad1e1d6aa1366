import { AppError } from '../../base/errors.ts'
import type { Task } from '../../domain/task.ts'
import type { ImportedTask } from '../../domain/tasks/requests.ts'
import type { TxParts } from '../parts.ts'
import { submit } from '../submit.ts'
import { orderOf } from './order.ts'
import { type FileProblem, wrong } from './raw-tasks.ts'

/** Stores all tasks of a file in the caller's transaction, or none. */
export async function importTasks(
  tasks: readonly ImportedTask[],
  { project, copy }: { project: string; copy: boolean },
  parts: TxParts,
): Promise<Task[]> {
  refuseDuplicates(tasks)
  const ordered = orderOf(tasks)
  if ('circle' in ordered) {
    throw wrong('the import', [
      { line: ordered.line, problem: `tasks wait for one another: ${ordered.circle.join(' → ')}` },
    ])
  }
  await refuseUnknown(tasks, parts)
  const taken = await takenIds(tasks, parts)
  if (taken.size > 0 && !copy) throw new AppError('task_taken', { ids: shown([...taken]) })
  const ids = new Map<string, string>()
  const realOf = (name: string) => ids.get(name) ?? name
  const withParts = new Set(tasks.flatMap(({ parent }) => parent ?? []))
  const added: Task[] = []
  for (const { id, line: _, state = 'open', parent, after, description = '', max_retries, ...rest } of ordered.order) {
    const keeps = id !== undefined && OWN_ID.test(id) && !taken.has(id)
    const task = await submit(
      {
        ...rest,
        session_id: null,
        project,
        text: description,
        maxRetries: max_retries,
        after: after?.map(realOf),
        parent: parent === undefined ? undefined : realOf(parent),
        id: keeps ? id : undefined,
        // One with parts follows them.
        over: state === 'open' || (id !== undefined && withParts.has(id)) ? undefined : state,
        asItWas: true,
        actor: 'human',
      },
      parts,
    )
    if (id !== undefined) ids.set(id, task.id)
    added.push(task)
  }
  return added
}

const OWN_ID = /^t-[0-9a-f]{6}$/

/** Of two tasks with one id nobody could say which is meant. */
function refuseDuplicates(tasks: readonly ImportedTask[]): void {
  const names = new Set<string>()
  const problems: FileProblem[] = []
  for (const { id, line = 0 } of tasks) {
    if (id === undefined) continue
    if (names.has(id))
      problems.push({ line, problem: `${JSON.stringify(id.slice(0, 60))} is another one's id already` })
    names.add(id)
  }
  if (problems.length > 0) throw wrong('the import', problems)
}

/** What is neither in the file nor a task that is there. */
async function refuseUnknown(tasks: readonly ImportedTask[], { store, tx }: TxParts): Promise<void> {
  const names = new Set(tasks.flatMap(({ id }) => id ?? []))
  const problems: FileProblem[] = []
  for (const { line = 0, after = [], parent } of tasks) {
    for (const name of [...after, ...(parent === undefined ? [] : [parent])]) {
      if (names.has(name) || (OWN_ID.test(name) && (await store.tasks.get(name, tx)))) continue
      problems.push({ line, problem: `no task has the id ${JSON.stringify(name.slice(0, 60))}` })
    }
  }
  if (problems.length > 0) throw wrong('the import', problems)
}

async function takenIds(tasks: readonly ImportedTask[], { store, tx }: TxParts): Promise<Set<string>> {
  const taken = new Set<string>()
  for (const { id } of tasks) {
    if (id !== undefined && OWN_ID.test(id) && (await store.tasks.get(id, tx))) taken.add(id)
  }
  return taken
}

const SHOWN = 8

function shown(ids: string[]): string {
  return [...ids.slice(0, SHOWN), ...(ids.length > SHOWN ? [`${ids.length - SHOWN} more`] : [])].join(', ')
}
