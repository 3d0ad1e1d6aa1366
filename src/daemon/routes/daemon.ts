import type { FastifyInstance } from 'fastify'
import { type Health, StopDaemon } from '../../domain/api.ts'
import { hasToken } from '../http/guard.ts'
import { keeperOf } from '../parent/keeper.ts'
import type { World } from '../world.ts'

/** Health for everybody who may open the socket, details and the switch for who has the token. */
export function daemonRoutes(app: FastifyInstance, world: World): void {
  app.get('/health', async request => {
    const status = world.stopping.aborted ? 'stopping' : 'ok'
    return hasToken(request, world.token) ? await details(world, status) : { status }
  })

  app.post('/daemon/stop', async (request, reply) => {
    const { go_on: goOn } = StopDaemon.parse(request.body ?? {})
    world.stop(goOn ? 'asked to start anew' : 'asked to stop', { goOn })
    return reply.code(202).send({ ok: true })
  })
}

async function details(world: World, status: Health['status']): Promise<Health> {
  const { places, version, startedAt, store, supervisor } = world
  const disk = world.disk.report()
  return {
    status,
    version,
    pid: process.pid,
    started_at: startedAt,
    home: places.home,
    data: places.data,
    sessions: { live: supervisor.liveCount, total: (await store.sessions.list()).length },
    schema: store.schema,
    kept_by: keeperOf(world.agentEnv),
    watchdog_seconds: world.watchdogSeconds,
    ...(disk.state !== 'ok' && { disk: disk.reason }),
    ...(world.recovered && { recovered: world.recovered }),
  }
}
