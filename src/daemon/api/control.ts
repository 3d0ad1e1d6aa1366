import type { RequestListener } from 'node:http'
import { DAY_MS } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import type { ApiStatus } from '../../domain/api.ts'
import { loadConfig } from '../../domain/config/load.ts'
import type { DaemonContext } from '../context.ts'
import { growYoungHeap } from '../startup.ts'
import type { Listener } from './listener.ts'
import type { ApiServer } from './server.ts'

/** Switches the TCP side of the API on and off. Its code is loaded on the first request or when it is switched on. */
export interface ApiControl extends AsyncDisposable {
  /** Listens as the settings say. Throws if that is not possible; then it is off. `env` is for agents that its clients start. */
  on(env?: Record<string, string>): Promise<ApiStatus>
  off(): Promise<ApiStatus>
  status(): Promise<ApiStatus>
  /** What answers a request that came over the Unix socket. */
  forOwner(): Promise<RequestListener>
}

/** A certificate that runs out sooner is mentioned. */
const EXPIRES_SOON_MS = 14 * DAY_MS

/** Opens the switch of the API, which is off at first. */
export function openApiControl(daemon: DaemonContext, env: Record<string, string | undefined>): ApiControl {
  const { log, paths } = daemon
  let listener: Listener | undefined
  let server: ApiServer | undefined
  let problem: AppError | undefined
  const close = async () => {
    const open = listener
    listener = undefined
    growYoungHeap(false)
    await open?.[Symbol.asyncDispose]()
  }
  const build = async (door: Listener['door'] | undefined) => {
    const { api, tasks } = (await loadConfig({ paths, env })).config
    const { openApi } = await import('./server.ts')
    const noDoor = { hosts: new Set<string>(), origins: new Set<string>(), proxies: [], requestsPerMinute: 0 }
    return openApi(daemon, { door: door ?? noDoor, maxStreams: api.max_streams, queueSize: tasks.queue_size })
  }
  const status = async (): Promise<ApiStatus> => {
    const soon = listener?.expiresAt !== undefined && listener.expiresAt - Date.now() < EXPIRES_SOON_MS
    return {
      on: listener !== undefined,
      address: listener?.address ?? null,
      connections: (await listener?.connections) ?? 0,
      streams: server?.streams ?? 0,
      problem: problem?.message ?? (soon ? 'its certificate runs out within two weeks' : null),
    }
  }
  const stopAccepting = () => listener?.stopAccepting()
  daemon.stopping.addEventListener('abort', stopAccepting, { once: true })
  return {
    async on(agentEnv) {
      await close()
      try {
        const { api } = (await loadConfig({ paths, env })).config
        const { openListener } = await import('./listener.ts')
        const { secret, jwks, supabase } = api.jwt
        const takesTokens = [secret, jwks, supabase].some(setting => setting !== undefined)
        const hasKeys = takesTokens || (await daemon.keys.list()).some(({ state }) => state === 'valid')
        listener = await openListener(api, { hasKeys })
        server = await build(listener.door)
        listener.serve(server.answer)
        if (agentEnv) await daemon.supervisor.keepApiEnv(agentEnv)
        problem = undefined
        growYoungHeap(true)
        log.info({ address: listener.address }, 'the API listens')
      } catch (error) {
        await close()
        if (error instanceof AppError) problem = error
        throw error
      }
      return status()
    },
    async off() {
      await close()
      await daemon.supervisor.keepApiEnv(undefined)
      problem = undefined
      log.info({}, 'the API does not listen any more')
      return status()
    },
    status,
    async forOwner() {
      server ??= await build(undefined)
      return server.answerOwner
    },
    async [Symbol.asyncDispose]() {
      daemon.stopping.removeEventListener('abort', stopAccepting)
      await close()
      await server?.[Symbol.asyncDispose]()
    },
  }
}
