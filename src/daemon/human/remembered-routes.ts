import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import type { RememberedAnswer, RememberedView } from '../../domain/remembered-answer.ts'
import { checked } from '../http/errors.ts'
import type { World } from '../world.ts'

const ListQuery = z.strictObject({ project: z.string().min(1).optional() })

/** Answers of people that count again. */
export function rememberedRoutes(app: FastifyInstance, { store, log }: World): void {
  app.get('/answers', async request => {
    const { project } = checked(ListQuery, request.query, 'GET /answers')
    return { answers: (await store.answers.list({ project })).map(shown) }
  })

  app.delete('/answers/:id', async request => {
    const { id } = request.params as { id: string }
    const found = (await store.answers.list()).find(answer => answer.id === id)
    if (!found || !(await store.answers.forget(id))) throw new AppError('answer_unknown', { id })
    log.info({ id }, 'answer forgotten')
    return { forgotten: shown(found) }
  })
}

function shown({ fingerprint: _, normalised: __, project, ...answer }: RememberedAnswer): RememberedView {
  return { ...answer, scope: project === '' ? 'everywhere' : 'project', project: project === '' ? null : project }
}
