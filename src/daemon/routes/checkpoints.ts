import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import type { CheckpointLine, CheckpointView } from '../../domain/checkpoint.ts'
import { checked } from '../http/errors.ts'
import type { World } from '../world.ts'
import { sessionOf } from './sessions.ts'

const Id = z.object({ id: z.string().min(1) })

/** Looking at a session's checkpoints. What reads them is imported on use: a daemon that is not asked need not hold it. */
export function checkpointRoutes(app: FastifyInstance, world: World): void {
  const dir = join(world.places.data, 'checkpoints')

  app.get('/sessions/:ref/checkpoints', async request => {
    const { id } = await sessionOf(request.params, world)
    const { list } = await import('../../agents/checkpoints/read.ts')
    return { checkpoints: (await list(dir, id)).map(lineOf) }
  })

  app.get('/sessions/:ref/checkpoints/:id', async (request): Promise<CheckpointView> => {
    const session = await sessionOf(request.params, world)
    const { id: ref } = checked(Id, request.params, 'GET /sessions/:ref/checkpoints/:id')
    const [{ find }, { changedSince }, { restorationPrompt }] = await Promise.all([
      import('../../agents/checkpoints/find.ts'),
      import('../../agents/checkpoints/changed-since.ts'),
      import('../../agents/checkpoints/restoration-prompt.ts'),
    ])
    const { id, checkpoint } = await find(dir, session.id, ref)
    const changed = await changedSince(checkpoint)
    return { id, checkpoint, changed, prompt: restorationPrompt(checkpoint, { changed, mode: 'full' }) }
  })
}

type Entry = Awaited<ReturnType<typeof import('../../agents/checkpoints/read.ts').list>>[number]

function lineOf(entry: Entry): CheckpointLine {
  if (!('checkpoint' in entry)) return entry
  const { id, checkpoint } = entry
  return {
    id,
    timestamp: checkpoint.timestamp,
    reason: checkpoint.reason,
    completed: checkpoint.completed_subtasks.length,
    pending: checkpoint.pending_subtasks.length,
    files: checkpoint.modified_files.length,
    decisions: checkpoint.key_decisions.length,
    next_action: checkpoint.next_action,
  }
}
