import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { systemClock } from '../../../base/clock.ts'
import type { StoredEvent } from '../../../domain/event.ts'
import type { Task } from '../../../domain/task.ts'
import { ImportTasks, NoteOnTask, SayOfTask } from '../../../domain/tasks/requests.ts'
import { importTasks } from '../../../tasks/files/import-tasks.ts'
import { tryImport } from '../../../tasks/files/try-import.ts'
import { isHeld } from '../../../tasks/moves/move.ts'
import { subjectOf } from '../../../tasks/moves/write.ts'
import { checked } from '../../http/errors.ts'
import type { World } from '../../world.ts'
import { tasksOf } from '../tasks-of.ts'
import { real, refOf } from './task-routes.ts'

const Link = z.strictObject({ after: z.string().min(1) })
const Ends = z.object({ ref: z.string().min(1), blocker: z.string().min(1) })

/** What a person says of a task's state, what comes after what, and the log of a task. */
export function graphRoutes(app: FastifyInstance, world: World): void {
  const tasks = tasksOf(world)
  const { store } = world

  for (const [word, to] of Object.entries(WORDS)) {
    app.post(`/tasks/:ref/${word}`, async request => {
      const { reason } = checked(SayOfTask, request.body ?? {}, `POST /tasks/:ref/${word}`)
      const { view, taken } = await store.transaction(async tx => {
        const task = await tasks.find(refOf(request.params), tx)
        const atWork = (await store.tasks.list({ under: task.id }, tx)).filter(isHeld)
        const forced = await tasks.force(task, { to, reason }, tx)
        return { view: await tasks.view(forced, tx), taken: atWork }
      })
      await world.supervisor.runs.taken(taken)
      return { task: view }
    })
  }

  app.post('/tasks/:ref/deps', async request => {
    const { after } = checked(Link, request.body, 'POST /tasks/:ref/deps')
    return store.transaction(async tx => {
      const [task, blocker] = [await tasks.find(refOf(request.params), tx), await tasks.find(after, tx)]
      return { task: await tasks.view(await tasks.comeAfter(task.id, blocker.id, tx), tx) }
    })
  })

  app.delete('/tasks/:ref/deps/:blocker', async request => {
    const ends = checked(Ends, request.params, 'DELETE /tasks/:ref/deps/:blocker')
    return store.transaction(async tx => {
      const [task, blocker] = [await tasks.find(ends.ref, tx), await tasks.find(ends.blocker, tx)]
      return { task: await tasks.view(await tasks.comeBeforeOrBeside(task.id, blocker.id, tx), tx) }
    })
  })

  app.post('/tasks/import', { bodyLimit: MAX_IMPORT_BYTES }, async request => {
    const { project, tasks: imported, ...options } = checked(ImportTasks, request.body, 'POST /tasks/import')
    const where = { project: await real(project), copy: options.copy === true }
    const parts = { store, clock: systemClock }
    const added = options.dry_run
      ? await tryImport(imported, where, parts)
      : await store.transaction(tx => importTasks(imported, where, { ...parts, tx }))
    return { tasks: added.map(({ id, title, state }) => ({ id, title, state })) }
  })

  app.get('/tasks/:ref/log', async request => {
    const task = await tasks.find(refOf(request.params))
    return { task: task.id, events: await eventsOf(task, world) }
  })

  app.post('/tasks/:ref/log', async request => {
    const { text } = checked(NoteOnTask, request.body, 'POST /tasks/:ref/log')
    const task = await tasks.find(refOf(request.params))
    const body = { task_id: task.id, title: task.title, text }
    await store.append([{ actor: 'human', subject: subjectOf(task), kind: 'task.noted', body }])
    return { task: task.id, events: await eventsOf(task, world) }
  })
}

/** Twenty thousand tasks with a page of text each. */
const MAX_IMPORT_BYTES = 64_000_000

const WORDS = { done: 'done', fail: 'failed', reset: 'ready', cancel: 'cancelled' } as const

/** What is told of it by itself, and in the session whose queue it was in. */
async function eventsOf({ id, session_id }: Task, { store }: World): Promise<StoredEvent[]> {
  const own = await store.events({ subject: id })
  const queue = session_id === null ? [] : await store.events({ subject: session_id })
  const about = queue.filter(({ kind, body }) => kind.startsWith('task.') && 'task_id' in body && body.task_id === id)
  return [...own, ...about].sort((a, b) => a.id - b.id)
}
