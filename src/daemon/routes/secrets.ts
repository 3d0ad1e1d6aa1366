import type { FastifyInstance } from 'fastify'
import { CheckSecrets, UnlockSecrets } from '../../domain/api.ts'
import type { DaemonContext } from '../context.ts'
import { parseRequest } from './errors.ts'

/**
 * What the daemon has to know of secrets. No route returns a value. The guard refuses agents here as on every route that changes
 * something, and `pcc secrets` asks for `/secrets/forget` before it writes: whoever is refused there writes nothing.
 */
export function secretRoutes(app: FastifyInstance, { secrets, log }: DaemonContext): void {
  app.post('/secrets/forget', async () => {
    secrets.forget()
    return { ok: true }
  })

  app.post('/secrets/unlock', async request => {
    const { passphrase } = parseRequest(UnlockSecrets, request.body, 'POST /secrets/unlock')
    await secrets.unlock(passphrase)
    log.info({}, 'the file of secrets is unlocked')
    return { ok: true }
  })

  app.post('/secrets/check', async request => {
    const { names } = parseRequest(CheckSecrets, request.body, 'POST /secrets/check')
    const found = await Promise.all(names.map(name => secrets.lookUp(name)))
    return { secrets: names.map((name, index) => describe(name, found[index])) }
  })
}

function describe(name: string, found: Awaited<ReturnType<DaemonContext['secrets']['lookUp']>> | undefined) {
  const problem = found && 'problem' in found ? found.problem : null
  return { name, in: found && 'in' in found ? found.in : null, problem }
}
