import type { FastifyInstance } from 'fastify'
import { type GuidedTask, GuideTask } from '../../../domain/runs/run-view.ts'
import { cleanText } from '../../../domain/tasks/requests.ts'
import { checked } from '../../http/errors.ts'
import type { World } from '../../world.ts'
import { refOf } from '../tasks/task-routes.ts'
import { tasksOf } from '../tasks-of.ts'

/** What a person has to say to whoever does a task: it stands in the description from then on, and an agent at work is told. */
export function guidanceRoutes(app: FastifyInstance, world: World): void {
  const { store } = world
  const tasks = tasksOf(world)

  app.post('/tasks/:ref/guidance', async (request): Promise<GuidedTask> => {
    const text = cleanText(checked(GuideTask, request.body, 'POST /tasks/:ref/guidance').text)
    const task = await store.transaction(async tx => {
      const found = await tasks.find(refOf(request.params), tx)
      return tasks.update(found, { description: withGuidance(found.description, text) }, tx)
    })
    const { id, title, session_id } = task
    return { id, title, told: session_id !== null && (await tell(session_id, text, world)) }
  })
}

/** One section, however often somebody has something to say. */
function withGuidance(description: string, text: string): string {
  const heading = '**User Guidance**'
  return `${description.trimEnd()}\n\n${description.includes(heading) ? '' : `${heading}\n\n`}${text}`
}

/** Whether its agent heard it. One that stands still reads it when the task is begun anew. */
async function tell(session: string, text: string, world: World): Promise<boolean> {
  const run = world.supervisor.run(session)
  if (!run || run.over || run.row.state === 'queued' || run.row.state === 'ended') return false
  await run.opened.promise
  // A person who has the terminal says it there themselves; the description has it for later.
  if (run.over || !run.session || run.session.takenOver) return false
  try {
    await run.session.prompt(`Guidance from the person you work for, on the task at hand:\n\n${text}`)
    return true
  } catch (error) {
    world.log.warn({ session, error }, 'guidance was not heard')
    return false
  }
}
