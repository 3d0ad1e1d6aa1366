import type { TestContext } from 'node:test'
import type { Task, TaskState } from '../../src/domain/task.ts'
import type { Store } from '../../src/store/store.ts'
import { openTasks, type Tasks } from '../../src/tasks/tasks.ts'
import { DATABASES } from '../store/databases.ts'

export const SESSION = 's-000001'

/** The tasks of one session in a real store; every call is its own transaction. */
export interface Queue {
  store: Store
  tasks: Tasks
  /** Adds a task with this title and returns its row. */
  add(text: string, options?: { priority?: number; after?: string[]; session?: string }): Promise<Task>
  claim(session?: string): Promise<Task | undefined>
  move(
    task: Pick<Task, 'id'>,
    to: TaskState,
    more?: { reason?: string; result?: string; attempt?: number },
  ): Promise<Task>
  get(task: Pick<Task, 'id'>): Promise<Task>
  titles(session?: string): Promise<string[]>
}

export async function openQueue(t: TestContext, database = DATABASES[0]): Promise<Queue> {
  if (!database) throw new Error('no database')
  let now = 1_000
  const clock = { now: () => now++ }
  const store = await database.open(t, { clock })
  const tasks = openTasks({ store, clock })
  return {
    store,
    tasks,
    add: (text, { session = SESSION, ...options } = {}) =>
      store.transaction(tx => tasks.submit({ session_id: session, project: '/p', text, ...options }, tx)),
    claim: (session = SESSION) => store.transaction(tx => tasks.claimNext(session, tx)),
    move: ({ id }, to, more = {}) => store.transaction(tx => tasks.transition(id, { to, ...more }, tx)),
    async get({ id }) {
      const task = await store.tasks.get(id)
      if (!task) throw new Error(`no task ${id}`)
      return task
    },
    titles: async (session = SESSION) => (await tasks.queue(session)).map(({ title }) => title),
  }
}
