import type { TestContext } from 'node:test'
import type { Task } from '../../src/domain/task.ts'
import type { UpdateTask } from '../../src/domain/task-requests.ts'
import type { Store } from '../../src/store/store.ts'
import type { NewTaskRequest } from '../../src/tasks/submit.ts'
import { openTasks, type Tasks } from '../../src/tasks/tasks.ts'
import type { Move } from '../../src/tasks/transition.ts'
import type { ForcedState } from '../../src/tasks/update.ts'
import { DATABASES } from '../store/databases.ts'

type Named = Pick<Task, 'id'>

/** The tasks of one project in a real store; every call is its own transaction. */
export interface Graph {
  store: Store
  tasks: Tasks
  add(title: string, options?: Partial<NewTaskRequest>): Promise<Task>
  claim(run?: string, project?: string): Promise<Task | undefined>
  move(task: Named, move: Move): Promise<Task>
  say(task: Named, said: ForcedState): Promise<Task>
  after(task: Named, blocker: Named): Promise<Task>
  notAfter(task: Named, blocker: Named): Promise<Task>
  update(task: Named, changes: UpdateTask): Promise<Task>
  remove(task: Named, cascade?: boolean): Promise<Task[]>
  crash(run: string): Promise<Task[]>
  get(task: Named): Promise<Task>
  /** Titles and states, in the order of submission. */
  states(project?: string): Promise<Record<string, string>>
}

const PROJECT = '/p'

export async function openGraph(t: TestContext, database = DATABASES[0]): Promise<Graph> {
  if (!database) throw new Error('no database')
  let now = 1_000
  const clock = { now: () => now++ }
  const store = await database.open(t, { clock })
  const tasks = openTasks({ store, clock })
  const get = async ({ id }: Named) => {
    const task = await store.tasks.get(id)
    if (!task) throw new Error(`no task ${id}`)
    return task
  }
  return {
    store,
    tasks,
    add: (title, options = {}) =>
      store.transaction(tx => tasks.submit({ session_id: null, project: PROJECT, text: '', title, ...options }, tx)),
    claim: (run = 'r-1', project = PROJECT) =>
      store.transaction(tx => tasks.claimReady({ scope: { project }, run }, tx)),
    move: ({ id }, move) => store.transaction(tx => tasks.transition(id, move, tx)),
    say: async (task, said) => store.transaction(async tx => tasks.force(await tasks.find(task.id, tx), said, tx)),
    after: (task, blocker) => store.transaction(tx => tasks.addDependency(task.id, blocker.id, tx)),
    notAfter: (task, blocker) => store.transaction(tx => tasks.removeDependency(task.id, blocker.id, tx)),
    update: (task, changes) => store.transaction(async tx => tasks.update(await tasks.find(task.id, tx), changes, tx)),
    remove: (task, cascade = false) =>
      store.transaction(async tx => tasks.remove(await tasks.find(task.id, tx), { cascade }, tx)),
    crash: run => store.transaction(tx => tasks.releaseAll({ run }, 'its daemon died', tx)),
    get,
    async states(project = PROJECT) {
      const all = await store.tasks.list({ project })
      return Object.fromEntries(all.map(({ title, state }) => [title, state]))
    },
  }
}
